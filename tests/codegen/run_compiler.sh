#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_compiler.sh OUTPUT COMPILER...: runs the compiler, which writes OUTPUT.
set -euo pipefail

output=$1
shift
mkdir -p "$(dirname -- "$output")"
rm -f "$output"
exec "$@"
