#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_image.sh XIO-TESTER: a program that shares no code with the tester finds every written block in the image
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

compare=$here/../../bench/compare_image.py
for flags in "" "--access-pattern random" "--access-pattern random --seed 5 --base-lba 100 --num-queues 3 --batch-size 8" \
  "--lfsr-seed 77 --access-pattern random" "--waves 2 --wave-size 8 --depth 32 --batch-size 8"; do
  image=$work/image
  rm -f "$image"
  # shellcheck disable=SC2086 # the flags are several words
  if "$tester" nvme-ep --controller "qemu:image=$image,size=2M,lba=512,mdts=1" --write-io 150 --lbas-per-io 20 $flags \
    --json "$work/report.json" >"$work/out" 2>&1 && python3 "$compare" "$image" "$work/report.json" >>"$work/out"; then
    pass
  else
    fail "image after $flags"
    tail -n 5 "$work/out"
  fi
  # The comparison itself must be able to fail.
  printf 'x' | dd of="$image" bs=1 seek=$((100 * 512 + 700)) conv=notrunc status=none
  case $flags in *random*) continue ;; esac
  python3 "$compare" "$image" "$work/report.json" >"$work/out"
  if [ $? -eq 1 ] && grep -q "^block 101 is not" "$work/out"; then pass; else fail "damage after $flags"; fi
done
finish "images"
