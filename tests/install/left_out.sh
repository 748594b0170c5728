#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# left_out.sh SOURCES WORKDIR CXX: without what is nice to have a build is configured all the same, with what can be built, and
# says what is left out.
set -euo pipefail

sources=$1 work=$2 cxx=$3
rm -rf "$work"
mkdir -p "$work"

# configured NAME OPTION...: in $work/NAME; its list is $work/NAME.list
configured() {
  local name=$1
  shift
  if ! cmake -G Ninja -S "$sources" -B "$work/$name" -DCMAKE_CXX_COMPILER="$cxx" "$@" >"$work/$name.log" 2>&1; then
    cat "$work/$name.log"
    echo "FAILED: $name: not configured"
    exit 1
  fi
  sed -n '/^-- Left out/,/^--/{/^  /p}' "$work/$name.log" >"$work/$name.list"
}
says() {
  if ! grep -qF -- "$2" "$work/$1.list"; then
    cat "$work/$1.log"
    echo "FAILED: $1: the list does not say: $2"
    exit 1
  fi
}
# builds NAME TARGET WANTED: whether there is a target
builds() {
  local found=no
  # grep reads to the end: ninja must not fail because nobody listens any more.
  if ninja -C "$work/$1" -t targets all | grep "^$2:" >/dev/null; then found=yes; fi
  if [ $found != "$3" ]; then
    echo "FAILED: $1: target $2: $found, and not $3"
    exit 1
  fi
}

configured bare -DXIO_BUILD_DOCS=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DCMAKE_DISABLE_FIND_PACKAGE_Doxygen=ON -DXIO_HIP_CLANG=no-such-clang \
  -DXIO_NVCC= -DXIO_VERBS_HEADER= -DXIO_MLX5DV_HEADER=
says bare "xio-tester and xio-vendors: no CLI11 (Debian: libcli11-dev), no JSON for Modern C++ (Debian: nlohmann-json3-dev)"
says bare "all tests: no Catch2 (Debian: catch2)"
says bare "reference of the headers: no doxygen (Debian: doxygen)"
says bare "no-such-clang is not installed (Debian: clang-19)"
says bare "(Debian: libibverbs-dev)"
builds bare example-first_read yes
builds bare example-adopt_queue_pair no
builds bare xio-tester no
builds bare docs no
[ "$(wc -l <"$work/bare.list")" -le 8 ] || { echo "FAILED: the list is long"; exit 1; }

# Each alone leaves out no more than itself.
configured no_options -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
says no_options "xio-tester and xio-vendors: no CLI11 (Debian: libcli11-dev)"
says no_options "tests that execute GPU code: no CLI11"
builds no_options unit-protocol yes
builds no_options example-first_read yes
builds no_options machine-run no
builds no_options xio-vendors no
configured no_tests -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON
builds no_tests xio-tester yes
builds no_tests unit-protocol no
if grep -q CLI11 "$work/no_tests.list"; then echo "FAILED: what is there is said to be missing" && exit 1; fi
echo "left out: ok"
