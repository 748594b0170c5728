#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_examples.sh FOLDER: H19: the examples on QEMU's controller succeed, and fail where they must
set -uo pipefail
folder=${1:?usage: tester_examples.sh FOLDER-OF-THE-EXAMPLES}
if ! command -v "${XIO_QEMU:-qemu-system-x86_64}" >/dev/null; then
  echo "skipped: no QEMU"
  exit 77
fi

failed=0
# expect STATUS EXAMPLE ARGUMENT...
expect() {
  local wanted=$1
  shift
  timeout 100 "$folder/$1" "${@:2}"
  local status=$?
  if [ $status -ne "$wanted" ]; then
    echo "FAILED: $*: exit status $status instead of $wanted"
    failed=1
  fi
}

expect 0 read_blocks qemu
expect 0 read_blocks qemu:lba=4096,size=4M
expect 1 read_blocks qemu 131000
expect 1 read_blocks qemu:binary=/nowhere/qemu
expect 0 write_verify qemu
expect 1 write_verify qemu:backend=null
expect 0 wave_batch qemu
expect 1 wave_batch qemu 300
expect 0 checksum_file qemu
expect 1 checksum_file qemu /proc/self/exe damage
expect 0 zone_log
expect 1 zone_log emulated
exit $failed
