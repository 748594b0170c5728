#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xio_bind.sh: scripts/xio-bind on a machine made of files: what it says, what it refuses, what it writes

set -uo pipefail
bind=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/xio-bind
machine=$(mktemp -d)
output=$(mktemp)
trap 'rm -rf "$machine" "$machine.bin" "$output"' EXIT
export XIO_SYSFS=$machine/sys XIO_PROCFS=$machine/proc XIO_DEV=$machine/dev
pci=$XIO_SYSFS/bus/pci
# Whether a block device is claimed is asked of the kernel, by python3: here the node says it.
mkdir "$machine.bin"
cat >"$machine.bin/python3" <<'END'
#!/bin/sh
cat >/dev/null
cat "$3" 2>/dev/null || echo "No such file or directory"
END
chmod +x "$machine.bin/python3"
PATH=$machine.bin:$PATH

passed=0
failed=0
# expect TITLE STATUS WORDS COMMAND...: the exit status, and each line of WORDS in what is said
expect() {
  local title=$1 wanted=$2 words=$3 status=0 line right=yes
  shift 3
  "$bind" "$@" >"$output" 2>&1 || status=$?
  while read -r line; do
    if ! grep -qF -- "$line" "$output"; then right=no; fi
  done <<<"$words"
  if [ $status -eq "$wanted" ] && [ $right = yes ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s (exit status %d)\n' "$title" "$status"
    cat "$output"
  fi
}

# function ADDRESS CLASS DRIVER GROUP: a PCI function; "-": none
function_at() {
  local path=$pci/devices/$1
  mkdir -p "$path"
  echo "$2" >"$path/class"
  : >"$path/driver_override"
  if [ "$3" != - ]; then
    mkdir -p "$pci/drivers/$3"
    : >"$pci/drivers/$3/unbind"
    ln -s "../../drivers/$3" "$path/driver"
  fi
  if [ "$4" != - ]; then
    mkdir -p "$XIO_SYSFS/kernel/iommu_groups/$4/devices"
    ln -s "$path" "$XIO_SYSFS/kernel/iommu_groups/$4/devices/$1"
    ln -s "$XIO_SYSFS/kernel/iommu_groups/$4" "$path/iommu_group"
  fi
}
# block NAME NUMBER [PARTITION NUMBER]...
block() {
  local name=$1 path=$XIO_SYSFS/class/block/$1
  mkdir -p "$path/holders"
  echo "$2" >"$path/dev"
  echo free >"$XIO_DEV/$name"
  shift 2
  while [ $# -gt 0 ]; do
    mkdir -p "$path/$1" "$XIO_SYSFS/class/block/$1/holders"
    echo "$2" >"$XIO_SYSFS/class/block/$1/dev"
    echo free >"$XIO_DEV/$1"
    shift 2
  done
}
# A machine with five controllers: nvme0 free, nvme1 beside a sound device, nvme2 by two paths, one with vfio-pci, one
# without an IOMMU; and a bridge.
make_machine() {
  rm -rf "$machine"
  mkdir -p "$XIO_PROCFS/self" "$XIO_DEV/disk/by-id" "$pci/drivers/vfio-pci"
  : >"$pci/drivers_probe"
  : >"$pci/drivers/vfio-pci/unbind"
  function_at 0000:01:00.0 0x010802 nvme 11
  function_at 0000:02:00.0 0x010802 nvme 12
  function_at 0000:02:00.1 0x040300 snd_hda_intel 12
  function_at 0000:03:00.0 0x010802 nvme 13
  function_at 0000:04:00.0 0x010802 vfio-pci 14
  function_at 0000:05:00.0 0x010802 nvme -
  function_at 0000:00:1f.0 0x060100 - 10
  mkdir -p "$pci"/devices/0000:01:00.0/nvme/nvme0/nvme0n{1,2} "$pci/devices/0000:02:00.0/nvme/nvme1/nvme1n1" \
    "$pci/devices/0000:03:00.0/nvme/nvme2/nvme2c2n1"
  block nvme0n1 259:0 nvme0n1p1 259:1 nvme0n1p2 259:2
  block nvme0n2 259:3
  block nvme1n1 259:4
  block nvme2n1 259:5 nvme2n1p1 259:6
  cat >"$XIO_PROCFS/self/mountinfo" <<END
22 1 259:44 / / rw,relatime shared:1 - ext4 $XIO_DEV/sda1 rw
23 22 0:21 / /proc rw - proc proc rw
END
  printf 'Filename Type Size Used Priority\n' >"$XIO_PROCFS/swaps"
}
mounted() { echo "24 22 $1 / $2 rw,relatime - $3 $4 rw" >>"$XIO_PROCFS/self/mountinfo"; }
first=0000:01:00.0
stays="$first is in use and stays bound:"

make_machine
expect "status" 0 "0000:01:00.0  nvme      IOMMU group 11
0000:02:00.0  nvme      IOMMU group 12
other devices of the group are bound to other drivers: 0000:02:00.1 (snd_hda_intel)
0000:04:00.0  vfio-pci  IOMMU group 14
0000:05:00.0  nvme      no IOMMU" status
if grep -q "1f.0\|in use" "$output"; then expect "status says too much" 9 "" status; fi

before=$(find "$machine" -type f -exec cksum {} + | sort)
expect "dry run" 0 "would write 'vfio-pci' to $pci/devices/$first/driver_override
would write '$first' to $pci/devices/$first/driver/unbind
would write '$first' to $pci/drivers_probe
nothing was done; add --apply" bind 01:00.0
expect "dry run of unbind" 0 "would write '' to $pci/devices/0000:04:00.0/driver_override" unbind 0000:04:00.0
if [ "$before" != "$(find "$machine" -type f -exec cksum {} + | sort)" ]; then expect "a dry run writes" 9 "" status; fi

# The files do not act on it as the kernel would.
expect "apply" 1 "$first is bound to nvme now, not vfio-pci" bind $first --apply
if [ "$(cat "$pci/devices/$first/driver_override" "$pci/drivers/nvme/unbind" "$pci/drivers_probe")" != \
  "$(printf 'vfio-pci\n%s\n%s' $first $first)" ]; then expect "apply writes" 9 "" status; fi
expect "bound already" 0 "0000:04:00.0 is bound to vfio-pci" bind 0000:04:00.0 --apply
expect "unbound already" 0 "$first is bound to nvme" unbind $first --apply

for use in "259:0 / ext4 /dev/root" "259:2 /home xfs /dev/root" "259:3 /srv ext4 /dev/root" "0:33 /data btrfs $XIO_DEV/nvme0n1p2"; do
  make_machine
  # shellcheck disable=SC2086 # several words
  mounted $use
  place=${use#* }
  expect "mounted: $use" 1 "is mounted on ${place%% *}" bind $first --apply
  expect "mounted, said by status: $use" 0 "in use: nvme0n" status
  if [ -s "$pci/devices/$first/driver_override" ]; then expect "written in spite of it" 9 "" status; fi
  expect "another controller's mount" 0 "would write" bind 0000:03:00.0
done
make_machine
ln -s "$XIO_DEV/nvme0n1p1" "$XIO_DEV/disk/by-id/swap-part1"
echo "$XIO_DEV/disk/by-id/swap-part1 partition 1048572 0 -2" >>"$XIO_PROCFS/swaps"
expect "swap by a link" 1 "$stays nvme0n1p1 is swap" bind $first --apply
make_machine
mkdir "$XIO_SYSFS/class/block/nvme0n2/holders/dm-3"
expect "device mapper" 1 "$stays nvme0n2 is part of dm-3" bind $first --apply
make_machine
mkdir -p "$XIO_SYSFS/fs/btrfs/0a-1b/devices/nvme0n1p1"
expect "second device of btrfs" 1 "nvme0n1p1 is part of a btrfs file system" bind $first --apply
make_machine
mounted 259:6 /mnt ext4 /dev/root
expect "mounted, by one of two paths" 1 "0000:03:00.0 is in use and stays bound: nvme2n1p1 is mounted on /mnt" bind 0000:03:00.0 --apply

# What nothing names is the kernel's to say.
make_machine
echo held >"$XIO_DEV/nvme0n2"
expect "held" 1 "$stays nvme0n2 is held by something" bind $first --apply
make_machine
rm "$XIO_DEV/nvme0n2"
unseen="it cannot be seen whether anything uses nvme0n2: No such file or directory"
expect "what cannot be seen" 1 "$first may be in use and stays bound: $unseen" bind $first --apply
expect "what cannot be seen, without --apply" 0 "$first may be in use, and --apply would refuse it: $unseen" bind $first
expect "what cannot be seen, said by status" 0 "may be in use: $unseen" status
mounted 259:0 /mnt ext4 /dev/root
expect "what can be seen comes first" 1 "$stays nvme0n1 is mounted on /mnt" bind $first

# Without multipath in the kernel each controller has a block device of a namespace that they share.
# two_paths NQN NSID WWID: nvme3 with a namespace, as another controller's than that at $first
two_paths() {
  make_machine
  mkdir -p "$pci/devices/0000:06:00.0/nvme/nvme3/nvme3n1" "$XIO_SYSFS/class/nvme"
  local number
  for number in 0 3; do
    ln -s "$pci/devices/0000:0$((number == 0 ? 1 : 6)):00.0/nvme/nvme$number" "$XIO_SYSFS/class/nvme/nvme$number"
  done
  block nvme3n1 259:7 nvme3n1p1 259:8
  echo nqn.shared >"$XIO_SYSFS/class/nvme/nvme0/subsysnqn"
  echo 1 >"$XIO_SYSFS/class/block/nvme0n1/nsid"
  echo eui.1 >"$XIO_SYSFS/class/block/nvme0n1/wwid"
  echo 00000000-0000-0000-0000-000000000000 >"$XIO_SYSFS/class/block/nvme0n1/uuid"
  echo "$1" >"$XIO_SYSFS/class/nvme/nvme3/subsysnqn"
  echo "$2" >"$XIO_SYSFS/class/block/nvme3n1/nsid"
  echo "$3" >"$XIO_SYSFS/class/block/nvme3n1/wwid"
  echo 00000000-0000-0000-0000-000000000000 >"$XIO_SYSFS/class/block/nvme3n1/uuid"
}
for same in "nqn.shared 1 eui.2" "nqn.other 5 eui.1"; do
  # shellcheck disable=SC2086 # several words
  two_paths $same
  expect "another path: $same" 0 "would write" bind $first
  mounted 259:8 /mnt ext4 /dev/root
  expect "mounted by another path: $same" 1 "$stays nvme3n1p1 is mounted on /mnt" bind $first --apply
  expect "mounted by another path, status: $same" 0 "in use: nvme3n1p1 is mounted on /mnt" status
done
for other in "nqn.shared 2 eui.2" "nqn.other 1 eui.2"; do
  # shellcheck disable=SC2086 # several words
  two_paths $other
  mounted 259:8 /mnt ext4 /dev/root
  expect "another namespace: $other" 0 "would write" bind $first
done

make_machine
expect "a neighbour in the group" 0 "IOMMU group 12 as a whole" bind 0000:02:00.0
expect "no IOMMU" 1 "has no IOMMU group: switch VT-d" bind 0000:05:00.0 --apply
expect "no controller" 1 "0000:00:1f.0 is no NVMe controller" bind 00:1f.0 --apply
expect "not there" 1 "0000:09:00.0 does not exist" bind 09:00.0 --apply
expect "no address" 1 "'nvme0' is not a PCI address" bind nvme0
expect "which one?" 1 "bind needs a PCI address" bind
expect "unknown" 1 "unknown command give" give $first
expect "rules" 0 'SUBSYSTEM=="vfio", KERNEL=="14", GROUP="io", MODE="0660"
SUBSYSTEM=="vfio-dev", KERNELS=="0000:04:00.0", GROUP="io", MODE="0660"
SUBSYSTEM=="misc", KERNEL=="iommu", GROUP="io", MODE="0660"' udev 04:00.0 --group io
mkdir -p "$XIO_PROCFS/4711/fd"
ln -s /dev/vfio/14 "$XIO_PROCFS/4711/fd/7"
expect "in use by vfio" 1 "0000:04:00.0 is in use by process 4711; end it first" unbind 04:00.0 --apply
mkdir -p "$XIO_PROCFS/4712/fd" "$XIO_PROCFS/4713/fd" "$pci/devices/0000:04:00.0/vfio-dev/vfio3"
ln -sf /dev/vfio/1 "$XIO_PROCFS/4711/fd/7"
ln -s /dev/vfio/devices/vfio3 "$XIO_PROCFS/4712/fd/5"
ln -s /dev/vfio/devices/vfio31 "$XIO_PROCFS/4713/fd/5"
expect "in use by its own node" 1 "0000:04:00.0 is in use by process 4712; end it first" unbind 04:00.0 --apply
rm -r "$pci/drivers/vfio-pci" "$pci/devices/0000:04:00.0/driver"
expect "the module is loaded first" 0 "would run modprobe vfio-pci" bind $first

printf 'xio-bind: %d of %d\n' "$passed" "$((passed + failed))"
[ $failed -eq 0 ]
