# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # variables of the script that reads it
# Part of kernel_shared.sh: a namespace that is in use where one does not look at once, and huge pages that a cgroup limits. By day each case once;
# with --long in all its forms.

# refused_2 TITLE WORDS COMMAND...: as refused, with the exit status of bad input
refused_2() {
  local title=$1 words=$2
  shift 2
  "$@" >"$work/out" 2>&1
  local status=$?
  if [ $status -eq 2 ] && [ "$(wc -l <"$work/out")" -eq 1 ] && grep -qF -- "$words" "$work/out"; then pass "$title"; else fail "$title: $status"; fi
}

# more COMMAND...: only with --long
more() { if [ "$long" = yes ]; then "$@"; fi; }

# Without multipath in the kernel each of two controllers has a block device of the namespace that they share.
left=$(controller_of 0000:00:08.0)
right=$(controller_of 0000:00:09.0)
for _ in {1..100}; do
  if [ -b "/dev/${left}n1" ] && [ -b "/dev/${right}n1" ]; then break; fi
  sleep 0.1
done
same="${left}n1 is the same namespace as ${right}n1"
shared_id=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_shared
ln -sf "../../${right}n1" $shared_id
write_shared() { "$tester" nvme-ep --controller $shared_id --write-io 16 --verify --read-io 16; }
mkfs.ext4 -q "/dev/${left}n1" && mount "/dev/${left}n1" "$work/mounted"
refused_2 "mounted through the other controller" "$right is in use: ${left}n1 is mounted on $work/mounted ($same)" write_shared
more refused_2 "the same, reading" "${left}n1 is mounted on $work/mounted" read_some "/dev/$right"
more check "the same, reading what is mounted" read_some "/dev/$right,mounted=read"
refused "the same, xio-bind" "0000:00:09.0 is in use and stays bound: ${left}n1 is mounted on $work/mounted" \
  "$root/scripts/xio-bind" bind 0000:00:09.0 --apply
"$tester" doctor --mode kernel-shared >"$work/doctor"
check "the same, doctor" grep -q "/dev/$right: in use: ${left}n1 is mounted on" "$work/doctor"
umount "$work/mounted"
# As a container's host has it mounted.
unshare -m --propagation private sh -c "mount /dev/${left}n1 '$work/mounted' && exec sleep 600" &
other=$!
for _ in {1..100}; do
  if [ "$(cat /proc/$other/comm)" = sleep ]; then break; fi
  sleep 0.1
done
refused_2 "mounted in another mount namespace" "${left}n1 is held by something ($same)" write_shared
more refused "the same, xio-bind" "${left}n1 is held by something" "$root/scripts/xio-bind" bind 0000:00:09.0 --apply
kill $other
wait $other 2>/dev/null
# As in a container that has one controller's nodes.
mv "/dev/${left}n1" /dev/elsewhere
unseen="/dev/${left}n1 cannot be opened to see whether ${left}n1 is used: No such file or directory"
refused_2 "no node of the other block device" "$right may be in use: $unseen ($same)" write_shared
more refused_2 "the same, reading" "$unseen" read_some "/dev/$right"
check "the same, reading what may be mounted" read_some "/dev/$right,mounted=read"
refused "the same, xio-bind" "0000:00:09.0 may be in use and stays bound: it cannot be seen whether anything uses ${left}n1: No such" \
  "$root/scripts/xio-bind" bind 0000:00:09.0 --apply
ln -s null "/dev/${left}n1"
more refused_2 "a node of another device" "cannot be opened to see whether ${left}n1 is used" write_shared
rm "/dev/${left}n1"
mv /dev/elsewhere "/dev/${left}n1"
more check "once all is free" write_shared
"$tester" nvme-ep --controller $shared_id --write-io 16 --infinite >"$work/long" 2>&1 &
other=$!
under_way
check "nobody mounts what may be written, through whichever controller" bash -c "! mount '/dev/${left}n1' '$work/mounted'"
kill -INT $other
wait $other
clean_log

# A namespace that changes under a run: its blocks would be moved past the ends of buffers.
# changes TITLE WORDS COMMAND...: the command, while xio-tester reads; which then ends, and says the words
changes() {
  local title=$1 words=$2 status other
  shift 2
  "$tester" nvme-ep --controller "/dev/$right" --read-io 1 --infinite --deadline 600000 >"$work/long" 2>&1 &
  other=$!
  for _ in {1..100}; do
    if [ "$(find /dev/hugepages -name 'xio-*:09.0-*' | wc -l)" -gt 0 ]; then break; fi
    sleep 0.1
  done
  sleep 1
  check "$title" "$@"
  wait $other
  status=$?
  cp "$work/long" "$work/out"
  if [ $status -eq 1 ] && grep -qF -- "$words" "$work/out"; then pass "$title, said"; else fail "$title, said: $status"; fi
}
controller_number=$(nvme id-ctrl "/dev/$right" | sed -n 's/^cntlid *: *//p')
changes "nvme format" "namespace 1 was formatted: its blocks have 4096 bytes, not 512" nvme format "/dev/${right}n1" -l 4 -f
check "nvme format, back" nvme format "/dev/${right}n1" -l 0 -f
changes "nvme detach-ns" "namespace 1 is detached or deleted" nvme detach-ns "/dev/$right" -n 1 -c "$controller_number"
check "nvme attach-ns" nvme attach-ns "/dev/$right" -n 1 -c "$controller_number"
for _ in {1..100}; do
  if [ -b "/dev/${right}n1" ]; then break; fi
  sleep 0.1
done
check "once all is as before" read_some "/dev/$right"

# Huge pages that a cgroup does not permit would be a SIGBUS at the first access.
mkdir -p /sys/fs/cgroup
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
echo +hugetlb >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/{used,reserved}
echo 4194304 >/sys/fs/cgroup/used/hugetlb.2MB.max
echo 4194304 >/sys/fs/cgroup/reserved/hugetlb.2MB.rsvd.max
# within GROUP COMMAND...: runs it in that cgroup
within() { (echo "$BASHPID" >"/sys/fs/cgroup/$1/cgroup.procs" && exec "${@:2}"); }
limit="a cgroup leaves this process 4 of 4 MiB of huge pages, and 16 MiB are wanted: raise /sys/fs/cgroup"
some=("$tester" nvme-ep --controller "$node" --read-io 4)
refused_2 "a limit of huge pages" "$limit/used/hugetlb.2MB.max" within used "${some[@]}"
refused_2 "a limit of reservations" "$limit/reserved/hugetlb.2MB.rsvd.max" within reserved "${some[@]}"
# Where the limit cannot be seen, the kernel says it.
hidden=(used)
if [ "$long" = yes ]; then hidden+=(reserved); fi
for group in "${hidden[@]}"; do
  refused_2 "a limit that cannot be seen, $group" "no 8 huge pages of 2 MiB are free" \
    within $group unshare -m bash -c 'umount /sys/fs/cgroup && exec "$@"' - "${some[@]}"
done
check "within the limit" within used "$tester" nvme-ep --controller "$node,dma=4M" --read-io 4
within used "$tester" doctor --mode kernel-shared >"$work/doctor"
check "doctor knows the limit" grep -q "this cgroup has 4 of 4 MiB of huge pages left; a controller's are 16 MiB" "$work/doctor"
check "nothing is left of these" [ -z "$(find /dev/hugepages -name 'xio-*-*')" ]
check "all huge pages are free again" grep -q "HugePages_Free: *32$" /proc/meminfo
