#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_smart.sh XIO-TESTER [qemu|emulated]: --smart compares operations with the controller's own count of commands
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

# run_case TITLE ARGUMENT... -- EXPRESSION...: the run succeeds, and the expressions hold for its JSON.
run_case() {
  local title=$1 arguments=()
  shift
  while [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  shift
  if "$tester" nvme-ep "${arguments[@]}" --json "$work/json" >"$work/out" 2>&1 && check_json "$work/json" "$@"; then
    pass
    printf 'ok      %s\n' "$title"
  else
    fail "$title"
    cat "$work/out"
  fi
}

run_case "reads and writes" --controller "$kind" --write-io 40 --read-io 24 --num-queues 2 --smart -- \
  "j['smart']['counted'] == {'reads': 24, 'writes': 40}" "j['smart']['completed'] == j['smart']['counted']" \
  "j['smart']['submitted'] == j['smart']['counted']" "j['smart']['agrees']" "j['smart']['alone']"
if grep -q "^counted by the drive: 24 reads and 40 writes; commands of this run: 24 and 40$" "$work/out"; then pass; else fail "no line"; fi
run_case "operations that are split" --controller "$kind:mdts=1" --write-io 16 --read-io 16 --lbas-per-io 32 --smart -- \
  "j['setup']['commands_per_io'] == 2" "j['smart']['counted'] == {'reads': 32, 'writes': 32}" "j['smart']['agrees']"
run_case "not asked" --controller "$kind" --read-io 4 -- "'smart' not in j"
finish "the drive's own count on $kind"
