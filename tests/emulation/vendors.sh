#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vendors.sh XIO-VENDORS: one table of NVMe and all RDMA vendors; what it counts is what the cost contract allows.
set -- "$1" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
report=$work/report.json
mapfile -t vendors < <("$here/../../scripts/vendors")
names=$(printf ", '%s'" nvme "${vendors[@]}")
# What one post of each stores, as vendors/*.cmake state it.
posted="[[4, 0, 0, 64, 4]"
for vendor in "${vendors[@]}"; do
  posted+=", [$(sed -n 's/^set(posted "\(.*\)").*/\1/p' "$here/../codegen/vendors/$vendor.cmake")]"
done
posted+="]"
mkdir "$work/counts"
echo '{"kernel": "put_mlx5", "instructions": 12345}' >"$work/counts/put_mlx5.gfx942.json"
echo '{"instructions": 67.5, "loads": 1, "stores": 2, "doorbells": 0.01, "host_writes": 3}' \
  >"$work/counts/executed.bnxt_grid_puts.gfx942.json"

cat >"$work/counts/peers.sm_90.json" <<'EOF'
[{"library": "xio", "device": "MLX5", "queue": "a queue of all", "kernel": "k", "code_bytes": 777, "registers": 33,
  "executed": {"instructions": 61.5}, "predicted_ns": {"1": 4321.4}},
 {"library": "other", "device": "MLX5", "queue": "a queue of all", "kernel": "o", "code_bytes": 778, "registers": 34,
  "executed": null}]
EOF
"$tester" --repetitions 3 --json "$report" --gpu-counts "$work/counts" >"$work/out" 2>"$work/err" || fail "exit status $?"
cat "$work/out" "$work/err"
for words in "models, neither NICs nor a drive" "not measured here" "12345" "| executed, gfx942: instructions | not measured here | not measured here | 67.5 |" \
  "| sm_90 | xio | MLX5 | a queue of all | 61.5 | - | - | - | - | 777 | 33 | 4321 | - |" \
  "| sm_90 | other | MLX5 | a queue of all | - | - | - | - | - | 778 | 34 | - | - |" "| nvme$(printf " | %s" "${vendors[@]}") |"; do
  if grep -qF -- "$words" "$work/out"; then pass; else fail "the table does not say: $words"; fi
done

holds() {
  if check_json "$report" "$@"; then pass; else fail "$*"; fi
}
holds "j['tool'] == 'xio-vendors' and j['schema'] == 1 and j['repetitions'] == 3 and 'neither NICs' in j['heading']"
holds "[v['name'] for v in j['vendors']] == [${names:2}]"
holds "[v['kind'] for v in j['vendors']] == ['nvme'] + ${#vendors[@]} * ['rdma']"
# Exactly what one post stores: of 16, 8 and 4 bytes. The same instructions do it for a wave of 64.
holds "[[v[p]['stores16'], v[p]['stores8'], v[p]['stores4']] for p in ('post', 'batch') for v in j['vendors']
  ] == 2 * [p[:3] for p in $posted]"
holds "[v['entry_bytes'] for v in j['vendors']] == [p[3] for p in $posted]"
holds "all(v['entry_bytes'] <= v['slot_bytes'] for v in j['vendors'])"
# One release, one doorbell and no atomic, for one operation and for 64; a completion for each, or for all of a batch.
holds "all(v[p]['releases'] == 1 and v[p]['doorbells'] == 1 and v[p]['atomics'] == 0
  for p in ('post', 'batch') for v in j['vendors'])"
holds "[v['post']['doorbell_bytes'] for v in j['vendors']] == [p[4] for p in $posted]"
holds "all(v['post']['operations'] == v['post']['completions'] == 1 for v in j['vendors'])"
holds "all(v['batch']['operations'] == 64 for v in j['vendors'])"
holds "[v['batch']['completions'] for v in j['vendors']] == [64] + ${#vendors[@]} * [1]"
# At most two stores in a lap of the completion queue, which has 256 entries (NVMe) or 1024; and some.
holds "all(0 < v[p]['acknowledgements'] <= 2 * v[p]['completions'] / (256 if v['name'] == 'nvme' else 1024)
  for p in ('post', 'batch') for v in j['vendors'])"
# The bytes follow from the rest; acknowledgements add less than one.
holds "all(0 < v[p]['pcie_bytes_per_operation'] -
  (n * (16 * v[p]['stores16'] + 8 * v[p]['stores8']) + 4 * v[p]['stores4'] + v[p]['doorbell_bytes']
   + v[p]['completions'] * v['completion_bytes']) / n < 1
  for p, n in (('post', 1), ('batch', 64)) for v in j['vendors'])"
holds "all(v['cpu'][c]['ns'] > 0 for c in ('post_unchecked', 'post_checked', 'poll') for v in j['vendors'])"
holds "all(n is None or n > 10 for v in j['vendors'] for n in [c['instructions'] for c in v['cpu'].values()])"
holds "[(v['name'], v['gpu_instructions']['gfx942']) for v in j['vendors'] if v['gpu_instructions']['gfx942']] == [('mlx5', 12345)]"
holds "[(v['name'], v['gpu_executed']['gfx942']['pcie_writes']) for v in j['vendors'] if v['gpu_executed']['gfx942']] == [('bnxt', 3)]"
holds "all(list(v['gpu_instructions']) == sorted(['gfx90a', 'gfx942', 'gfx1100', 'gfx1201']) for v in j['vendors'])"

holds "[p['code_bytes'] for p in j['peers']['sm_90']] == [777, 778]"

"$tester" --repetitions 1 --json - >"$work/stdout.json" 2>"$work/err" &&
  check_json "$work/stdout.json" "len(j['vendors']) == 1 + ${#vendors[@]}" && pass || fail "--json -"

# expect STATUS WORDS ARGUMENT...: one line on standard error with these words, and nothing else.
expect() {
  local wanted=$1 words=$2
  shift 2
  "$tester" "$@" >"$work/out" 2>"$work/err"
  local status=$?
  if [ "$status" -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err" &&
    [ ! -s "$work/out" ]; then
    pass
  else
    fail "exit status $status (not $wanted) or not one line with '$words': $*"
    cat "$work/err" "$work/out"
  fi
}
expect 2 "--repetitions" --repetitions 0
expect 2 "--repetitions" --repetitions many
expect 2 "--no-such-flag" --no-such-flag
expect 2 "/nowhere/report.json" --json /nowhere/report.json
echo nonsense >"$work/counts/put_mlx5.gfx942.json"
expect 1 "put_mlx5.gfx942.json" --repetitions 1 --gpu-counts "$work/counts"
rm "$work/counts/put_mlx5.gfx942.json"
echo '[{"library": 7}]' >"$work/counts/peers.gfx942.json"
expect 1 "peers.gfx942.json" --repetitions 1 --gpu-counts "$work/counts"
finish "xio-vendors"
