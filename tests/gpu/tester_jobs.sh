#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_jobs.sh XIO-TESTER FOLDER LANES [OPERATIONS [SECONDS]]: xio-tester's jobs on the GPU of this machine, verified, in all ways of
# sharing, and a sweep of waves, depths and batches
#
# LANES: of a wave of the GPU. Each job writes its JSON and its output to FOLDER; a sweep goes on where one point fails. What comes
# after SECONDS (default 600) is left out, and so is what needs more waves at the same time than the GPU has. A job may take
# XIO_JOB_SECONDS (default 60). The last line is "N passed, N failed, N skipped"; exit status 1 when something failed.
set -uo pipefail
tester=$1 out=$2 lanes=$3 operations=${4:-20000} seconds=${5:-600}
mkdir -p "$out"
passed=0
failed=0
skipped=0
job() {
  local name=$1 status=0
  shift
  if [ $((seconds - SECONDS)) -le 5 ]; then
    skipped=$((skipped + 1))
    return
  fi
  timeout "${XIO_JOB_SECONDS:-60}" "$tester" "$@" --executor gpu --json "$out/tester-$name.json" >"$out/tester-$name.log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    passed=$((passed + 1))
  elif [ $status -eq 2 ] && grep -q 'do not run on this GPU at the same time' "$out/tester-$name.log"; then
    skipped=$((skipped + 1))
    printf 'skipped: %s: %s\n' "$name" "$(tail -n 1 "$out/tester-$name.log")"
  else
    failed=$((failed + 1))
    printf 'FAILED: xio-tester %s (exit status %s)\n' "$*" $status
    tail -n 3 "$out/tester-$name.log"
  fi
}
few=$(((operations + 3) / 4))

verified=(nvme-ep --controller emulated --write-io "$operations" --read-io "$operations" --verify)
job one-lane "${verified[@]}" --wave-size 1 --batch-size 16
job one-wave "${verified[@]}" --batch-size 64
job shared "${verified[@]}" --waves 8 --queue-length 512 --depth 256 --batch-size 32
job crowd "${verified[@]}" --waves 256 --queue-length 1023 --depth 1023 --batch-size 64
job crowds "${verified[@]}" --waves 32 --num-queues 16 --queue-length 255 --depth 255 --batch-size 32
job shadow "${verified[@]}" --waves 4 --doorbell shadow --depth 128 --batch-size 16
job split "${verified[@]}" --lbas-per-io 300
job many-queues "${verified[@]}" --num-queues 16 --batch-size 32
job drives "${verified[@]}" --controller emulated --waves 4 --depth 64 --batch-size 32
job steps "${verified[@]}" --substep-timing --histogram --batch-size 32
job messages test-ep --iterations "$few" --threads 4
job flags test-ep --iterations "$few" --mode polling --batch-size 16
job clock clock-test --readings "$few" --threads 64
for provider in $("${BASH_SOURCE[0]%/*}/../../scripts/vendors"); do
  rdma=(rdma-ep --provider $provider --iterations "$operations" --verify)
  job rdma-$provider "${rdma[@]}" --transfer-size 64,4K --batch-size 16 --depth 64 --num-queues 4
  job rdma-$provider-send "${rdma[@]}" --transfer-size 64 --op send --batch-size 16 --no-loopback
  job rdma-$provider-ping-pong "${rdma[@]}" --transfer-size 8,4K --ping-pong
  job rdma-$provider-waves "${rdma[@]}" --transfer-size 64,4K --waves 4 --wave-size "$lanes" --batch-size 0 --depth 512
  job rdma-$provider-crowd "${rdma[@]}" --transfer-size 64 --waves 32 --wave-size "$lanes" --batch-size 0 --depth 2048
done
# A real controller's rules for what the GPU stored, where this machine has a QEMU.
if "${XIO_QEMU:-qemu-system-x86_64}" --version >/dev/null 2>&1; then
  qemu=(nvme-ep --controller qemu:lba=4096 --write-io "$few" --read-io "$few" --verify)
  job qemu-one-lane "${qemu[@]}" --wave-size 1 --batch-size 16
  job qemu-waves "${qemu[@]}" --waves 4 --batch-size 16 --num-queues 2
  job qemu-shadow "${qemu[@]}" --doorbell shadow --batch-size 16
  job qemu-split "${qemu[@]}" --lbas-per-io 300
  job qemu-drives "${qemu[@]}" --controller qemu:lba=4096 --num-queues 2 --batch-size 16
else
  skipped=$((skipped + 5))
fi
job report report --controller emulated --write --span 4M --quick --output "$out/report"
for waves in 1 2 4 8 16; do
  for depth in 16 64 256 1024; do
    for batch in 1 16 64; do
      [ $batch -le $depth ] || continue
      job "sweep-$waves-$depth-$batch" nvme-ep --controller emulated --read-io $((operations * 5 / 2)) --waves $waves \
        --depth $depth --queue-length $depth --batch-size $batch
    done
  done
done
printf '%s passed, %s failed, %s skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
