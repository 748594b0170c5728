#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_filecheck.sh FILECHECK SOURCE PREFIXES OUTPUT NEVER COMPILER...: runs the compiler, which writes OUTPUT, and compares
# OUTPUT with the comments in SOURCE; NEVER may match nowhere in it. OUTPUT is kept for reading.
set -euo pipefail

filecheck=$1 source=$2 prefixes=$3 output=$4 never=$5
shift 5
mkdir -p "$(dirname -- "$output")"
rm -f "$output"
"$@"
case $output in *.sm_*) ;; *) "$(dirname -- "${BASH_SOURCE[0]}")/spills.py" "$output" ;; esac
exec "$filecheck" "$source" --input-file="$output" --check-prefixes="$prefixes" --allow-unused-prefixes \
  --implicit-check-not="$never" --dump-input-context=8
