#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_filecheck.sh FILECHECK SOURCE PREFIXES OUTPUT COMPILER...: runs the compiler, which writes OUTPUT, and compares
# OUTPUT with the comments in SOURCE. OUTPUT is kept for reading.
set -euo pipefail

filecheck=$1 source=$2 prefixes=$3 output=$4
shift 4
mkdir -p "$(dirname -- "$output")"
rm -f "$output"
"$@"
exec "$filecheck" "$source" --input-file="$output" --check-prefixes="$prefixes" --allow-unused-prefixes \
  --dump-input-context=8
