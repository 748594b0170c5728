#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_bad_input.sh XIO-TESTER: bad input ends with the right exit status, one line on standard error, and no process left
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

serial=bad$$

# expect STATUS WORDS ARGUMENT...: the line must contain WORDS.
expect() {
  local wanted=$1 words=$2
  shift 2
  timeout 60 "$tester" "$@" >"$work/out" 2>"$work/err"
  local status=$?
  if [ "$status" -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err" &&
    [ ! -s "$work/out" ]; then
    pass
  else
    fail "exit status $status (not $wanted) or not one line with '$words': $*"
    cat "$work/err" "$work/out"
  fi
}

plain=qemu:device=serial=$serial
head -c 1000 /dev/zero >"$work/odd"
ln -s /nowhere "$work/link"

# The command line.
expect 2 "subcommand is required"
expect 2 "--no-such-flag" nvme-ep --controller $plain --read-io 4 --no-such-flag
expect 2 "no-such-command" no-such-command
expect 2 "no controller" nvme-ep --read-io 4
expect 2 "no operations" nvme-ep --controller $plain
expect 2 "no operations" nvme-ep --controller $plain --read-io 0 --write-io 0
for flag in --read-io --lbas-per-io --queue-length --depth --deadline --num-queues --base-lba --batch-size; do
  expect 2 "$flag" nvme-ep --controller $plain --read-io 4 $flag many
done
expect 2 "--depth: 0" nvme-ep --controller $plain --read-io 4 --depth 0
expect 2 "sequential|random" nvme-ep --controller $plain --read-io 4 --access-pattern zigzag
expect 2 "1|8|32|64" nvme-ep --controller $plain --read-io 4 --wave-size 16
expect 2 "--memory-mode: 16" nvme-ep --controller $plain --read-io 4 --memory-mode 16
expect 2 "--duration" nvme-ep --controller $plain --read-io 4 --duration -1
expect 2 "exclude" nvme-ep --controller $plain --read-io 4 --duration 1 --infinite
expect 2 "--written" nvme-ep --controller $plain --read-io 4 --write-io 4 --written 4
expect 2 "/nowhere/report.json" nvme-ep --controller $plain --read-io 4 --json /nowhere/report.json
expect 2 "--iterations" test-ep --iterations 0
expect 2 "polling|doorbell" test-ep --mode waiting

# The controller's description.
expect 2 "floppy" nvme-ep --controller floppy --read-io 4
expect 2 "unknown key" nvme-ep --controller qemu:colour=red --read-io 4
expect 2 "lba=1000" nvme-ep --controller qemu:lba=1000 --read-io 4
expect 2 "unknown key" nvme-ep --controller emulated:colour=red --read-io 4
expect 2 "does not exist" nvme-ep --controller "qemu:image=$work/none" --read-io 4
expect 2 "$work/odd" nvme-ep --controller "qemu:image=$work/odd" --read-io 4
expect 2 "$work" nvme-ep --controller "qemu:image=$work" --read-io 4
expect 2 "$work/link" nvme-ep --controller "qemu:image=$work/link" --read-io 4
if [ "$(id -u)" -ne 0 ]; then
  truncate -s 1M "$work/secret" && chmod 0 "$work/secret"
  expect 2 "$work/secret" nvme-ep --controller "qemu:image=$work/secret" --read-io 4
fi
expect 2 "not found" nvme-ep --controller qemu:binary=/nowhere/qemu --read-io 4
expect 2 "bad_option" nvme-ep --controller "qemu:device=serial=$serial,bad_option=1" --read-io 4

# What is asked for is in order, and this machine does not have it.
XIO_QEMU=/nowhere/qemu expect 77 "not found" nvme-ep --controller qemu --read-io 4
printf '#!/bin/sh\necho no such machine >&2\nexit 1\n' >"$work/ends" && chmod +x "$work/ends"
XIO_QEMU=$work/ends expect 77 "no such machine" nvme-ep --controller qemu --read-io 4
XIO_QEMU=$work/ends expect 77 "no such machine" info --controller qemu:size=1M
expect 2 "no such machine" nvme-ep --controller "qemu:binary=$work/ends" --read-io 4

# A program that never answers is not waited for twice.
printf '#!/bin/sh\nexec sleep 1000\n' >"$work/silent" && chmod +x "$work/silent"
began=$SECONDS
expect 2 "has not answered within" nvme-ep --controller "qemu:binary=$work/silent" --read-io 4
if [ $((SECONDS - began)) -le 15 ]; then pass; else fail "a program that never answers took $((SECONDS - began)) s, not 10"; fi
# An image that cannot be made is not there afterwards.
# The limit leaves room for what queues and data need.
(ulimit -f 300000 && expect 2 "cannot make image $work/new" nvme-ep --controller "qemu:image=$work/new,size=1G" --read-io 4 &&
  [ "$failed" -eq 0 ]) || failed=$((failed + 1))
if [ ! -e "$work/new" ]; then pass; else fail "an image that could not be made is there"; fi

# Limits of the controller.
expect 2 "CAP.MQES" nvme-ep --controller $plain --read-io 4 --depth 4096
expect 2 "CAP.MQES" nvme-ep --controller $plain --read-io 4 --queue-length 2049
expect 2 "CAP.MQES" nvme-ep --controller emulated:mqes=31 --read-io 4 --depth 33
expect 2 "--queue-length 8" nvme-ep --controller $plain --read-io 4 --depth 9 --queue-length 8
expect 2 "beyond the end" nvme-ep --controller $plain --read-io 4 --base-lba 131072
expect 2 "exceeds the namespace" nvme-ep --controller $plain --read-io 4 --base-lba 131070 --lbas-per-io 3
expect 2 "--namespace 2" nvme-ep --controller $plain --read-io 4 --namespace 2
expect 2 "granted" nvme-ep --controller "qemu:queues=2,device=serial=$serial" --read-io 4 --num-queues 3
expect 2 "granted" nvme-ep --controller "qemu:queues=2,device=serial=$serial" --read-io 4 --queue-id 3
expect 2 "--data-buffer-size 512" nvme-ep --controller $plain --read-io 4 --depth 2 --data-buffer-size 512
expect 2 "dma=" nvme-ep --controller $plain --read-io 4 --data-buffer-size 1T
expect 2 "memory" nvme-ep --controller emulated --read-io 4 --data-buffer-size 100T
expect 2 "dma=" nvme-ep --controller "qemu:dma=2M,device=serial=$serial" --read-io 64 --depth 1024 --lbas-per-io 64

# What this build does not offer.
expect 2 "does not exist" nvme-ep --controller /dev/nvme4095 --read-io 4
expect 2 "unknown key 'lba'" nvme-ep --controller /dev/nvme0,lba=512 --read-io 4
expect 2 "does not exist" nvme-ep --controller vfio:ffff:ff:1f.7 --read-io 4
expect 2 "is not a PCI address" nvme-ep --controller vfio:nvme0 --read-io 4
expect 2 "unknown key 'lba'" nvme-ep --controller vfio:ffff:ff:1f.7,lba=512 --read-io 4
expect 77 "--executor gpu" nvme-ep --controller $plain --read-io 4 --executor gpu
expect 77 "--memory-mode 8" nvme-ep --controller $plain --read-io 4 --memory-mode 8
expect 77 "--pci-mmio-bridge" nvme-ep --controller $plain --read-io 4 --pci-mmio-bridge

no_process_left() { [ -z "$(qemu_processes $serial)" ]; }
if eventually no_process_left; then pass; else fail "processes left: $(qemu_processes $serial)"; fi
finish "bad input"
