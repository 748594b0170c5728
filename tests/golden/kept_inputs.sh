#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kept_inputs.sh XIO-GOLDEN FOLDER: what a fuzzer once found is read, or refused with a line that says why, at once
set -uo pipefail
golden=$1
wrong=0
inputs=("$2"/*)
for input in "${inputs[@]}"; do
  said=$(timeout 20 "$golden" "$input" 2>&1)
  status=$?
  if [ $status -gt 2 ] || [ -z "$said" ]; then
    printf 'FAILED: exit status %s: %s %s\n%s\n' $status "$golden" "$input" "$said"
    wrong=1
  fi
done
printf '%s inputs\n' ${#inputs[@]}
[ ${#inputs[@]} -gt 10 ] && exit $wrong
