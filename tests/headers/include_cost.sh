#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# include_cost.sh HEADER LINES COMPILER...: a HIP source may grow by at most LINES lines of preprocessed code when it
# includes HEADER. Time is printed too, but held to nothing: it depends on the machine.
set -euo pipefail

header=$1 limit=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#include <hip/hip_runtime.h>\n' >"$dir/without.hip"
printf '#include <hip/hip_runtime.h>\n#include <%s>\n' "$header" >"$dir/with.hip"

compiler=("$@")
lines() { "${compiler[@]}" -E -P "$1" | grep -c '[^[:space:]]'; }
# Processor time in milliseconds.
milliseconds() {
  local TIMEFORMAT='%U %S'
  { time "${compiler[@]}" -fsyntax-only "$1"; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'
}

added=$(($(lines "$dir/with.hip") - $(lines "$dir/without.hip")))
without=$(milliseconds "$dir/without.hip")
with=$(milliseconds "$dir/with.hip")
printf '%s adds %d lines (at most %d) and %d ms (%d ms without, %d ms with)\n' \
  "$header" "$added" "$limit" $((with - without)) "$without" "$with"
[ "$added" -le "$limit" ]
