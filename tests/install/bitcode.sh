#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bitcode.sh BUILD WORKDIR CXX CLANG: a user's project makes bitcode with the installed package, links a kernel with it,
# and is told what it asks for in vain.
set -euo pipefail

build=$1 work=$2 cxx=$3 clang=$4
project=$(dirname -- "${BASH_SOURCE[0]}")/bitcode
rm -rf "$work"
mkdir -p "$work"
fail() {
  cat "$work/log"
  echo "FAILED: $*"
  exit 1
}
configure() {
  cmake -G Ninja -S "$1" -B "$2" -DCMAKE_CXX_COMPILER="$cxx" -DXIO_BITCODE_CLANG="$clang" -DCMAKE_PREFIX_PATH="$work/moved" \
    >"$work/log" 2>&1
}

cmake --install "$build" --prefix "$work/prefix" --component dev >"$work/log"
# Moved after the installation: the package must not remember where it was.
mv "$work/prefix" "$work/moved"

configure "$project" "$work/build" || fail "configure"
cmake --build "$work/build" >"$work/log" 2>&1 || fail "build"
grep -q "^.visible .entry read_blocks(" "$work/build/kernel.ptx" || fail "no kernel in the PTX"
grep -q "xio_device_abi_[0-9]" "$work/build/kernel.ptx" || fail "the PTX does not tell its ABI"
if grep -qE "brx.idx|\.extern|call.*xio_nvme_" "$work/build/kernel.ptx"; then fail "the PTX asks for something else"; fi
# What the bitcode is made of is known: nothing is made twice, and all of it anew after a change.
cmake --build "$work/build" >"$work/log" 2>&1
grep -q "no work to do" "$work/log" || fail "built twice"
touch "$work/moved/include/xio/device/nvme/queue.hpp"
cmake --build "$work/build" -- -n >"$work/log" 2>&1
grep -q "Bitcode: libxio_device-sm_80" "$work/log" || fail "not built after a change of a header"

refuses() {
  local message=$1
  mkdir -p "$work/wrong"
  sed "s/^xio_add_bitcode.*/$2/" "$project/CMakeLists.txt" >"$work/wrong/CMakeLists.txt"
  # CMake wraps lines.
  if configure "$work/wrong" "$work/wrong/build" || ! tr -s '\n ' ' ' <"$work/log" | grep -q "$message"; then fail "expected: $message"; fi
  echo "ok: $message"
}
printf '#!/bin/sh\necho 14.0.6\n' >"$work/clang"
chmod +x "$work/clang"
own=$clang
clang=$work/clang
refuses "is clang 14.0.6; 19 or later is needed" "xio_add_bitcode(xio-bitcode TARGETS sm_80)"
clang=$own
rm -r "$work/wrong"
refuses 'unknown target "h100"' "xio_add_bitcode(xio-bitcode TARGETS h100)"
refuses "say TARGETS and at least one GPU" "xio_add_bitcode(xio-bitcode sm_80)"
