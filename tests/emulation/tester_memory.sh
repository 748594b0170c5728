#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_memory.sh XIO-TESTER FAKE-GPU: --memory-mode with a GPU that tests/unit/fake_gpu plays, and without
fake=${2:?usage: ${0##*/} XIO-TESTER FAKE-GPU}
set -- "$1" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
report=$work/report.json

# Whatever this machine has: these libraries come first.
mkdir "$work/lib"
for name in libamdhip64.so.7 libhsa-runtime64.so.1 libcudart.so.13 libcuda.so.1; do
  ln -s "$fake" "$work/lib/$name"
done
export LD_LIBRARY_PATH=$work/lib

# expect STATUS WORDS COMMAND...: it ends so, and says one line with these words
expect() {
  local status=$1 words=$2
  shift 2
  "$tester" "$@" >"$work/out" 2>"$work/errors"
  if [ $? -eq "$status" ] && grep -qF -- "$words" "$work/errors" "$work/out"; then
    pass
  else
    fail "expected $status and '$words': $*"
    cat "$work/out" "$work/errors"
  fi
}

# run_mode MODE PLACEMENT FLAGS...: data arrives, and the report says where it lay
run_mode() {
  local mode=$1 placement=$2
  shift 2
  if "$tester" nvme-ep --executor host --controller emulated --write-io 200 --read-io 200 --verify --memory-mode "$mode" --json "$report" "$@" \
    >"$work/out" 2>&1 &&
    check_json "$report" "j['setup']['memory_mode'] == $mode and j['setup']['placement'] == '$placement'" \
      "j['setup']['gpu'] == 'HIP 7.2, GPU 0 at 0000:c1:00.0 (fake)'" "j['verification']['complete'] and j['verification']['verified_blocks'] >= 200" >>"$work/out" 2>&1; then
    pass
  else
    fail "mode $mode $*"
    cat "$work/out"
  fi
}

run_mode 1 "SQ in GPU memory, CQ, doorbell record and data in host memory"
run_mode 2 "CQ in GPU memory, SQ, doorbell record and data in host memory" --batch-size 8
run_mode 4 "doorbell record in GPU memory, SQ, CQ and data in host memory" --doorbell shadow --num-queues 2
run_mode 11 "SQ, CQ and data in GPU memory, doorbell record in host memory" --num-queues 4 --batch-size 16
run_mode 15 "SQ, CQ, doorbell record and data in GPU memory" --doorbell shadow --lbas-per-io 32
# Completions in host memory, data in the GPU's: each read makes the controller flush what it wrote.
placement="data in GPU memory, SQ, CQ and doorbell record in host memory"
run_mode 8 "$placement"
run_mode 8 "$placement" --batch-size 16 --num-queues 2
run_mode 8 "$placement" --waves 2 --wave-size 32 --depth 64 --batch-size 8

# Data of both sides of an RDMA connection.
for op in write read send; do
  if "$tester" rdma-ep --memory-mode 8 --op $op --iterations 100 --verify --transfer-size 4K --json "$report" >"$work/out" 2>&1 &&
    check_json "$report" "j['setup']['placement'] == 'data in GPU memory, queues in host memory'" \
      "j['sizes'][0]['verified'] == 100" >>"$work/out" 2>&1 && grep -q "GPU 0 at 0000:c1:00.0" "$work/out"; then
    pass
  else
    fail "rdma-ep, $op"
    cat "$work/out"
  fi
done
expect 77 "the device's driver or the model places queues; 0 and 8 (data) are offered" \
  rdma-ep --executor host --memory-mode 9 --iterations 1

if command -v "${XIO_QEMU:-qemu-system-x86_64}" >/dev/null; then
  expect 77 "can access only its own memory; GPU memory is not supported" nvme-ep --executor host --controller qemu --read-io 4 --memory-mode 8
fi
export XIO_FAKE_GPU_HIDDEN=1
expect 77 "the CPU cannot access this GPU's memory" nvme-ep --executor host --controller emulated --read-io 4 --memory-mode 1
expect 77 "the CPU cannot access this GPU's memory" rdma-ep --executor host --memory-mode 8 --iterations 1
unset XIO_FAKE_GPU_HIDDEN
export XIO_FAKE_GPU_NONE=1
expect 77 "--memory-mode 9: SQ and data in GPU memory, but there is no GPU; 0 is offered (HIP: HIP sees no GPU" \
  nvme-ep --executor host --controller emulated --read-io 4 --memory-mode 9
expect 77 "--memory-mode 8: data in GPU memory, but there is no GPU" rdma-ep --executor host --memory-mode 8 --iterations 1
# Mode 0 asks nobody.
rm "$work"/lib/*
expect 0 "mode 0: SQ, CQ, doorbell record and data in host memory" nvme-ep --executor host --controller emulated --read-io 4 --memory-mode 0
finish "memory modes"
