#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_functional.sh XIO-TESTER [qemu|emulated|vfio:BDF] [corners]: the 25 functional cases: {sequential, random} x {1, 8, 32 blocks} x
# {batch 1, 16} x {1, 4 queues}, written, read and verified, and a smoke test of four reads. corners: the 5 outermost of them.
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

run_case() {
  local title=$1 expected=$2
  shift 2
  if "$tester" nvme-ep --controller "$kind" "$@" >"$work/out" 2>&1 &&
    { [ "$expected" -eq 0 ] || grep -q "^verified $expected of $expected blocks" "$work/out"; }; then
    pass
    printf 'ok      %s\n' "$title"
  else
    fail "$title"
    cat "$work/out"
  fi
}

run_case "smoke: four sequential reads of one block" 0 --read-io 4 --batch-size 1
few=${3:-}
for pattern in sequential random; do
  for blocks in 1 8 32; do
    for batch in 1 16; do
      for queues in 1 4; do
        case $few$blocks/$batch/$queues in corners1/1/1 | corners32/16/4) ;; corners*) continue ;; esac
        run_case "$pattern, $blocks blocks, batch $batch, $queues queues" $((64 * blocks)) --write-io 64 --read-io 64 \
          --access-pattern $pattern --lbas-per-io $blocks --batch-size $batch --num-queues $queues --verify
      done
    done
  done
done
finish "functional cases on $kind"
