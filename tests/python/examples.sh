#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# examples.sh PYTHON PROJECT WHEELS PLAYED KERNELS small|whole: runs examples/python by the package of the wheel, with the code objects of the
# folder KERNELS, on a played GPU, against QEMU's controller and the emulated one.
set -euo pipefail

python=$1 examples=$2/examples/python wheels=$3 played=$4 kernels=$5 how=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -c 'import numpy, pip' || { echo "skipped: no numpy or pip (Debian: python3-numpy, python3-pip)"; exit 77; }
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$work/site" "$wheels"/xio-*.whl
export PYTHONPATH=$work/site LD_LIBRARY_PATH=$played XIO_PLAYED_GPU=gfx942 PYTHONDONTWRITEBYTECODE=1
cd "$work"
for image in disk other; do head -c 8M /dev/urandom >$image.img; done

# run PROGRAM ARGUMENT...
run() { "$python" -X faulthandler -W error "$examples/$@"; }
must_fail() {
  if run "$@" >failed 2>&1; then echo "this was to fail: $*" && exit 1; fi
  grep -q "$word" failed || { cat failed && exit 1; }
}
page_in() { run page_in.py "$kernels/page_in.gfx942.co" --fill "$@"; }
four=(emulated:size=8M emulated:size=8M emulated:size=8M emulated:size=8M)
qemus=(qemu:size=8M qemu:size=8M qemu:size=8M qemu:size=8M)

XIO_SLAB_KERNELS=$kernels/slab.gfx942.co run ../../tests/python/lmcache_slab.py "$examples"
run gather.py --image "$kernels/gather.gfx942.co" qemu:image=disk.img qemu:image=other.img
if [ "$how" = small ]; then
  page_in --pages 640 --layers 8 "${four[@]}"
  page_in --pages 320 --layers 8 --sgl qemu:image=disk.img
  page_in --pages 320 --layers 8 "${qemus[@]}"
else
  for bytes in 8192 16384 65536; do
    for sgl in "" --sgl; do
      page_in --page-bytes $bytes $sgl emulated:size=64M
      page_in --page-bytes $bytes $sgl "${four[@]}"
      page_in --page-bytes $bytes $sgl --pages 400 qemu:image=disk.img
      page_in --page-bytes $bytes $sgl --pages 400 "${qemus[@]}"
    done
  done
fi
# A drive that cannot read, and one that stores nothing.
word='read error' must_fail page_in.py "$kernels/page_in.gfx942.co" --pages 64 --layers 2 emulated:size=8M,fail=read-281
