#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# one_shot.sh PROGRAM CLANG TARGET COUNTS ASSEMBLY KERNEL... [-- ASSEMBLY KERNEL...]: makes code objects of assembly and executes kernels
# of them; see run/one_shot.cpp.
set -euo pipefail
program=$1
clang=$2
target=$3
counts=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

arguments=()
object=
for word in "$@"; do
  if [ "$word" = -- ]; then
    object=
  elif [ -z "$object" ]; then
    object=$work/$(basename -- "$word" .s).co
    "$clang" -x assembler --target=amdgcn-amd-amdhsa "-mcpu=$target" "$word" -o "$object"
  else
    arguments+=("$word=$object")
  fi
done
"$program" "$counts" "${arguments[@]}"
