#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kernel_shared.sh [--long] XIO-TESTER [RECOVERY]: xio-tester beside the kernel's nvme driver on one controller, in the guest of scripts/guest
#
# Refusals, each for real, that of a controller by TCP among them; a namespace that two controllers share, and limits of cgroups (kernel_shared_uses.sh);
# the functional cases; data that goes from us to the
# kernel and from the kernel to us; fio on the kernel's queues beside ours, with a reset in the middle, and with
# processes of ours that are killed. RECOVERY is the program of kernel_shared_recovery.cpp. --long: all functional cases,
# 1 000 000 commands beside fio, 20 kills, a guest of two processors, and one without an IOMMU too. Needs QEMU 10 (scripts/qemu10), whose
# controller can do without shadow doorbells; fio, nvme-cli and iproute2.

set -uo pipefail
long=no
if [ "${1:-}" = --long ]; then
  long=yes
  shift
fi
tester=$(readlink -f -- "${1:?usage: ${0##*/} [--long] XIO-TESTER [RECOVERY]}")
recovery=${2:+$(readlink -f -- "$2")}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin

if [ "${XIO_GUEST:-}" != 1 ]; then
  for needed in fio nvme ip; do
    command -v $needed >/dev/null || { echo "skipped: $needed is not installed (Debian: fio, nvme-cli, iproute2)" && exit 77; }
  done
  XIO_QEMU=$("$root/scripts/qemu10" 2>/dev/null) || { echo "skipped: QEMU 10 cannot be had: scripts/qemu10" && exit 77; }
  export XIO_QEMU
  images=$(mktemp -d)
  trap 'rm -rf "$images"' EXIT
  # add NAME SLOT OPTIONS: a controller with 64 MiB, of which nothing is taken before it is written
  devices=()
  add() {
    truncate -s 64M "$images/$1"
    devices+=(--qemu -blockdev --qemu "driver=file,node-name=$1,filename=$images/$1"
      --qemu -device --qemu "nvme,drive=$1,serial=$1,addr=$2$3")
  }
  add main 4 ,mdts=5,dbcs=off
  add shadow 5 ,dbcs=on
  # By day one processor, and so one queue of the kernel's: two that wait for each other take twice the time on a machine that is busy.
  processors=1
  limit=400
  form=()
  if [ $long = yes ]; then
    processors=2
    limit=1200
    form=(--long)
  fi
  add small 6 ,dbcs=off,max_ioqpairs=$processors
  # A namespace that two controllers share.
  truncate -s 64M "$images/shared"
  devices+=(--qemu -blockdev --qemu "driver=file,node-name=shared,filename=$images/shared"
    --qemu -device --qemu nvme-subsys,id=subsystem
    --qemu -device --qemu nvme,id=left,serial=shared,subsys=subsystem,dbcs=off,addr=8
    --qemu -device --qemu nvme,id=right,serial=shared,subsys=subsystem,dbcs=off,addr=9
    --qemu -device --qemu nvme-ns,drive=shared,bus=left,nsid=1,shared=on)
  # boot PART KERNEL-PARAMETERS ARGUMENTS: runs a part of this script
  boot() {
    local part=$1 parameters=$2
    shift 2
    "$root/scripts/guest" --modules nvme,nvmet-tcp,nvme-tcp --memory 640 --cpus $processors --limit $limit \
      --kernel "$parameters" "$@" "${devices[@]}" -- \
      env "XIO_PART=$part" "$here/kernel_shared.sh" ${form[@]+"${form[@]}"} "$tester" ${recovery:+"$recovery"}
  }
  iommu=(--qemu -device --qemu "intel-iommu,intremap=on")
  boot work "intel_iommu=on iommu=pt iomem=relaxed nvme_core.multipath=N" "${iommu[@]}" || exit
  boot refusals "intel_iommu=on" "${iommu[@]}" || exit
  if [ $long = yes ]; then boot plain iomem=relaxed || exit; fi
  exit
fi

main=0000:00:04.0
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
finish() {
  summary "kernel_shared, $XIO_PART"
  exit
}
# controller_of BDF: "nvme0", once the driver has it
controller_of() {
  local path _
  for _ in {1..100}; do
    for path in "/sys/bus/pci/devices/$1"/nvme/nvme*; do
      if [ "$(cat "$path/state" 2>/dev/null)" = live ]; then echo "${path##*/}" && return; fi
    done
    sleep 0.1
  done
  return 1
}
clean_log() {
  if dmesg | grep -E "DMAR.*fault|BUG|Oops|WARNING|nvme.*([Tt]imeout|timed out|[Aa]bort|I/O error|removing|failed)|I/O error" >"$work/out"; then
    fail "the kernel complains"
  else
    pass "the kernel's log is clean"
  fi
}
huge_pages() {
  echo "$1" >/proc/sys/vm/nr_hugepages
  mkdir -p /dev/hugepages
  mountpoint -q /dev/hugepages || mount -t hugetlbfs none /dev/hugepages
}
with_queues() { find /dev/hugepages -name 'xio-*-*' | wc -l; }
# under_way: the run in the background has queues, and uses them
under_way() {
  local _
  for _ in {1..600}; do
    if [ "$(with_queues)" -gt 0 ]; then break; fi
    sleep 0.1
  done
  sleep 1
}
read_some() { "$tester" nvme-ep --controller "$1" --read-io 4 "${@:2}"; }

name=$(controller_of $main)
node=/dev/$name
disk=/dev/${name}n1
# What udev makes on other machines.
mkdir -p /dev/disk/by-id
by_id=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_main
ln -sf "../../${disk##*/}" $by_id

if [ "$XIO_PART" = refusals ]; then
  huge_pages 8
  refused "an IOMMU that translates" "translates (domain DMA-FQ): boot with iommu=pt, or use vfio: scripts/xio-bind bind $main" \
    read_some "$node"
  # Without a translation for this one, the next obstacle shows.
  echo $main >/sys/bus/pci/drivers/nvme/unbind
  echo identity >"/sys/bus/pci/devices/$main/iommu_group/type"
  echo $main >/sys/bus/pci/drivers/nvme/bind
  name=$(controller_of $main)
  refused "registers that cannot be mapped" "(CONFIG_IO_STRICT_DEVMEM): boot with iomem=relaxed, or use vfio: scripts/xio-bind bind $main" \
    read_some "/dev/$name"
  # Where registers were mapped before the driver came, they are taken away: a SIGBUS.
  if [ -n "$recovery" ]; then
    echo $main >/sys/bus/pci/drivers/nvme/unbind
    check "registers that the kernel takes away" env "XIO_UNBOUND_DRIVE=$main" "$recovery" "[.revoked]"
    name=$(controller_of $main)
  fi
  # As secure boot does; nothing takes it back.
  mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
  echo integrity >/sys/kernel/security/lockdown
  refused "lockdown" "BAR0 of $main cannot be mapped: run as root, and without kernel lockdown" read_some "/dev/$name"
  clean_log
  finish
fi

if [ "$XIO_PART" = plain ]; then
  huge_pages 16
  check "no IOMMU" "$tester" nvme-ep --controller $by_id --write-io 1000 --read-io 1000 --verify --batch-size 16
  # The driver lets go of the drive while we use it.
  "$tester" nvme-ep --controller "$node" --read-io 1 --infinite --depth 8 --deadline 600000 >"$work/out" 2>&1 &
  other=$!
  under_way
  echo $main >/sys/bus/pci/drivers/nvme/unbind
  wait $other
  status=$?
  if [ $status -eq 1 ] && grep -q "ended early: the kernel requests the controller back" "$work/out"; then
    pass "a run whose drive is unbound"
  else
    fail "a run whose drive is unbound: $status"
  fi
  echo $main >/sys/bus/pci/drivers/nvme/bind
  check "once the driver has it again" read_some "/dev/$(controller_of $main)"
  check "nothing is left of the run before" [ -z "$(find /dev/hugepages -name 'xio-*-*')" ]
  clean_log
  finish
fi

shadow=/dev/$(controller_of 0000:00:05.0)
small=/dev/$(controller_of 0000:00:06.0)
refused "no huge pages" "no 8 huge pages of 2 MiB are free" bash -c "mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages && '$tester' info --controller $node"
umount /dev/hugepages
refused "no file system of huge pages" "mount -t hugetlbfs -o pagesize=2M none /dev/hugepages" read_some "$node"
huge_pages 32
chmod 1777 /dev/hugepages
refused "a file system of huge pages that others may write to" "/dev/hugepages may be written to by others (mode 1777)" read_some "$node"
mkdir -p /run/xio-hugepages
mount -t hugetlbfs -o pagesize=2M,mode=0700 none /run/xio-hugepages
check "one of root's own beside it" read_some "$node"
umount /run/xio-hugepages
chmod 0755 /dev/hugepages
refused "shadow doorbells" "(Doorbell Buffer Config), which the kernel has switched on" read_some "$shadow"
refused "no spare queue" "no spare queue on this controller: the kernel uses all $(nproc) of ${small#/dev/}; use vfio" read_some "$small"
refused "no device" "does not exist" read_some /dev/nvme77
refused "a device of another kind" "is neither a controller (/dev/nvme0) nor a whole namespace" read_some /dev/null
refused "a user who is not root" "$node cannot be opened: run as root" \
  setpriv --reuid=65534 --regid=65534 --clear-groups "$tester" info --controller "$node"
refused "a queue of the kernel's" "the controller granted queues $(($(nproc) + 1)) to 64" read_some "$node" --queue-id "$(nproc)"
refused "writes by the controller's name" "to write, name the namespace: /dev/disk/by-id/" \
  "$tester" nvme-ep --controller "$node" --write-io 4
refused "writes by the namespace's number" "to write, name the namespace: /dev/disk/by-id/" \
  "$tester" nvme-ep --controller "$disk" --write-io 4

typed docs/kernel-shared.md "s|/dev/nvme0|$node|; s|nvme-EXAMPLE_DRIVE_1234|${by_id##*/}|"

# A controller that the same driver reaches by TCP: one of the kernel's own, in this guest.
fabric_target() {
  local nvmet=/sys/kernel/config/nvmet
  mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
  truncate -s 16M "$work/fabric"
  mkdir $nvmet/subsystems/xio $nvmet/subsystems/xio/namespaces/1 $nvmet/ports/1 &&
    echo 1 >$nvmet/subsystems/xio/attr_allow_any_host &&
    echo -n "$work/fabric" >$nvmet/subsystems/xio/namespaces/1/device_path &&
    echo 1 >$nvmet/subsystems/xio/namespaces/1/buffered_io &&
    echo 1 >$nvmet/subsystems/xio/namespaces/1/enable &&
    echo tcp >$nvmet/ports/1/addr_trtype &&
    echo ipv4 >$nvmet/ports/1/addr_adrfam &&
    echo 127.0.0.1 >$nvmet/ports/1/addr_traddr &&
    echo 4420 >$nvmet/ports/1/addr_trsvcid &&
    ln -s $nvmet/subsystems/xio $nvmet/ports/1/subsystems/xio &&
    ip link set lo up
}
host=6c1bc1f0-3c8e-4e62-9d2c-0f6ad7b1c001
check "a target of NVMe over TCP" fabric_target
check "the kernel connects to it" nvme connect -t tcp -a 127.0.0.1 -s 4420 -n xio -q nqn.2014-08.org.nvmexpress:uuid:$host -I $host
fabric=$(dirname -- "$(grep -lx tcp /sys/class/nvme/*/transport)")
fabric=${fabric##*/}
for _ in {1..100}; do
  if [ -b "/dev/${fabric}n1" ]; then break; fi
  sleep 0.1
done
check "the kernel reads from it" dd if="/dev/${fabric}n1" of=/dev/null bs=1M count=1 iflag=direct
by_tcp="$fabric is reached by tcp; only controllers on PCI Express can be shared"
ln -sf "../../${fabric}n1" /dev/disk/by-id/nvme-Linux_fabric
refused "a fabric" "$by_tcp" read_some "/dev/$fabric"
refused "a fabric's namespace" "$by_tcp" read_some "/dev/${fabric}n1"
refused "a fabric's namespace, to write" "$by_tcp" "$tester" nvme-ep --controller /dev/disk/by-id/nvme-Linux_fabric --write-io 4
refused "a fabric, info" "$by_tcp" "$tester" info --controller "/dev/$fabric"
"$tester" list >"$work/list"
for one in "$fabric" "${fabric}n1"; do
  check "list, /dev/$one" grep -q "^/dev/$one  *of the kernel's driver, reached by tcp: cannot be shared with it" "$work/list"
done
"$tester" doctor --mode kernel-shared >"$work/doctor"
check "doctor" grep -q "/dev/$fabric: it is reached by tcp; only controllers on PCI Express can be shared" "$work/doctor"
check "the kernel lets go of it" nvme disconnect -n xio

# What is in use is left alone, and may be read where that is asked for.
mkswap "$disk" >/dev/null 2>&1 && swapon "$disk"
refused "swap" "$name is in use: ${disk#/dev/} is swap" read_some "$node"
swapoff "$disk"
mkdir "$work/mounted"
mkfs.ext4 -q "$disk" && mount "$disk" "$work/mounted"
refused "a mounted file system" "$name is in use: ${disk#/dev/} is mounted on $work/mounted; end that, or read only: $by_id,mounted=read" \
  read_some $by_id
check "reading a mounted file system" read_some "$node,mounted=read"
refused "writing a mounted file system" "is mounted on $work/mounted, and mounted=read allows reads only" \
  "$tester" nvme-ep --controller "$by_id,mounted=read" --write-io 4
umount "$work/mounted"
# Our turn: nobody mounts what we write to.
"$tester" nvme-ep --controller $by_id --read-io 1 --infinite --queue-id 9 >"$work/long" 2>&1 &
other=$!
under_way
check "nobody mounts what may be written" bash -c "! mount '$disk' '$work/mounted'"
refused "a queue that another process has" "queue 9 is in use by another process or driver" read_some "$node,mounted=read" --queue-id 9
check "a queue beside another process's" read_some "$node,mounted=read"
kill -INT $other
wait $other
check "it ends by a signal" [ $? -eq 130 ]
clean_log

check "info" grep -q "beside the kernel ($name, libnvme)" <("$tester" info --controller "$node")
check "info, without libnvme" grep -q "beside the kernel ($name, ioctl)" <("$tester" info --controller "$node,passthrough=ioctl")
# Data of 32 blocks for each of 4 queues of depth 32 is 2 MiB.
few=corners
if [ $long = yes ]; then few=; fi
check "functional cases" "$root/tests/qemu/tester_functional.sh" "$tester" "$by_id" $few
check "the longest queue of 2048" "$tester" nvme-ep --controller "$node,dma=32M" --queue-length 2048 --read-io 2100 --batch-size 0

# shellcheck source=tests/guest/kernel_shared_uses.sh
. "$here/kernel_shared_uses.sh"

# From us to the kernel: programs that share no code with the tester read through the kernel.
written=(--lbas-per-io 4 --seed 5 --batch-size 8 --num-queues 3)
check "write beside the kernel" "$tester" nvme-ep --controller $by_id --write-io 40 "${written[@]}" --json "$work/report.json"
check "nvme read" nvme read "$disk" -s 0 -c 159 -z 81920 -d "$work/image"
check "what we wrote, read by nvme-cli" python3 "$root/bench/compare_image.py" "$work/image" "$work/report.json"
check "dd" dd if="$disk" of="$work/copy" bs=81920 count=1 iflag=direct
check "what we wrote, read by dd" cmp "$work/image" "$work/copy"
# From the kernel to us: the same content at the same place, but written by the kernel.
check "wipe by the kernel" dd if=/dev/zero of="$disk" bs=81920 count=1 oflag=direct
again=(--read-io 40 --written 40 --verify)
if "$tester" nvme-ep --controller $by_id "${written[@]}" "${again[@]}" >"$work/out" 2>&1; then
  fail "wiped blocks pass"
else
  pass "wiped blocks are noticed"
fi
check "nvme write" nvme write "$disk" -s 0 -c 159 -z 81920 -d "$work/image"
check "what the kernel wrote, read by us" "$tester" nvme-ep --controller "$node" "${written[@]}" "${again[@]}"
clean_log

# Operations of the kernel's on the controller's namespaces so far; a namespace with several paths counts on these.
kernel_operations() {
  cat /sys/class/nvme/"${node#/dev/}"/nvme*n*/stat /sys/block/"${disk#/dev/}"/stat 2>/dev/null | awk '{ sum += $1 + $5 } END { print sum }'
}
# fio has the first 16 MiB, by the kernel's queues, and compares what it reads; ours are the blocks behind. Returns when it is under way.
fio_start() {
  local before _
  before=$(kernel_operations)
  fio --name=beside --filename="$disk" --size=16M --rw=randrw --bs=4k --direct=1 --ioengine=libaio --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --verify_backlog=64 --verify_state_save=0 --time_based --runtime=600 --output="$work/fio" &
  fio=$!
  for _ in {1..600}; do
    if [ "$(kernel_operations)" -gt $((before + 200)) ]; then return; fi
    sleep 0.1
  done
  fail "fio does not get under way"
}
# fio_stop TITLE: it had no error, and did something
fio_stop() {
  local status _
  # One that comes between two passes over the file is forgotten.
  for _ in {1..40}; do
    kill -INT $fio 2>/dev/null || break
    sleep 0.5
  done
  kill -KILL $fio 2>/dev/null
  wait $fio
  status=$?
  cp "$work/fio" "$work/out"
  if grep -q "err= 0" "$work/fio" && ! grep -q "verify:\|bad magic" "$work/fio" && grep -q "read: IOPS=" "$work/fio"; then
    pass "$1: $(sed -n 's/^ *\(read\|write\): IOPS=\([^,]*\),.*/\1 \2/p' "$work/fio" | paste -s -d ' ') operations per second"
  else
    fail "$1 ($status)"
  fi
}
behind=(--base-lba 32768 --access-pattern random --depth 64 --batch-size 16)
commands=20000
writes=4000
kills=3
if [ $long = yes ]; then
  commands=1000000
  writes=20000
  kills=20
fi
fio_start
before=$(kernel_operations)
check "$commands commands beside fio" "$tester" nvme-ep --controller $by_id --write-io $writes --read-io $((commands - writes)) \
  --verify "${behind[@]}"
sed -n 's/^verified/        verified/p; s/^  IOPS/        IOPS/p' "$work/out"
check "fio was busy meanwhile: $(($(kernel_operations) - before)) operations" [ "$(kernel_operations)" -gt $((before + 50)) ]
fio_stop "fio beside $commands commands"
clean_log

# What follows leaves words of the driver's in the log, which are no complaints.
fio_start
"$tester" nvme-ep --controller $by_id --read-io 1 --infinite --deadline 1500 "${behind[@]}" >"$work/long" 2>&1 &
other=$!
under_way
# It rings no doorbell meanwhile: QEMU (10.0 at least) frees the queues under commands that it fetches while it drains for a
# reset, and crashes when they end.
kill -STOP $other
sleep 0.5
check "nvme reset" nvme reset "$node"
kill -CONT $other
wait $other
status=$?
cp "$work/long" "$work/out"
if [ $status -eq 1 ] && grep -q "operations did not complete within 1500 ms" "$work/long"; then
  pass "a reset ends in deadlines"
else
  fail "a reset ends in deadlines: $status"
fi
check "after the reset" "$tester" nvme-ep --controller $by_id --write-io 1000 --read-io 1000 --verify "${behind[@]}"
fio_stop "fio over a reset"
if [ -n "$recovery" ]; then
  check "recovery" env "XIO_KERNEL_SHARED_TEST=$by_id" "$recovery"
fi

# Killed wherever it is, the last one when it has queues: the next one finds what is left, and takes the same queue.
fio_start
wrong=0
left=0
for ((i = 0; i < kills; ++i)); do
  "$tester" nvme-ep --controller $by_id --write-io 20000 --infinite --num-queues 2 "${behind[@]}" >"$work/long" 2>&1 &
  other=$!
  sleep "$((RANDOM % 3)).$((RANDOM % 10))$((RANDOM % 10))"
  if [ $i -eq $((kills - 1)) ]; then
    for _ in {1..600}; do
      if [ "$(with_queues)" -gt 0 ]; then break; fi
      sleep 0.1
    done
  fi
  kill -KILL $other
  wait $other 2>/dev/null
  left=$((left + $(with_queues)))
  "$tester" nvme-ep --controller $by_id --write-io 100 --read-io 100 --verify "${behind[@]}" >"$work/out" 2>&1 &&
    grep -q "(id 64)" "$work/out" || wrong=$((wrong + 1))
done
check "$kills killed processes, $left of them with queues" [ $wrong -eq 0 ]
check "some had queues" [ $left -gt 0 ]
check "nothing is left of them" [ -z "$(find /dev/hugepages -name 'xio-*-*')" ]
fio_stop "fio beside killed processes"
check "all huge pages are free" grep -q "HugePages_Free: *32$" /proc/meminfo
clean_log

# The drive is removed from the bus under a run that does not see it at once, and rings its doorbells.
"$tester" nvme-ep --controller "$node" --read-io 1 --infinite --deadline 600000 "${behind[@]}" >"$work/long" 2>&1 &
other=$!
under_way
kill -STOP $other
sleep 0.5
echo 1 >"/sys/bus/pci/devices/$main/remove"
kill -CONT $other
wait $other
status=$?
cp "$work/long" "$work/out"
if [ $status -eq 1 ] && grep -q "ended early: the drive was removed from the bus; later doorbell stores had no effect" "$work/out" &&
  grep -q "operations then in flight did not complete" "$work/out"; then
  pass "a drive that is removed under a run"
else
  fail "a drive that is removed under a run: $status"
fi
echo 1 >/sys/bus/pci/rescan
check "once it is back" read_some "/dev/$(controller_of $main)"
if [ -n "$recovery" ]; then
  check "registers are let go of" env "XIO_KERNEL_SHARED_TEST=/dev/$(controller_of $main)" "$recovery" "[.removed]"
  check "once it is back again" read_some "/dev/$(controller_of $main)"
fi
check "nothing is left of these runs" [ -z "$(find /dev/hugepages -name 'xio-*-*')" ]
finish
