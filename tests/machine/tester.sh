#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester.sh XIO_TESTER PLAYED TARGET [qemu]: xio-tester with its kernels on a played GPU, found as a real one is
#
# Every way of sharing against the in-process controller, or the main job against QEMU's; what cannot be is said in one line.
set -euo pipefail

tester=$1
export LD_LIBRARY_PATH=$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export XIO_PLAYED_GPU=$3
kind=${4:-emulated}
case $3 in
  gfx9*) lanes=64 ;;
  *) lanes=32 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# run TITLE LINE ARGUMENT...: must succeed, and say this line
run() {
  local title=$1 line=$2
  shift 2
  echo "-- $title"
  if ! "$tester" "$@" >"$scratch/out" 2>&1 || ! grep -qF -- "$line" "$scratch/out"; then
    cat "$scratch/out"
    echo "FAILED: $title: $* (wanted: $line)"
    exit 1
  fi
}

# refuse STATUS LINE ARGUMENT...: must end so, with one line on standard error that has these words
refuse() {
  local wanted=$1 line=$2 status=0
  shift 2
  echo "-- $line"
  "$tester" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  if [ "$status" -ne "$wanted" ] || [ "$(grep -vc '^played GPU: ' "$scratch/err")" -ne 1 ] || ! grep -qF -- "$line" "$scratch/err"; then
    cat "$scratch/out" "$scratch/err"
    echo "FAILED: exit status $status instead of $wanted, or not the line '$line': $*"
    exit 1
  fi
}

if [ "$kind" = qemu ]; then
  run "the main job on QEMU's controller" "verified 512 of 512 blocks" nvme-ep --executor gpu --controller qemu:lba=4096 \
    --write-io 512 --read-io 512 --verify --batch-size 16 --num-queues 2
  grep -q "executor *gpu: .*GPU 0" "$scratch/out"
  run "two drives of QEMU" "verified 512 of 512 blocks" nvme-ep --executor gpu --controller qemu:lba=4096 --controller qemu:lba=4096 \
    --write-io 512 --read-io 512 --verify --batch-size 16 --num-queues 2
  grep -q "executor *gpu: .*GPU 0" "$scratch/out"
  exit
fi

job=(nvme-ep --executor gpu --controller emulated --verify --write-io 64 --read-io 64)
run "one wave" "verified 64 of 64 blocks" "${job[@]}" --batch-size 16
"$tester" "${job[@]}" --json "$scratch/json" >/dev/null
grep -q '"sq": null' "$scratch/json" || { echo "FAILED: doorbells that a GPU does not count are not null" && exit 1; }
run "more waves than a block has room for" "verified 64 of 64 blocks" "${job[@]}" --waves 40 --depth 80 --queue-length 80
run "one lane" "verified 64 of 64 blocks" "${job[@]}" --wave-size 1
run "waves that share a queue, two queues" "verified 64 of 64 blocks" "${job[@]}" --waves 2 --num-queues 2 --depth 32
run "shadow doorbells, steps, histogram" "verified 64 of 64 blocks" "${job[@]}" --doorbell shadow --substep-timing --histogram
run "several blocks each, in random order" "verified 320 of 320 blocks" "${job[@]}" --lbas-per-io 5 --access-pattern random
drives=("${job[@]}" --controller emulated)
run "two drives, a wave" "verified 64 of 64 blocks" "${drives[@]}" --batch-size 16
grep -q "executor *gpu: " "$scratch/out"
[ "$(grep -cE '^ +emulated +32 +0 ' "$scratch/out")" -eq 4 ] || { cat "$scratch/out" && echo "FAILED: 32 operations on each drive" && exit 1; }
run "two drives, one lane" "verified 64 of 64 blocks" "${drives[@]}" --wave-size 1
run "three drives, waves, queues, steps, random stripes" "verified 1024 of 1024 blocks" "${drives[@]}" --controller emulated \
  --waves 2 --num-queues 2 --depth 32 --lbas-per-io 16 --access-pattern random --doorbell shadow --substep-timing
echo "-- an error of one drive"
"$tester" nvme-ep --executor gpu --controller emulated --controller emulated:fail=read-281 --read-io 64 >"$scratch/out" 2>&1 &&
  { cat "$scratch/out" && echo "FAILED: a read error is not reported" && exit 1; }
grep -qE '^ +emulated:fail=read-281 +0 +32 ' "$scratch/out" || { cat "$scratch/out" && echo "FAILED: it is not that drive's" && exit 1; }
case $XIO_PLAYED_GPU in
  gfx*) run "everything in the GPU's memory" "verified 64 of 64 blocks" "${job[@]}" --memory-mode 15 ;;
  *) refuse 77 "the CPU cannot access this GPU's memory" "${job[@]}" --memory-mode 15 ;;
esac
run "a GPU by itself" "executor    gpu: " nvme-ep --controller emulated --read-io 8
run "the CPU where a GPU does not fit what is asked for" "executor    host: " nvme-ep --controller emulated --read-io 8 --wave-size 8
run "the CPU where it is asked for" "executor    host: " nvme-ep --controller emulated --read-io 8 --executor host
values=(kv-ep --executor gpu --controller emulated:keys=16 --verify --keys 96 --value-size 1-9000)
run "values under keys, a wave" "verified 96 of 96 values" "${values[@]}" --operations store,retrieve,exist,delete,absent
run "values under keys, three waves, two queues" "verified 96 of 96 values" "${values[@]}" --waves 3 --num-queues 2 --queue-length 16
grep -q "executor *gpu: " "$scratch/out"
array=(cache-ep --executor gpu --controller emulated --verify --operations put,flush,get --page-size 512)
run "an array behind a page cache, a wave, few frames" "verified 256 of 256 elements" "${array[@]}" --range 4K --cache-size 2K --ways 4 --gets 256
run "three waves, two drives" "verified 256 of 256 elements" "${array[@]}" --controller emulated --range 4K --cache-size 2K --ways 4 --gets 256 --waves 3
grep -q "executor *gpu: " "$scratch/out"
rdma=(rdma-ep --executor gpu --verify)
small=(--iterations 32 --transfer-size 256)
mapfile -t providers < <("${BASH_SOURCE[0]%/*}/../../scripts/vendors")
case $XIO_PLAYED_GPU in
  gfx942 | sm_*) ;;
  *) providers=(mlx5 bnxt) ;;
esac
for provider in "${providers[@]}"; do
  run "$provider, one lane for each queue pair" "verified 32 of 32 operations" "${rdma[@]}" "${small[@]}" --provider $provider --batch-size 4 --num-queues 2
  run "$provider, a wave" "verified 64 of 64 operations" "${rdma[@]}" --provider $provider --iterations 64 --transfer-size 256 --wave-size "$lanes" --op read
done
run "waves that share a queue pair" "verified 128 of 128 operations" "${rdma[@]}" --iterations 128 --transfer-size 256 --waves 2 --wave-size "$lanes"
run "sends, two NICs, data in the entries" "verified 32 of 32 operations" "${rdma[@]}" --iterations 32 --op send --no-loopback --transfer-size 48 --inline-threshold 64
run "immediate data, two runs" "verified 64 of 64 operations" "${rdma[@]}" "${small[@]}" --write-imm --runs 2 --histogram
run "ping-pong" "verified 32 of 32 operations" "${rdma[@]}" --iterations 32 --transfer-size 250 --ping-pong --num-queues 2
grep -q "executor *gpu: " "$scratch/out"
run "sums" "verified 32 of 32 operations" "${rdma[@]}" --iterations 32 --op fetch-add --batch-size 0
grep -q "executor *gpu: " "$scratch/out"
run "a NIC by itself" "executor    gpu: " rdma-ep --iterations 8 --transfer-size 64
run "the CPU where a GPU's waves are others" "executor    host: " rdma-ep --iterations 8 --transfer-size 64 --wave-size 8
run "tables" "| executor | " report --executor gpu --controller emulated --quick --tables verified,pattern --write --span 256K --json "$scratch/report"
python3 - "$scratch/report" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["executor"] == "gpu" and report["exit_status"] == 0, report
rows = [row for table in report["tables"] for row in table["rows"]]
assert len(rows) == 6 and all(row["figures"] and not row["failed"] for row in rows), rows
assert sum("right: 64 of 64" in row["remark"] for row in rows) == 4, rows
END
run "messages" "verified 50 of 50 answers" test-ep --iterations 50 --executor gpu
run "messages by flags" "verified 60 of 60 answers" test-ep --iterations 30 --threads 2 --batch-size 4 --mode polling --executor gpu

refuse 2 "is not that of this GPU" "${job[@]}" --wave-size 8
refuse 2 "is not that of this GPU" "${rdma[@]}" --wave-size 8
refuse 77 "omit --verify" "${rdma[@]}" --memory-mode 8
refuse 77 "are calls of its driver" "${rdma[@]}" --device rxe0
XIO_PLAYED_GPU=none refuse 77 "--executor gpu: there is no GPU 0" "${job[@]}"
refuse 77 "has no GPU 3" "${job[@]}" --gpu 3
XIO_PLAYED_GPU=gfx803 refuse 77 "this build has no kernels for" "${job[@]}"
XIO_PLAYED_MEMORY=20000 refuse 2 "out of memory" "${job[@]}"
XIO_PLAYED_FAULT=register refuse 2 "HostRegister" "${job[@]}"
XIO_PLAYED_FAULT=hang refuse 2 "neither ends nor makes progress" "${job[@]}" --deadline 100
echo "all as it should be"
