#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# embedding.sh SOURCES WORKDIR CXX: two libraries of one project bring xio along, one by FetchContent and one as a subfolder.
set -euo pipefail

sources=$1 work=$2 cxx=$3
project=$(dirname -- "${BASH_SOURCE[0]}")/embedding
rm -rf "$work"
mkdir -p "$work/copy"
fail() {
  cat "$work/log"
  echo "FAILED: $*"
  exit 1
}
tar -C "$sources" -cf - CMakeLists.txt cmake include examples LICENSE README.md | tar -C "$work/copy" -xf -
tar -C "$work" -czf "$work/xio.tar.gz" copy

configure() {
  cmake -G Ninja -S "$project" -B "$work/build" -DCMAKE_CXX_COMPILER="$cxx" -DXIO_ARCHIVE="$work/xio.tar.gz" \
    -DXIO_COPY="$work/copy" >"$work/log" 2>&1
}
configure || fail "not configured"
if grep -q "gives way" "$work/log"; then fail "a warning about one version"; fi
cmake --build "$work/build" >>"$work/log" 2>&1 || fail "not built"
"$work/build/both" || fail "the program"
cmake --install "$work/build" --prefix "$work/installed" >>"$work/log" 2>&1 || fail "not installed"
[ "$(cd "$work/installed" && find . -type f)" = ./bin/both ] || fail "installed: $(find "$work/installed" -type f)"

# The first one wins, and says so where the other one is of another version.
sed -i 's/^#define XIO_VERSION_MINOR .*/#define XIO_VERSION_MINOR 999/' "$work/copy/include/xio/version.hpp"
rm -r "$work/build"
configure || fail "two versions: not configured"
tr -s ' \n' ' ' <"$work/log" | grep -q "xio 0.999.* gives way to xio" || fail "two versions: no warning"
echo "embedding: ok"
