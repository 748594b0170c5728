#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# callgrind_budget.sh PROGRAM FUNCTION LIMIT [ARGUMENT...]: counts the instructions of one call of FUNCTION in PROGRAM
# (callgrind.cpp, callgrind_rdma.cpp), on the average of many, with all that it calls. Exit status 1 above LIMIT, 77 without
# valgrind.
set -euo pipefail

program=$1 function=$2 limit=$3
shift 3
calls=2048
if ! command -v valgrind >/dev/null; then
  echo "skipped: valgrind is not installed"
  exit 77
fi
report=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="*$function*" \
  "$program" "$function" "$calls" "$@" 2>&1) || { printf '%s\n' "$report"; exit 1; }
collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$report")
[ -n "$collected" ] && [ "$collected" -gt 0 ] || { printf '%s\nnothing collected\n' "$report"; exit 1; }
awk -v sum="$collected" -v calls="$calls" -v limit="$limit" -v name="$function${*:+ $*}" 'BEGIN {
  each = sum / calls
  printf "%s: %.1f instructions, at most %d\n", name, each, limit
  exit each > limit
}'
