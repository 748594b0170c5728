#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_compiler.sh OUTPUT COMPILER...: runs the compiler, which writes OUTPUT, and searches that for misplaced saves.
set -euo pipefail

output=$1
shift
mkdir -p "$(dirname -- "$output")"
rm -f "$output"
"$@"
case $output in *.sm_*) ;; *) exec "$(dirname -- "${BASH_SOURCE[0]}")/spills.py" "$output" ;; esac
