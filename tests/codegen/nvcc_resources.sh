#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nvcc_resources.sh OUTPUT COMPILER...: compiles to a cubin; fails where a kernel needs a stack or spills registers.
set -euo pipefail

output=$1
shift
mkdir -p "$(dirname -- "$output")"
"$@" -cubin -Xptxas -v -o "$output" 2>"$output.txt" || { cat "$output.txt"; exit 1; }
grep -E "Function properties|stack frame|Used" "$output.txt"
if ! grep -q "stack frame" "$output.txt"; then
  echo "ptxas said nothing of a kernel"
  exit 1
fi
if grep -E "stack frame" "$output.txt" | grep -vq " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"; then
  echo "a kernel needs a stack"
  exit 1
fi
