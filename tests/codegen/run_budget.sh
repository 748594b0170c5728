#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_budget.sh OUTPUT N COUNT-ARGUMENT(1) ... COUNT-ARGUMENT(N) COMPILER...: runs the compiler, which writes OUTPUT, and
# counts in it with the given arguments of isa_count.py. OUTPUT is kept for reading.
set -euo pipefail

output=$1 length=$2
shift 2
arguments=("${@:1:length}")
shift "$length"
mkdir -p "$(dirname -- "$output")"
rm -f "$output"
"$@"
case $output in *.sm_*) ;; *) "$(dirname -- "${BASH_SOURCE[0]}")/spills.py" "$output" ;; esac
exec "$(dirname -- "${BASH_SOURCE[0]}")/isa_count.py" "$output" "${arguments[@]}"
