#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_tools.sh XIO-TESTER: info, list and test-ep
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

report=$work/report.json

# expect TITLE WORDS EXPRESSION... -- ARGUMENT...
expect() {
  local title=$1 words=$2 expressions=()
  shift 2
  while [ "$1" != -- ]; do
    expressions+=("$1")
    shift
  done
  shift
  if "$tester" "$@" --json "$report" >"$work/out" 2>&1 && grep -qF -- "$words" "$work/out" &&
    check_json "$report" "j['tool'] == 'xio-tester'" "j['schema'] == 1" "j['version']" "${expressions[@]}" >>"$work/out"; then
    pass
  else
    fail "$title"
    cat "$work/out"
  fi
}

expect "info on QEMU" "QEMU, not an SSD" "j['controller']['model'].startswith('QEMU')" \
  "j['controller']['capabilities']['largest_queue'] == 2048" "j['controller']['namespaces'][0]['block_bytes'] == 4096" \
  -- info --controller qemu:lba=4096
expect "info on the model" "in-process model, not a drive" "len(j['controller']['namespaces']) == 2" \
  "j['controller']['capabilities']['doorbell_stride_bytes'] == 16" "j['controller']['capabilities']['largest_queue'] == 32" \
  -- info --controller emulated:lba=512/4096,dstrd=2,mqes=31
expect "info without a controller" "executors" "'controller' not in j" "j['offers']['executors'] == ['host']" -- info
expect "list" "NVMe controller of QEMU" "j['controllers'][0]['controller'] == 'emulated'" \
  "any(c['controller'].startswith('qemu') and c['offered'] for c in j['controllers'])" -- list

for mode in polling doorbell; do
  for threads in 1 3; do
    for batch in 1 5 64; do
      rings=$([ $mode = polling ] && echo 300 || echo $(((300 + batch - 1) / batch)))
      expect "test-ep $mode, $threads endpoints, batch $batch" "verified $((300 * threads)) of $((300 * threads))" \
        "j['round_trips'] == 300 * $threads" "j['wrong_answers'] == 0" "j['exit_status'] == 0" \
        "round(j['doorbells_per_round_trip'] * 300) == $rings" "j['latency_us']['p50'] <= j['latency_us']['max']" \
        "sum(bar['count'] for bar in j['histogram_us']) == 300 * $threads" \
        -- test-ep --iterations 300 --mode $mode --threads $threads --batch-size $batch --histogram
    done
  done
done
finish "tools"
