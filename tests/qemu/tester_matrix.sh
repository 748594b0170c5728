#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_matrix.sh XIO-TESTER [qemu|emulated]: writes, reads and verifies in many shapes; every block must be right
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

# run_case OPERATIONS BLOCKS CONTROLLER-OPTIONS FLAGS...: all blocks of OPERATIONS operations of BLOCKS blocks are verified.
run_case() {
  local operations=$1 blocks=$2 options=$3
  shift 3
  local report=$work/report.json
  if "$tester" nvme-ep --controller "$kind:$options" --write-io "$operations" --read-io "$operations" --verify \
    --lbas-per-io "$blocks" "$@" --json "$report" >"$work/out" 2>&1 &&
    check_json "$report" "j['exit_status'] == 0" \
      "j['verification']['verified_blocks'] == j['verification']['expected_blocks'] == $operations * $blocks" \
      "phases['write']['completed'] == phases['read']['completed'] == $operations" \
      "j['setup']['depth'] <= j['setup']['queue_length'] and j['setup']['sq_entries'].bit_count() == 1" \
      "phases['read']['latency_us']['min'] <= phases['read']['latency_us']['p50']" \
      "phases['read']['latency_us']['p50'] <= phases['read']['latency_us']['p90'] <= phases['read']['latency_us']['p99']" \
      "phases['read']['latency_us']['p99'] <= phases['read']['latency_us']['p99.9'] <= phases['read']['latency_us']['max']" \
      >>"$work/out" 2>&1 &&
    grep -q "^verified $((operations * blocks)) of $((operations * blocks)) blocks" "$work/out" &&
    [ "$(grep -c "not an SSD\|not a drive" "$work/out")" -ge 2 ]; then
    pass
  else
    fail "$options, $operations operations of $blocks blocks, $*"
    cat "$work/out"
  fi
}

for lba in 4096 512; do
  for pattern in sequential random; do
    run_case 512 3 "lba=$lba,mdts=3" --batch-size 16 --num-queues 4 --access-pattern $pattern
    run_case 512 3 "lba=$lba,mdts=3" --batch-size 0 --num-queues 4 --access-pattern $pattern
  done
done

# Lengths that are no power of two and the longest one; batch 0 fills them.
longest=2048
for length in 1 2 3 64 1023 $longest; do
  for batch in 0 16; do
    [ $batch -le $length ] || continue
    run_case 2100 1 "lba=4096,mdts=3" --queue-length $length --batch-size $batch --access-pattern random
  done
done

# 32 KiB is the longest transfer: at it, beyond it, and beyond it in a short queue.
for pattern in sequential random; do
  for blocks in 1 2 8 9 20; do
    run_case 64 $blocks "lba=4096,mdts=3" --batch-size 4 --num-queues 2 --access-pattern $pattern
  done
  for blocks in 1 64 65 200; do
    run_case 64 $blocks "lba=512,mdts=3" --batch-size 4 --num-queues 2 --access-pattern $pattern
  done
  run_case 32 40 "lba=4096,mdts=3" --queue-length 2 --batch-size 0 --access-pattern $pattern
done

# Ways of sharing, doorbells, contents, timing, buffers.
run_case 512 3 "lba=4096,mdts=3" --wave-size 64 --batch-size 64 --num-queues 2
run_case 512 3 "lba=4096,mdts=3" --waves 4 --wave-size 8 --batch-size 16 --depth 64
run_case 512 3 "lba=512,mdts=3" --waves 8 --batch-size 4 --depth 32 --doorbell shadow --access-pattern random
run_case 512 1 "lba=512" --doorbell shadow --batch-size 8 --num-queues 3
run_case 256 2 "lba=512" --lfsr-seed 0x12345 --access-pattern random --batch-size 8
run_case 256 2 "lba=4096" --less-timing --substep-timing --histogram --batch-size 8
run_case 256 2 "lba=4096" --data-buffer-size 4M --depth 16 --base-lba 1000 --seed 99 --queue-id 5

finish "matrix on $kind"
