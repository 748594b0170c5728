#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gpu_memory.sh [--iommufd] XIO-TESTER FAKE-GPU MAPPING: memory behind a PCI BAR, as a GPU's is, in the guest of scripts/guest
#
# The BAR is that of a shared memory device (ivshmem), and the runtime is played (tests/unit/fake_gpu); the rest is real: the
# kernel maps the BAR for the controller (vfio, type 1), the IOMMU translates, QEMU's controller reads and writes rings
# and data there. MAPPING is the program of gpu_mapping.cpp. --iommufd: on a kernel that has it (scripts/iommufd-kernel),
# which takes no such memory; all else by the group, on the same kernel.

set -uo pipefail
iommufd=()
if [ "${1:-}" = --iommufd ]; then
  iommufd=(--iommufd)
  shift
fi
tester=$(readlink -f -- "${1:?usage: ${0##*/} [--iommufd] XIO-TESTER FAKE-GPU MAPPING}")
fake=$(readlink -f -- "${2:?}")
mapping=$(readlink -f -- "${3:?}")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)

if [ "${XIO_GUEST:-}" != 1 ]; then
  if [ ${#iommufd[@]} -gt 0 ]; then
    settings=$("$root/scripts/iommufd-kernel") || exit
    # shellcheck disable=SC2086,SC2163
    export $settings
  fi
  image=$(mktemp)
  trap 'rm -f "$image"' EXIT
  truncate -s 16M "$image"
  "$root/scripts/guest" --modules nvme,vfio-pci,vfio_iommu_type1 --limit 240 \
    --qemu -device --qemu "intel-iommu,intremap=on" \
    --qemu -blockdev --qemu "driver=file,node-name=drive,filename=$image" \
    --qemu -device --qemu "nvme,drive=drive,serial=drive,addr=4,mdts=5" \
    --qemu -object --qemu "memory-backend-ram,id=vram,size=32M,share=on" \
    --qemu -device --qemu "ivshmem-plain,memdev=vram,addr=8" -- \
    "$here/gpu_memory.sh" ${iommufd[@]+"${iommufd[@]}"} "$tester" "$fake" "$mapping"
  exit
fi

drive=0000:00:04.0
gpu=0000:00:08.0
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# unavailable TITLE WORDS COMMAND...: it ends with 77, and says these words
unavailable() {
  local title=$1 words=$2
  shift 2
  "$@" >"$work/out" 2>&1
  if [ $? -eq 77 ] && grep -qF -- "$words" "$work/out"; then pass "$title"; else fail "$title"; fi
}
# run FLAGS...: writes, reads and compares
run() { "$tester" nvme-ep --executor host --controller "vfio:$drive,dma=12M" --write-io 64 --read-io 64 --verify "$@"; }

check "bind" "$root/scripts/xio-bind" bind --apply $drive
# The kernel leaves a device without a driver switched off.
echo 1 >/sys/bus/pci/devices/$gpu/enable
mkdir "$work/lib"
for name in libamdhip64.so.7 libhsa-runtime64.so.1; do ln -s "$fake" "$work/lib/$name"; done
export LD_LIBRARY_PATH=$work/lib

export XIO_FAKE_GPU_BAR=/sys/bus/pci/devices/$gpu/resource2
if [ ${#iommufd[@]} -gt 0 ]; then
  refused "memory behind a BAR, by iommufd" "such as a GPU's; interface=group may" \
    "$tester" nvme-ep --executor host --controller "vfio:$drive,dma=12M,interface=iommufd" --read-io 4 --memory-mode 8
fi
for mode in 1 2 8 11; do
  says "mode $mode" "GPU 0 at $gpu" run --memory-mode $mode --batch-size 16
done
check "mode 15, shadow doorbells" run --memory-mode 15 --doorbell shadow --lbas-per-io 8 --num-queues 2
# Which way doorbells go, by a store to a register of the idle drive.
says "doctor tries doorbells" "used            host register, I/O memory: a store by the GPU arrived at the device" \
  "$tester" doctor --mode emulated --probe "vfio:$drive,dma=12M"
# Memory of this process that is said to be the GPU's: what a driver does that moves buffers without a word.
unset XIO_FAKE_GPU_BAR
export XIO_FAKE_GPU_ADDRESS=$gpu
unavailable "memory that is not the GPU's" "is not in memory of GPU $gpu" \
  "$tester" nvme-ep --executor host --controller "vfio:$drive,dma=12M" --read-io 4 --memory-mode 8
check "mapping" env "XIO_VFIO_TEST=vfio:$drive,dma=12M" "$mapping"
if dmesg | grep -E "DMAR.*fault|BUG|Oops|WARNING" >"$work/out"; then fail "the kernel complains"; else pass "the kernel's log is clean"; fi
summary "gpu memory"
