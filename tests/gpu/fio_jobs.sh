#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fio_jobs.sh FOLDER [ENGINE]: jobs of fio whose commands a kernel on the GPU of this machine submits, verified
#
# ENGINE: a libxio_fio.so with kernels for this GPU; without it that of the folder build is built. Output and JSON of each job go to FOLDER.
# A job may take XIO_JOB_SECONDS (default 60). The last line is "N passed, N failed, N skipped"; exit status 1 when something failed, 77,
# with the reason, where fio, its headers or the folder build are missing.
set -uo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit
mkdir -p "$1"
out=$(readlink -f -- "$1") engine=${2:-}
cannot() {
  echo "skipped: executor=gpu of fio's engine: $*"
  exit 77
}

command -v fio >/dev/null || cannot "no fio (Debian: fio)"
if [ -z "$engine" ]; then
  [ -e build/CMakeCache.txt ] || cannot "the folder build is not configured (cmake --preset release)"
  scripts/fio-engine >"$out/fio-engine.log" 2>&1 || cannot "$(tail -n 1 "$out/fio-engine.log")"
  cmake --build build --target xio_fio >>"$out/fio-engine.log" 2>&1 || {
    tail -n 20 "$out/fio-engine.log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
  }
  engine=build/bench/libxio_fio.so
fi

passed=0
failed=0
skipped=0
# job NAME CONTROLLER OPTION...
job() {
  local name=$1 controller=$2
  if [ "$controller" = qemu ] && ! "${XIO_QEMU:-qemu-system-x86_64}" --version >/dev/null 2>&1; then
    skipped=$((skipped + 1))
    return
  fi
  if timeout "${XIO_JOB_SECONDS:-60}" fio "--name=$name" "--ioengine=external:$(readlink -f -- "$engine")" "--controller=$controller" --executor=gpu \
    --thread=1 --bs=4k --size=16m --eta=never --output-format=json "--output=$out/fio-$name.json" "${@:3}" >"$out/fio-$name.log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: fio: %s\n' "$name"
    tail -n 3 "$out/fio-$name.log" "$out/fio-$name.json"
  fi
}
batches=(--iodepth_batch_submit=16 --iodepth_batch_complete_min=1 --iodepth_batch_complete_max=64)
for controller in emulated qemu; do
  job "$controller-verify" $controller --rw=randwrite --verify=crc32c --iodepth=64 "${batches[@]}"
  job "$controller-one" $controller --rw=randwrite --verify=crc32c --iodepth=1 --size=1m
  job "$controller-split" $controller --rw=write --verify=crc32c --bs=1m --iodepth=8
done
job read emulated --rw=randread --iodepth=64 --size=64m "${batches[@]}"
job threads emulated --rw=randread --iodepth=32 --size=1m --numjobs=4
printf '%s passed, %s failed, %s skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
