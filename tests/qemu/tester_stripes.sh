#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_stripes.sh XIO-TESTER [qemu|emulated]: several controllers as one address space, their figures apart and together
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

three=(--controller "$kind" --controller "$kind" --controller "$kind")

# run_case TITLE ARGUMENT... -- EXPRESSION...: the run succeeds, and the expressions hold for its JSON.
run_case() {
  local title=$1 arguments=()
  shift
  while [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  shift
  if "$tester" nvme-ep --executor host "${arguments[@]}" --json "$work/json" >"$work/out" 2>&1 && check_json "$work/json" "$@"; then
    pass
    printf 'ok      %s\n' "$title"
  else
    fail "$title"
    cat "$work/out"
  fi
}

# refuse STATUS WORDS ARGUMENT...
refuse() {
  local wanted=$1 words=$2
  shift 2
  "$tester" nvme-ep "$@" >"$work/out" 2>"$work/err"
  local status=$?
  if [ "$status" -eq "$wanted" ] && grep -qF -- "$words" "$work/err"; then pass; else
    fail "exit status $status, not $wanted with '$words': $*"
    cat "$work/err"
  fi
}

run_case "three drives" "${three[@]}" --write-io 96 --read-io 96 --verify --depth 4 --smart -- \
  "[d['completed'] for p in j['phases'] for d in p['drives']] == [32] * 6" \
  "[d['failed'] for p in j['phases'] for d in p['drives']] == [0] * 6" \
  "all(d['latency_us']['p99'] > 0 and d['iops'] > 0 and d['bytes'] == 16384 for p in j['phases'] for d in p['drives'])" \
  "[p['completed'] for p in j['phases']] == [96, 96]" "j['setup']['stripe_blocks'] == 8" \
  "j['verification']['verified_blocks'] == 96" "j['smart']['counted'] == {'reads': 96, 'writes': 96}" \
  "j['flags']['--controller'] == ['$kind'] * 3" "len(j['controllers']) == 3" "'controller' not in j"
if [ "$(grep -cE "^ +$kind +32 +0 " "$work/out")" -eq 6 ] && [ "$(grep -cE "^ +sum +96 +0 " "$work/out")" -eq 2 ]; then pass; else
  fail "no row for each drive, and their sum"
  cat "$work/out"
fi
run_case "waves, queues and large operations" "${three[@]}" --write-io 600 --read-io 600 --verify --num-queues 2 --waves 2 \
  --wave-size 8 --depth 16 --batch-size 4 --lbas-per-io 16 --access-pattern random --doorbell shadow -- \
  "j['setup']['stripe_blocks'] == 16" "j['verification']['verified_blocks'] == 9600" \
  "sum(d['completed'] for d in j['phases'][1]['drives']) == 600" "all(d['completed'] for d in j['phases'][0]['drives'])" \
  "j['phases'][0]['doorbells']['sq'] < 600" "sum(p['doorbells']['cq'] for p in j['phases']) > 0"
run_case "one controller is as before" --controller "$kind" --write-io 8 -- "'drives' not in j['phases'][0]" \
  "j['flags']['--controller'] == '$kind'" "'controllers' not in j" "j['controller']['spec'] == '$kind'"

refuse 2 "--stripe-blocks is for several controllers" --controller "$kind" --read-io 1 --stripe-blocks 8
refuse 2 "--lbas-per-io 3 is not accepted with several controllers" "${three[@]}" --read-io 1 --lbas-per-io 3
refuse 2 "--stripe-blocks 4 is less than --lbas-per-io 8" "${three[@]}" --read-io 1 --lbas-per-io 8 --stripe-blocks 4
refuse 2 "--base-lba 4 is no multiple of --lbas-per-io 8" "${three[@]}" --read-io 1 --lbas-per-io 8 --base-lba 4
refuse 2 "--queue-id is for one controller" "${three[@]}" --read-io 1 --queue-id 1
refuse 2 "--memory-mode 8 is for one controller" "${three[@]}" --read-io 1 --memory-mode 8
refuse 2 "is given twice" --controller /dev/nvme0 --controller /dev/nvme0 --read-io 1
refuse 2 "4096 bytes, the first one 512" --controller "$kind" --controller "$kind:lba=4096" --read-io 1
refuse 2 "is more than one command of all controllers" --controller "$kind" --controller "$kind:mdts=1" --read-io 1 --lbas-per-io 32
finish "several controllers, $kind"
