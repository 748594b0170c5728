#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_unwritable.sh XIO-TESTER TEST-RDMA-LOOPBACK XIO-VENDORS: what cannot be written ends every command with 1 and a line
loopback=${2:?} vendors=${3:?}
set -- "$1" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
# shellcheck source=tests/unwritable.sh
. "$here/../unwritable.sh"

commands=(
  "nvme-ep --controller emulated --write-io 4 --read-io 4"
  "kv-ep --controller emulated:keys=16 --keys 4"
  "cache-ep --controller emulated --gets 4"
  "rdma-ep --iterations 4 --transfer-size 64"
  "test-ep --iterations 10"
  "report --controller emulated --quick --tables single --span 64K"
  "info"
  "list"
  "doctor"
  "clock-test --readings 1000 --interval 10 --threads 1"
)
for line in "${commands[@]}"; do
  read -ra command <<<"$line"
  cannot_print "$tester" "${command[@]}"
  cannot_print "$tester" "${command[@]}" --json -
  status=0
  "$tester" "${command[@]}" --json /dev/full >"$work/out" 2>"$work/err" || status=$?
  judge_unwritable $status "--json /dev/full: cannot be written: No space left on device" "${command[*]} --json /dev/full"
  # A limit on the length of a file is no reason to die of a signal.
  status=0
  (ulimit -f 0 && "$tester" "${command[@]}" --json "$work/report.json" 2>&1 >/dev/null) | cat >"$work/err" ||
    status=${PIPESTATUS[0]}
  judge_unwritable "$status" "report.json: cannot be written: File too large" "${command[*]}, files of no length"
done
cannot_print "$tester" info --controller emulated
cannot_print "$tester" --version
cannot_print "$tester" --help
cannot_print "$tester" nvme-ep --help
cannot_print "$loopback" --iterations 4 --transfer-size 64
cannot_print "$vendors" --version
status=0
"$vendors" --repetitions 1 >/dev/full 2>"$work/err" || status=$?
judge_unwritable $status "standard output cannot be written: No space left on device" "xio-vendors >/dev/full"
status=0
"$vendors" --repetitions 1 --json /dev/full >"$work/out" 2>"$work/err" || status=$?
judge_unwritable $status "--json /dev/full: cannot be written: No space left on device" "xio-vendors --json /dev/full"

# Files in a folder.
for name in md csv json html; do
  rm -rf "$work/folder" && mkdir "$work/folder" && ln -s /dev/full "$work/folder/report.$name"
  status=0
  XIO_PYTHON=true "$tester" report --controller emulated --quick --tables single --span 64K --output "$work/folder" \
    >"$work/out" 2>"$work/err" || status=$?
  judge_unwritable $status "report.$name: cannot be written: No space left on device" "report --output, no room for .$name"
done

# Bad input stays bad input.
status=0
"$tester" nvme-ep --controller emulated >/dev/full 2>"$work/err" || status=$?
if [ $status -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ]; then pass; else fail "bad input, and a full standard output: $status"; fi

# What was written to an image is right, whatever descriptor numbers were free: checked by the programs beside it, too.
if command -v "${XIO_QEMU:-qemu-system-x86_64}" >/dev/null; then
  "$tester" nvme-ep --controller "qemu:image=$work/image,size=1M" --write-io 8 --read-io 8 --verify \
    --json "$work/report.json" <&- >&- 2>&-
  status=$?
  if [ $status -eq 1 ] && check_json "$work/report.json" "j['exit_status'] == 0" >"$work/out"; then
    pass
  else
    fail "QEMU's image, all three closed: exit status $status"
    cat "$work/out"
  fi
  cannot_print python3 "$here/../../bench/compare_image.py" "$work/image" "$work/report.json"
  cannot_print perl "$here/../../scripts/check-image" "$work/image" 1 512 0 8
fi
finish "what cannot be written"
