#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_fabrics.sh XIO-TESTER: nvme-ep, info and doctor with the targets of nvmet.sh

set -uo pipefail
tester=${1:?usage: ${0##*/} XIO-TESTER}
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
trap 'rm -rf "$work"' EXIT
target=fabrics:traddr=10.9.0.1,trsvcid=4420,nqn=xio
run=("$tester" nvme-ep --controller "$target" --deadline 60000)
image=/run/xio.img

# moves BLOCKS FLAGS...: as many blocks are written, read and found equal
moves() {
  local blocks=$1
  shift
  says "nvme-ep $*" "verified $blocks of $blocks blocks" "${run[@]}" --verify "$@"
}

moves 64 --write-io 64 --read-io 64
moves 256 --write-io 256 --read-io 256 --depth 16 --batch-size 8 --access-pattern random
moves 1024 --write-io 64 --read-io 64 --lbas-per-io 16 --depth 8 --num-queues 2
moves 512 --write-io 512 --read-io 512 --waves 4 --wave-size 32 --depth 127 --batch-size 0 --num-queues 2 --less-timing
moves 128 --write-io 128 --read-io 128 --wave-size 64 --depth 64 --data-buffer-size 1M --substep-timing --histogram
# One in flight: the smallest queue.
moves 16 --write-io 16 --read-io 16 --queue-length 1 --lfsr-seed 7

# The target keeps what was written, and another run finds what has changed there.
check "a run that writes" "${run[@]}" --write-io 32 --seed 5
says "another run reads it" "verified 32 of 32 blocks" "${run[@]}" --read-io 32 --written 32 --seed 5 --verify
block=$("$tester" info --controller "$target" | sed -n 's/.* blocks of \([0-9]*\) bytes.*/\1/p')
printf 'x' | dd of="$image" bs=1 seek=$((3 * block + 100)) conv=notrunc 2>/dev/null
if "${run[@]}" --read-io 32 --written 32 --seed 5 --verify >"$work/out" 2>&1; then
  fail "a changed block ends with exit status 1"
elif grep -q "verified 31 of 32 blocks" "$work/out" && grep -q "LBA 3" "$work/out"; then
  pass "a changed block is found"
else
  fail "a changed block is named"
fi

check "a report" "${run[@]}" --write-io 8 --read-io 8 --json "$work/report.json"
for words in '"kind": "fabrics"' '"transport": "RDMA by rxe0 to 10.9.0.1 port 4420, subsystem xio' '"doorbell": "soft-RoCE"'; do
  says "the report has $words" "$words" cat "$work/report.json"
done
says "the tables name the device" "RDMA by rxe0 to 10.9.0.1 port 4420" "${run[@]}" --read-io 8

# What the target does not have.
refused "queues beyond those granted" "the controller granted queues 1 to 2" \
  "$tester" nvme-ep --controller fabrics:traddr=10.9.0.1,nqn=xio-few --read-io 8 --num-queues 3
refused "a namespace" "active namespaces: 1" "${run[@]}" --read-io 8 --namespace 2
refused "a subsystem" "it has no subsystem 'nobody' at this port" \
  "$tester" nvme-ep --controller fabrics:traddr=10.9.0.1,nqn=nobody --read-io 8
refused "a port" "nothing listens at this port" \
  "$tester" nvme-ep --controller fabrics:traddr=10.9.0.1,trsvcid=4499,nqn=xio --read-io 8

says "info" "16 pairs granted" "$tester" info --controller "$target"
says "info names the namespace" "namespace     1: $((16777216 / block)) blocks of $block bytes" \
  "$tester" info --controller "$target"
says "doctor" "fabrics        works, with rxe0" "$tester" doctor --mode fabrics
says "doctor reaches the target" "target         answers" "$tester" doctor --mode fabrics --probe "$target"
if "$tester" doctor --mode fabrics --probe "${target/4420/4499}" >"$work/out" 2>&1; then
  fail "doctor reaches a port where nothing listens"
elif grep -q "nothing listens at this port" "$work/out"; then
  pass "doctor says why a target is not reached"
else
  fail "doctor says why a target is not reached"
fi

# The target goes away during a run.
"${run[@]}" --read-io 100 --duration 100 --depth 8 --progress >"$work/lost.out" 2>"$work/lost.err" &
runner=$!
# It reports its progress once it reads.
for _ in $(seq 300); do
  [ -s "$work/lost.err" ] && break
  sleep 0.1
done
rm /sys/kernel/config/nvmet/ports/1/subsystems/xio
begin=$SECONDS
wait "$runner"
status=$?
cat "$work/lost.out" "$work/lost.err" >"$work/out"
if [ $status -eq 1 ] && [ $((SECONDS - begin)) -lt 40 ] && grep -q "ended early: .*10.9.0.1 port 4420" "$work/out"; then
  pass "a run ends with its target"
else
  fail "a run ends with its target: exit status $status after $((SECONDS - begin)) s"
fi
ln -s /sys/kernel/config/nvmet/subsystems/xio /sys/kernel/config/nvmet/ports/1/subsystems/
moves 16 --write-io 16 --read-io 16

# This machine lacks something: exit status 77, as without any other device.
lacks() {
  local title=$1 words=$2 status=0
  "${run[@]}" --read-io 8 >"$work/out" 2>&1 || status=$?
  if [ $status -eq 77 ] && [ "$(wc -l <"$work/out")" -eq 1 ] && grep -qF -- "$words" "$work/out"; then
    pass "$title"
  else
    fail "$title: exit status $status"
  fi
}
rdma link delete rxe0
lacks "no RDMA device" "has this machine an RDMA device in that network?"
rm /dev/infiniband/rdma_cm
lacks "no connection manager" "modprobe rdma_ucm"

summary tester_fabrics
