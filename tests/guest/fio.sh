#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fio.sh ENGINE: the engine of fio beside the kernel's nvme driver on one drive, and by vfio, in the guest of scripts/guest
#
# What the kernel writes with a checksum, fio + xio verifies, and the other way round; both at once; jobs that are processes; writes that the
# library would not permit. Needs QEMU 10 (scripts/qemu10), whose controller can do without shadow doorbells.

set -uo pipefail
engine=$(readlink -f -- "${1:?usage: ${0##*/} ENGINE}")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin

if [ "${XIO_GUEST:-}" != 1 ]; then
  command -v fio >/dev/null || { echo "skipped: fio is not installed (Debian: fio)" && exit 77; }
  XIO_QEMU=$("$root/scripts/qemu10" 2>/dev/null) || { echo "skipped: QEMU 10 cannot be had: scripts/qemu10" && exit 77; }
  export XIO_QEMU
  image=$(mktemp)
  trap 'rm -f "$image"' EXIT
  truncate -s 64M "$image"
  "$root/scripts/guest" --modules nvme,vfio-pci,vfio_iommu_type1 --memory 640 --limit 400 --kernel "intel_iommu=on iommu=pt iomem=relaxed" \
    --qemu -device --qemu intel-iommu,intremap=on --qemu -blockdev --qemu "driver=file,node-name=main,filename=$image" \
    --qemu -device --qemu nvme,drive=main,serial=main,addr=4,dbcs=off -- "$here/fio.sh" "$engine"
  exit
fi

# shellcheck source=tests/guest/checks.sh
. "$here/checks.sh"
echo 64 >/proc/sys/vm/nr_hugepages
mkdir -p /dev/hugepages
mountpoint -q /dev/hugepages || mount -t hugetlbfs none /dev/hugepages
for _ in {1..100}; do
  if [ -b /dev/nvme0n1 ]; then break; fi
  sleep 0.1
done
# As udev does, which is not here.
named=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_main
mkdir -p "${named%/*}"
ln -sf ../../nvme0n1 $named
cd "$work" || exit

by_kernel=(--ioengine=libaio --direct=1 --filename=/dev/nvme0n1)
by_xio=("--ioengine=external:$engine" --thread=1)
# run NAME OPTION...
run() { fio "--name=$1" --bs=4k --iodepth=16 --size=8m --eta=never "${@:2}"; }
fails() { ! "$@"; }

check "the kernel writes" run one "${by_kernel[@]}" --rw=randwrite --verify=crc32c --do_verify=0
check "xio verifies" run one "${by_xio[@]}" --controller=/dev/nvme0 --rw=randwrite --verify=crc32c --verify_only
check "xio writes" run two "${by_xio[@]}" --controller=$named --rw=randwrite --bs=64k --verify=md5 --do_verify=0 --fsync=16
check "the kernel verifies" run two "${by_kernel[@]}" --rw=randwrite --bs=64k --verify=md5 --verify_only

run kernel "${by_kernel[@]}" --rw=randread --time_based --runtime=6 >"$work/kernel" 2>&1 &
check "beside the kernel" run xio "${by_xio[@]}" --controller=/dev/nvme0 --rw=randread --time_based --runtime=3 --numjobs=2
check "processes" run processes "${by_xio[@]/--thread=1/--group_reporting}" --controller=/dev/nvme0 --rw=randread --numjobs=2
wait
check "the kernel, beside xio" grep -q "err= 0" "$work/kernel"

says "writing through the controller" "xio: nothing may be written: " fails run written "${by_xio[@]}" --controller=/dev/nvme0 --rw=write
says "writes by a kernel, too" "xio: nothing may be written: " fails run by-gpu "${by_xio[@]}" --controller=/dev/nvme0 --executor=gpu --waves=2 --rw=write
says "trims, too" "xio: nothing may be written: " fails run trimmed "${by_xio[@]}" --controller=/dev/nvme0 --rw=trim
mkfs.ext4 -q /dev/nvme0n1 && mkdir -p "$work/mounted" && mount /dev/nvme0n1 "$work/mounted"
says "writing to what is mounted" "nvme0n1 is mounted on $work/mounted" fails run mounted "${by_xio[@]}" --controller=$named --rw=write
says "by a kernel, too" "nvme0n1 is mounted on $work/mounted" fails run mounted-gpu "${by_xio[@]}" --controller=$named --executor=gpu --rw=write
check "what is mounted is whole" cmp /dev/null <(dmesg | grep -E "EXT4-fs error|I/O error")
umount "$work/mounted"

"$root/scripts/xio-bind" bind --apply 0000:00:04.0 >"$work/out" 2>&1 || fail "xio-bind"
check "by vfio" run vfio "${by_xio[@]}" --controller=vfio:0000:00:04.0 --rw=randwrite --verify=crc32c --numjobs=2 --offset_increment=8m --shadow=0
says "processes by vfio" "please set thread=1" fails run vfio "${by_xio[@]/--thread=1/--group_reporting}" --controller=vfio:0000:00:04.0 --rw=randread
summary "fio in a guest"
