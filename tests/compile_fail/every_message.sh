#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# every_message.sh SOURCE WORDS HEADER... -- COMPILER...: SOURCE must not compile, and the compiler must give every
# message of the HEADERs that contains WORDS. With XIO_CORRECTED defined SOURCE must compile.
set -uo pipefail

source=$1 words=$2
shift 2
headers=()
while [[ $1 != -- ]]; do
  headers+=("$1")
  shift
done
shift
if ! "$@" -DXIO_CORRECTED -fsyntax-only "$source"; then
  echo "the corrected form does not compile"
  exit 1
fi
if output=$("$@" -fsyntax-only "$source" 2>&1); then
  echo "compiles, but should not"
  exit 1
fi
count=0 missing=0
while IFS= read -r message; do
  count=$((count + 1))
  if ! grep -qF -- "$message" <<<"$output"; then
    echo "no mistake in $source is answered with: $message"
    missing=$((missing + 1))
  fi
done < <(grep -ho "\"[^\"]*$words[^\"]*\"" "${headers[@]}" | tr -d '"')
echo "$((count - missing)) of $count messages are given"
((count > 0 && missing == 0))
