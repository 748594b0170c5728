#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host.sh CXX INCLUDE LIBRARY PLAYED KERNELS NM: a program in C with libxio_host.so, on a played GPU; the library offers what
# its header declares, and nothing else.
set -euo pipefail

cxx=$1 include=$2 library=$3 played=$4 kernels=$5 nm=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(dirname -- "${BASH_SOURCE[0]}")

"$cxx" -x c -E -P "$include/xio/host/c/xio_host.h" | grep -oE '\bxio_[a-z_]+\(' | tr -d '(' | sort -u >"$work/declared"
"$nm" -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | sort -u >"$work/defined"
diff "$work/declared" "$work/defined"
echo "ok: $(wc -l <"$work/defined") calls"

"$cxx" -x c -std=c11 -O0 -I"$include" "$here/host.c" -x none "$library" -Wl,-rpath,"$(dirname -- "$library")" -o "$work/host"
LD_LIBRARY_PATH=$played XIO_PLAYED_GPU=gfx942 "$work/host" "$kernels"
