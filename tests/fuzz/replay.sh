#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# replay.sh TREE NAME: compiles the fuzzer NAME of a copy of the project, and replays the inputs that are kept for it.
set -euo pipefail
tree=$1 name=$2
clang=clang++-${XIO_LLVM_VERSION:-19}
program=$tree/fuzzer
flags=(-std=c++17 -O1 -gline-tables-only -pthread -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
  -I"$tree/include" -I"$tree/tests")
if ! command -v "$clang" >/dev/null || ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' |
  "$clang" "${flags[@]}" -x c++ - -o "$program" 2>/dev/null; then
  printf 'skipped: no %s with libFuzzer\n' "$clang"
  exit 77
fi
cmake -P "$tree/tests/unpack.cmake" "$tree/tests/fuzz/corpus.tar.xz" "$tree/corpus"
"$clang" "${flags[@]}" "$tree/tests/fuzz/$name.cpp" -o "$program"
status=0
output=$("$program" -artifact_prefix="$tree/" "$tree/corpus/$name"/* 2>&1) || status=$?
grep -a '^SUMMARY' <<<"$output" || true
grep -a '^does not hold' <<<"$output" || true
exit $((status != 0))
