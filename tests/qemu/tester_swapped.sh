#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tester_swapped.sh XIO-TESTER: H29: blocks that another program swaps or damages in the image are reported, no others
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/tester_common.sh"

image=$work/image

# swap LBA LBA BYTES: exchanges two blocks of the image.
swap() {
  dd if="$image" of="$work/a" bs="$3" skip="$1" count=1 status=none
  dd if="$image" of="$work/b" bs="$3" skip="$2" count=1 status=none
  dd if="$work/a" of="$image" bs="$3" seek="$2" count=1 conv=notrunc status=none
  dd if="$work/b" of="$image" bs="$3" seek="$1" count=1 conv=notrunc status=none
}

for lba in 512 4096; do
  for flags in "--access-pattern sequential" "--access-pattern random" "--access-pattern random --lfsr-seed 7"; do
    title="lba=$lba $flags"
    rm -f "$image"
    # All of the image is written, so that the blocks are among them.
    controller=qemu:image=$image,size=$((64 * 3 * lba)),lba=$lba
    # shellcheck disable=SC2086 # the flags are several words
    run() { "$tester" nvme-ep --controller "$controller" --lbas-per-io 3 --batch-size 8 $flags --json "$work/report.json" "$@"; }
    if ! run --write-io 64 >"$work/out" 2>&1; then
      fail "$title: write"
      cat "$work/out"
      continue
    fi
    if run --read-io 64 --verify --written 64 >"$work/out" 2>&1; then pass; else fail "$title: before the swap"; fi
    swap 17 100 "$lba"
    run --read-io 64 --verify --written 64 >"$work/out" 2>&1
    status=$?
    if [ $status -eq 1 ] && check_json "$work/report.json" "j['verification']['complete']" \
      "[(b['lba'], b.get('holds_lba')) for b in j['verification']['wrong_blocks']] == [(17, 100), (100, 17)]" \
      "j['verification']['verified_blocks'] == 64 * 3 - 2" >>"$work/out" &&
      grep -q "LBA 17 holds the content of LBA 100" "$work/out"; then
      pass
    else
      fail "$title: swapped blocks (exit status $status)"
      cat "$work/out"
    fi
    # One byte of one block.
    swap 17 100 "$lba"
    printf 'x' | dd of="$image" bs=1 seek=$((5 * lba + 300)) conv=notrunc status=none
    run --read-io 64 --verify --written 64 >"$work/out" 2>&1
    status=$?
    if [ $status -eq 1 ] && check_json "$work/report.json" \
      "[(b['lba'], b['first_byte']) for b in j['verification']['wrong_blocks']] == [(5, 296)]" >>"$work/out"; then
      pass
    else
      fail "$title: damaged block (exit status $status)"
      cat "$work/out"
    fi
  done
done

finish "swapped and damaged blocks"
