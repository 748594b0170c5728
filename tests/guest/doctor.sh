#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doctor.sh XIO-TESTER [GUEST]: xio-tester doctor in four guests, each crippled in other ways, names what is wrong and no more
#
#   bare      no IOMMU; the commands that it names for huge pages are run, and the drive can then be shared
#   group     an IOMMU that translates, a group with another driver's device, registers that drivers keep
#   nobody    an IOMMU that is switched off, no huge pages, little memory to lock, another user than root
#   queues    a drive without a spare queue, a drive that is swap, interrupts that are not remapped, no soft-RoCE device
#
# With QEMU 10 (scripts/qemu10) drives have no shadow doorbells; without, doctor is to name them.

set -uo pipefail
tester=$(readlink -f -- "${1:?usage: ${0##*/} XIO-TESTER [GUEST]}")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)

if [ "${XIO_GUEST:-}" != 1 ]; then
  shadow=shadow
  plain=
  if newer=$("$root/scripts/qemu10" 2>/dev/null); then
    export XIO_QEMU=$newer
    shadow=none
    plain=,dbcs=off
  fi
  images=$(mktemp -d)
  trap 'rm -rf "$images"' EXIT
  for name in one two; do truncate -s 8M "$images/$name"; done
  drive() {
    printf '%s\n' --qemu -blockdev --qemu "driver=file,node-name=$1,filename=$images/$1" \
      --qemu -device --qemu "nvme,drive=$1,serial=$1$plain$2"
  }
  iommu() { printf '%s\n' --qemu -device --qemu "intel-iommu,intremap=$1"; }
  other=(--qemu -device --qemu "virtio-rng-pci,addr=7.1")
  status=0
  only=${2:-}
  # guest NAME MODULES KERNEL ARGUMENT...
  guest() {
    if [ -n "$only" ] && [ "$only" != "$1" ]; then return; fi
    local kernel=()
    if [ -n "$3" ]; then kernel=(--kernel "$3"); fi
    "$root/scripts/guest" --modules "$2" --limit 280 ${kernel[@]+"${kernel[@]}"} "${@:4}" -- \
      "$here/doctor.sh" "$tester" "$1" $shadow
    local ended=$?
    if [ $ended -eq 77 ]; then exit 77; fi
    if [ $ended -ne 0 ]; then status=1; fi
  }
  mapfile -t one < <(drive one ,addr=4)
  mapfile -t two < <(drive two ,addr=5)
  mapfile -t first < <(drive one ,addr=7.0,multifunction=on)
  mapfile -t few < <(drive one ,addr=4,max_ioqpairs=2)
  mapfile -t remapping < <(iommu on)
  mapfile -t plain_interrupts < <(iommu off)
  guest bare nvme,vfio-pci,vfio_iommu_type1,rdma_rxe,ib_uverbs iomem=relaxed "${one[@]}"
  guest group nvme,vfio-pci,vfio_iommu_type1 "" "${remapping[@]}" "${first[@]}" "${other[@]}" "${two[@]}"
  guest nobody nvme intel_iommu=off "${remapping[@]}" "${one[@]}"
  guest queues nvme,vfio-pci,vfio_iommu_type1,rdma_rxe,ib_uverbs "iommu=pt iomem=relaxed" "${plain_interrupts[@]}" \
    "${few[@]}" "${two[@]}"
  exit $status
fi

guest=$2
shadow=$3
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
chmod 755 "$work"
# examine USER...: what doctor finds, one obstacle a line: mode, device or -, what, fix
examine() {
  "$@" "$tester" doctor --mode vfio,kernel-shared,rxe --json "-" >"$work/report.json" 2>"$work/out"
  python3 - "$work/report.json" >"$work/found" 2>>"$work/out" <<'END'
import json, sys
for mode in json.load(open(sys.argv[1]))["modes"]:
    print(mode["mode"], "works" if mode["works"] else "fails", sep="\t")
    for of, obstacles in [("-", mode["obstacles"])] + [(d["name"], d["obstacles"]) for d in mode["devices"]]:
        for one in obstacles:
            print(mode["mode"], of, one["what"], one["fix"], sep="\t")
END
}
# finds MODE VERDICT OBSTACLE...: the verdict, and these obstacles ("DEVICE: what", "-: what") and no others
finds() {
  local mode=$1 verdict=$2
  shift 2
  {
    printf '%s\t%s\n' "$mode" "$verdict"
    for one in "$@"; do printf '%s\t%s\t%s\n' "$mode" "${one%%: *}" "${one#*: }"; done
  } >"$work/wanted"
  if grep "^$mode"$'\t' "$work/found" | cut -f 1-3 | diff "$work/wanted" - >"$work/out" 2>&1; then pass "$mode $verdict"; else fail "$mode $verdict (< wanted, > found)"; fi
}
# mend MODE DEVICE WORDS: runs the command that doctor names for an obstacle
mend() {
  local fix
  fix=$(grep -F "$1"$'\t'"$2"$'\t'"$3" "$work/found" | cut -f 4)
  if [ -n "$fix" ] && bash -c "cd '$root' && $fix" >"$work/out" 2>&1; then pass "mended by: $fix"; else fail "mended by: $fix"; fi
}
# status WANTED MODES: the exit status of doctor for these modes
status() {
  "$tester" doctor --mode "$2" >"$work/out" 2>&1
  if [ $? -eq "$1" ]; then pass "exit status $1 for $2"; else fail "exit status $1 for $2"; fi
}
# with_shadow DEVICE: the obstacle that drives of an old QEMU have
with_shadow() { if [ "$shadow" = shadow ]; then say "$1: the kernel has switched its shadow doorbells on (Doorbell Buffer Config)"; fi; }
say() { printf '%s\n' "$*"; }
# name_of BDF: of the controller, as the kernel's driver calls it
name_of() { basename -- "/sys/bus/pci/devices/$1/nvme/"nvme*; }
no_pages="-: no huge page of 2 MiB is free"
no_mount="-: no hugetlbfs is mounted"
no_rxe="-: there is no soft-RoCE device"
owned="it is bound to the driver nvme"

case $guest in
  bare)
    examine env
    finds vfio fails "-: this virtual machine has no IOMMU" "vfio:0000:00:04.0: $owned"
    extra=$(with_shadow "/dev/$(name_of 0000:00:04.0)")
    finds kernel-shared fails "$no_pages" "$no_mount" ${extra:+"$extra"}
    mend rxe - "there is no soft-RoCE device"
    mend kernel-shared - "no huge page"
    mend kernel-shared - "no hugetlbfs"
    examine env
    if [ -n "$extra" ]; then
      finds kernel-shared fails "$extra"
    else
      finds kernel-shared works
      finds rxe works
      status 0 kernel-shared,emulated
    fi
    status 1 vfio,emulated
    ;;
  group)
    "$root/scripts/xio-bind" bind 0000:00:07.0 --apply >"$work/out" 2>&1 || fail "bind"
    number=$(basename -- "$(readlink /sys/bus/pci/devices/0000:00:07.0/iommu_group)")
    shared=$(name_of 0000:00:05.0)
    examine env
    finds vfio fails "vfio:0000:00:05.0: $owned" \
      "vfio:0000:00:07.0: IOMMU group $number is not viable: 0000:00:07.1 of it is bound to the driver virtio-pci"
    extra=$(with_shadow "/dev/$shared")
    finds kernel-shared fails "$no_pages" "$no_mount" \
      "/dev/$shared: its IOMMU domain translates (DMA-FQ)" \
      "/dev/$shared: the kernel does not let its registers be mapped (CONFIG_IO_STRICT_DEVMEM)" ${extra:+"$extra"} \
      "0000:00:07.0: it is bound to the driver vfio-pci"
    # Another drive can be had by what doctor names.
    mend vfio vfio:0000:00:05.0 "$owned"
    examine env
    finds vfio works "vfio:0000:00:07.0: IOMMU group $number is not viable: 0000:00:07.1 of it is bound to the driver virtio-pci"
    status 0 vfio
    check "and it works" "$tester" nvme-ep --controller vfio:0000:00:05.0,dma=12M --read-io 4
    refused "the other does not" "other drivers hold parts of it" "$tester" info --controller vfio:0000:00:07.0,dma=12M
    ;;
  nobody)
    ulimit -l 8192
    shared=$(name_of 0000:00:04.0)
    unseen="may be in use: /dev/${shared}n1 cannot be opened to see whether ${shared}n1 is used: Permission denied"
    examine setpriv --reuid=65534 --regid=65534 --clear-groups --
    finds vfio fails \
      "-: the IOMMU is off: firmware describes one, and the kernel does not use it (intel_iommu=on)" \
      "-: the module vfio-pci is not loaded" "-: the module vfio_iommu_type1 is not loaded" \
      "-: this user may lock 8192 KiB of memory; a controller's is 65536 KiB (dma=)" \
      "vfio:0000:00:04.0: $unseen" "vfio:0000:00:04.0: $owned"
    finds kernel-shared fails "-: not root; only root may map registers and see physical addresses" "$no_pages" "$no_mount" \
      "/dev/$shared: $unseen"
    finds rxe fails "$no_rxe"
    ;;
  queues)
    main=$(name_of 0000:00:04.0)
    second=$(name_of 0000:00:05.0)
    for _ in {1..50}; do
      if [ -b "/dev/${second}n1" ]; then break; fi
      sleep 0.1
    done
    mkswap "/dev/${second}n1" >/dev/null 2>&1 && swapon "/dev/${second}n1"
    echo 16 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
    mkdir -p /dev/hugepages && mount -t hugetlbfs none /dev/hugepages
    examine env
    finds vfio fails "-: interrupts are not remapped" "vfio:0000:00:04.0: $owned" \
      "vfio:0000:00:05.0: in use: ${second}n1 is swap" "vfio:0000:00:05.0: $owned"
    few_too=$(with_shadow "/dev/$main")
    swapped=$(with_shadow "/dev/$second")
    finds kernel-shared fails ${few_too:+"$few_too"} \
      "/dev/$main: no spare queue on this controller: 2 queue pairs, 2 of them the kernel's" \
      "/dev/$second: in use: ${second}n1 is swap" ${swapped:+"$swapped"}
    finds rxe fails "$no_rxe"
    mend kernel-shared "/dev/$second" "in use"
    # A device on an interface that is down never gets an address, whatever comes later.
    check "a device on an interface that is down" rdma link add rxe1 type rxe netdev lo
    examine env
    finds rxe fails "rxe1: its port is down"
    mend rxe rxe1 "its port is down"
    examine env
    finds rxe fails "rxe1: it has no address"
    mend rxe rxe1 "it has no address"
    examine env
    finds rxe works
    status 0 rxe
    if [ -z "$swapped" ]; then status 0 kernel-shared,rxe; fi
    check "and it works" "$tester" rdma-ep --device rxe1 --iterations 20 --transfer-size 1K --verify
    ;;
esac
summary "doctor, $guest"
