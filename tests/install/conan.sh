#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# conan.sh SOURCES WORKDIR: `conan create` makes the package and builds the program that finds it. Conan comes from PyPI.
set -euo pipefail

sources=$1 work=$2
skip() {
  echo "skipped: $*"
  exit 77
}
rm -rf "$work"
mkdir -p "$work/sources"
# Conan writes beside the program that it tries.
tar -C "$sources" -cf - CMakeLists.txt LICENSE README.md cmake examples include packaging | tar -C "$work/sources" -xf -
python3 -m venv "$work/venv" >"$work/log" 2>&1 || skip "no venv (Debian: python3-venv)"
"$work/venv/bin/pip" --quiet install 'conan>=2,<3' >>"$work/log" 2>&1 || skip "no Conan: pip got none"
export CONAN_HOME=$work/home PATH=$work/venv/bin:$PATH
conan profile detect >>"$work/log" 2>&1
if ! conan create "$work/sources/packaging/conan" --no-remote --build missing -s compiler.cppstd=17 \
  -c tools.cmake.cmaketoolchain:generator=Ninja >>"$work/log" 2>&1; then
  cat "$work/log"
  echo "FAILED: conan create"
  exit 1
fi
grep "^xio .* from Conan" "$work/log"
