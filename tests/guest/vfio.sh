#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vfio.sh [--corners] [--iommufd] XIO-TESTER [RECOVERY]: xio-tester by vfio on NVMe controllers behind an IOMMU, in the guest of scripts/guest
#
# The 25 functional cases with blocks of 512 and of 4096 bytes and, with QEMU 10 (scripts/qemu10), with queues of 32
# entries; data that goes from us to the kernel and from the kernel to us; refusals; a device that is removed. RECOVERY
# is the program of vfio_recovery.cpp. --corners: the outermost functional cases only. --iommufd: by the devices' own
# nodes and iommufd, on a kernel that has it (scripts/iommufd-kernel); refusals beside the group's node, and where
# interrupts are not remapped.

set -uo pipefail
corners=()
interface=group
flags=()
while [[ ${1:-} == --* ]]; do
  case $1 in
    --corners) corners=(corners) ;;
    --iommufd) interface=iommufd ;;
    *) echo "unknown option $1" >&2 && exit 2 ;;
  esac
  flags+=("$1")
  shift
done
tester=$(readlink -f -- "${1:?usage: ${0##*/} [--corners] [--iommufd] XIO-TESTER [RECOVERY]}")
recovery=${2:+$(readlink -f -- "$2")}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)

if [ "${XIO_GUEST:-}" != 1 ]; then
  have_mqes=no
  if newer=$("$root/scripts/qemu10" 2>/dev/null); then
    export XIO_QEMU=$newer
    have_mqes=yes
  fi
  module=vfio_iommu_type1
  if [ $interface = iommufd ]; then
    settings=$("$root/scripts/iommufd-kernel") || exit
    # shellcheck disable=SC2086,SC2163
    export $settings
    module=iommufd
  fi
  images=$(mktemp -d)
  trap 'rm -rf "$images"' EXIT
  devices=()
  # add NAME SLOT OPTIONS: a controller with 16 MiB
  add() {
    truncate -s 16M "$images/$1"
    devices+=(--qemu -blockdev --qemu "driver=file,node-name=$1,filename=$images/$1"
      --qemu -device --qemu "nvme,drive=$1,serial=$1,addr=$2${3:-}")
  }
  add small 4 ,mdts=3
  add large 5 ,mdts=3,logical_block_size=4096,physical_block_size=4096
  # Two functions of one device: one group.
  add first 7.0 ,multifunction=on
  add second 7.1
  if [ $have_mqes = yes ]; then add short 6 ,mqes=31; fi
  # By day one processor: two that wait for each other take twice the time on a machine that is busy.
  processors=2
  if [ ${#corners[@]} -gt 0 ] && [ $interface = group ]; then processors=1; fi
  # boot PART INTREMAP: runs a part of this script
  boot() {
    "$root/scripts/guest" --modules nvme,vfio-pci,$module --cpus $processors --limit 540 --kernel "intel_iommu=on" \
      --qemu -device --qemu "intel-iommu,intremap=$2" "${devices[@]}" -- \
      env "XIO_PART=$1" "$here/vfio.sh" ${flags[@]+"${flags[@]}"} "$tester" ${recovery:+"$recovery"}
  }
  boot work on || exit
  if [ $interface = iommufd ]; then boot unsafe off; fi
  exit
fi

small=0000:00:04.0
large=0000:00:05.0
short=0000:00:06.0
pair=0000:00:07
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
bind() { "$root/scripts/xio-bind" "$1" --apply "$2"; }
# disk_of BDF: the kernel's node of namespace 1, once it is there; nvme0c0n1 is a path to nvme0n1
disk_of() {
  local path name _
  for _ in {1..100}; do
    for path in "/sys/bus/pci/devices/$1"/nvme/nvme*/nvme*n1; do
      name=${path##*/}
      if [[ $name =~ ^(nvme[0-9]+)c[0-9]+(n1)$ ]]; then name=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; fi
      if [ -b "/dev/$name" ]; then echo "/dev/$name" && return; fi
    done
    sleep 0.1
  done
  return 1
}
# Few pages to lock: the guest is slow at it.
by_vfio() { echo "vfio:$1,dma=${2:-12M},interface=$interface"; }
run() { "$tester" nvme-ep --controller "$(by_vfio "$1")" "${@:2}"; }
# start SPEC FLAGS...: a run without an end, which is $other, and has the controller when this returns
start() {
  local _
  "$tester" nvme-ep --controller "$1" --read-io 1 --infinite --progress "${@:2}" >"$work/long" 2>&1 &
  other=$!
  for _ in {1..600}; do
    if grep -q "per second" "$work/long"; then return; fi
    sleep 0.1
  done
  cp "$work/long" "$work/out"
  fail "a run on $1 does not get under way"
}

# stuck: where every thread of the tester and of shells is, in the kernel
stuck() {
  local task
  echo "after a minute the run has not ended:"
  for task in /proc/[0-9]*/task/[0-9]*; do
    if grep -qE '^(xio-tester|bash|vfio.sh)' "$task/comm"; then
      echo "$task: $(cat "$task/comm"), $(grep State "$task/status"), system call $(cat "$task/syscall")"
      cat "$task/stack"
    fi
  done
  tail -n 3 "$work/long"
  dmesg | tail -n 20
} 2>&1

# Interrupts that are not remapped: whoever has the device can send any.
if [ "$XIO_PART" = unsafe ]; then
  check "bind" bind bind $small
  refused "by iommufd" "set iommufd.allow_unsafe_interrupts=1" run $small --read-io 4
  refused "by the group" "set vfio_iommu_type1.allow_unsafe_interrupts=1" \
    "$tester" nvme-ep --controller "vfio:$small,dma=12M,interface=group" --read-io 4
  echo 1 >/sys/module/iommufd/parameters/allow_unsafe_interrupts
  check "where all is trusted" run $small --read-io 4
  summary "vfio, interrupts that are not remapped"
  exit
fi

refused "a controller of the kernel's driver" "is bound to the driver nvme; give it to vfio-pci: scripts/xio-bind bind $small" \
  run $small --read-io 4
refused "a PCI device that is no controller" "is no NVMe controller: its class is 0x06" run 0000:00:1f.0 --read-io 4
refused "no device" "does not exist" run 0000:00:1e.0 --read-io 4

# What is in use stays with the kernel.
disk=$(disk_of $small)
mkswap "$disk" >/dev/null 2>&1 && swapon "$disk"
refused "swap" "$small is in use and stays bound: ${disk#/dev/} is swap" bind bind $small
swapoff "$disk"
if command -v mkfs.ext4 >/dev/null; then
  mkdir "$work/mounted"
  mkfs.ext4 -q "$disk" && mount "$disk" "$work/mounted"
  refused "a mounted file system" "$small is in use and stays bound: ${disk#/dev/} is mounted on $work/mounted" bind bind $small
  umount "$work/mounted"
fi

typed docs/vfio.md "s/0000:04:00\.0/$small/g"

# Before it is ours, the kernel writes what we shall read.
check "bind" bind bind $small
check "bind again" bind bind $small
by="by vfio (IOMMU group"
if [ $interface = iommufd ]; then by="by vfio (iommufd, vfio"; fi
check "info" grep -q "$by" <("$tester" info --controller "$(by_vfio $small)")
check "huge pages where there are none" run "$small,huge=auto" --read-io 4
refused "huge pages that are not there" "no 6 huge pages of 2048 kB are free" run "$small,huge=2M" --read-io 4
echo 8 >/proc/sys/vm/nr_hugepages
check "huge pages" run "$small,huge=2M" --write-io 64 --read-io 64 --verify --batch-size 16
# A limit, as containers have it.
mkdir -p /sys/fs/cgroup
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
echo +hugetlb >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/pod
echo 4194304 >/sys/fs/cgroup/pod/hugetlb.2MB.max
within() { (echo "$BASHPID" >/sys/fs/cgroup/pod/cgroup.procs && exec "$@"); }
refused "huge pages that a cgroup does not permit" "a cgroup leaves this process 4 of 4 MiB of huge pages, and 12 MiB are wanted: raise /sys" \
  within "$tester" nvme-ep --controller "$(by_vfio "$small,huge=2M")" --read-io 4
check "ordinary pages instead" within "$tester" nvme-ep --controller "$(by_vfio "$small,huge=auto")" --read-io 4
echo 0 >/proc/sys/vm/nr_hugepages
# Data of 32 blocks for each of 4 queues of depth 32 is 16 MiB.
functional() { "$root/tests/qemu/tester_functional.sh" "$tester" "$@"; }
check "functional cases, 512-byte blocks" functional "$(by_vfio $small)" ${corners[@]+"${corners[@]}"}

# From us to the kernel: a program that shares no code with the tester reads the kernel's block device.
written=(--lbas-per-io 4 --access-pattern random --seed 5 --batch-size 8 --num-queues 3)
check "write by vfio" run $small --write-io 40 "${written[@]}" --json "$work/report.json"
check "back to the kernel" bind unbind $small
disk=$(disk_of $small)
check "copy by the kernel" dd if="$disk" of="$work/image" bs=1M iflag=direct
check "what we wrote, read by the kernel" python3 "$root/bench/compare_image.py" "$work/image" "$work/report.json"

# From the kernel to us: the same content at the same place, but written by the kernel.
wipe() { dd if=/dev/zero of="$disk" bs=1M count=16 oflag=direct; }
check "wipe by the kernel" wipe
check "to us" bind bind $small
again=(--read-io 40 --written 40 --verify)
if run $small "${written[@]}" "${again[@]}" >"$work/out" 2>&1; then fail "wiped blocks pass"; else pass "wiped blocks are noticed"; fi
check "to the kernel" bind unbind $small
disk=$(disk_of $small)
check "write by the kernel" dd if="$work/image" of="$disk" bs=1M oflag=direct
check "to us again" bind bind $small
check "what the kernel wrote, read by vfio" run $small "${written[@]}" "${again[@]}"
# A whole life later: the process is killed in the middle, and the next one finds a working controller.
start "$(by_vfio $small)" --depth 32
kill -KILL $other
wait $other 2>/dev/null
check "after a killed process" run $small "${written[@]}" "${again[@]}"

check "bind, 4096-byte blocks" bind bind $large
check "functional cases, 4096-byte blocks" functional "$(by_vfio $large 24M)" ${corners[@]+"${corners[@]}"}

if [ -e /sys/bus/pci/devices/$short ]; then
  check "bind, queues of 32 entries" bind bind $short
  check "functional cases, queues of 32 entries" functional "$(by_vfio $short)" ${corners[@]+"${corners[@]}"}
  check "the longest queue" run $short --write-io 200 --read-io 200 --verify --queue-length 32 --batch-size 0
  refused "a longer one" "1 to 32 (CAP.MQES + 1) is accepted" run $short --read-io 4 --queue-length 33
fi

# A group of two: all of it, or nothing.
check "bind one of two" bind bind $pair.0
refused "one of two" "other drivers hold parts of it: $pair.1 (nvme)" run $pair.0 --read-io 4
check "bind the other" bind bind $pair.1
check "both of two" run $pair.0 --write-io 8 --read-io 8 --verify

# Another user, whom root lets in, and whose memory is limited.
group=/dev/vfio/$(basename -- "$(readlink /sys/bus/pci/devices/$large/iommu_group)")
node=$group
if [ $interface = iommufd ]; then node=/dev/vfio/devices/$(ls /sys/bus/pci/devices/$large/vfio-dev); fi
as_nobody() { (ulimit -l 8192 && setpriv --reuid=65534 --regid=65534 --clear-groups "$@"); }
nobodys() { as_nobody "$tester" nvme-ep --controller "$(by_vfio $large "$1")" "${@:2}"; }
let_in="cannot be opened: run as root, or let your user in: scripts/xio-bind udev $large"
if [ $interface = iommufd ]; then
  refused "another user, /dev/iommu" "/dev/iommu $let_in" nobodys 6M --read-io 4
  chown 65534 /dev/iommu
fi
refused "another user" "$node $let_in" nobodys 6M --read-io 4
chown 65534 "$node"
check "another user who was let in" nobodys 6M --write-io 8 --read-io 8 --verify
refused "more memory than he may lock" "this user may lock 8192 KiB; raise ulimit -l" nobodys 12M --read-io 4

# A group that somebody has.
start "$(by_vfio $large)" --depth 8
refused "a group in use" "another process uses $large" run $large --read-io 4
refused "unbinding a group in use" "is in use by process $other; end it first" bind unbind $large
if [ $interface = iommufd ]; then
  refused "its group, then" "$group cannot be opened: another process uses $large or its IOMMU group" \
    "$tester" nvme-ep --controller "vfio:$large,dma=12M,interface=group" --read-io 4
fi
kill -INT $other
wait $other
check "its user ends by a signal" [ $? -eq 130 ]
if [ $interface = iommufd ]; then
  start "vfio:$large,dma=12M,interface=group" --depth 8
  refused "a group that goes by its own node" "another process uses its IOMMU group through $group" run $large --read-io 4
  kill -INT $other
  wait $other
  # Two devices of one group belong to one process.
  start "$(by_vfio $pair.0)" --depth 8
  refused "a device beside another process's" "another process uses a device of its group" run $pair.1 --read-io 4
  kill -INT $other
  wait $other
  # On a kernel without groups, the device's own node is taken without being asked for.
  mv "$group" "$work/group"
  says "the only way" "$by" "$tester" info --controller "vfio:$large"
  mv "$work/group" "$group"
fi

check "the longest queue of 2048" run "$large" --read-io 2100 --queue-length 2048 --batch-size 0 --access-pattern random
if dmesg | grep -E "DMAR.*fault|BUG|Oops|WARNING" >"$work/out"; then fail "the kernel complains"; else pass "the kernel's log is clean"; fi

# What follows leaves its marks there.
if [ -n "$recovery" ]; then
  check "failure and recovery" env "XIO_VFIO_TEST=$(by_vfio $small)" "$recovery"
fi
start "$(by_vfio $large)" --depth 8
# Who waits for whom, should the run not end.
(sleep 60 && stuck) &
watch=$!
echo 1 >/sys/bus/pci/devices/$large/remove
wait $other
status=$?
kill $watch
cp "$work/long" "$work/out"
if [ $status -eq 1 ] && grep -q "ended early: the kernel requests the controller back" "$work/out"; then
  pass "a run whose device is removed"
else
  fail "a run whose device is removed: $status"
fi
echo 1 >/sys/bus/pci/rescan
disk=$(disk_of $large)
check "the device is found again, and is the kernel's" dd if="$disk" of=/dev/null bs=1M count=1 iflag=direct
if dmesg | grep -E "BUG|Oops|WARNING" >"$work/out"; then fail "the kernel complains"; else pass "the kernel is well"; fi
summary vfio
