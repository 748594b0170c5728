#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# compile_fail.sh SOURCE REGEX COMPILER...: SOURCE must not compile, and the compiler must say something that matches
# REGEX. With XIO_CORRECTED defined it must compile: so the mistake under test, and nothing else, is what is refused.
set -uo pipefail

source=$1 expected=$2
shift 2
if ! grep -q XIO_CORRECTED "$source"; then
  echo "$source: write the corrected form too, under #ifdef XIO_CORRECTED"
  exit 1
fi
if ! "$@" -DXIO_CORRECTED -fsyntax-only "$source"; then
  echo "the corrected form does not compile"
  exit 1
fi
if message=$("$@" -fsyntax-only "$source" 2>&1); then
  echo "compiles, but should not"
  exit 1
fi
if ! grep -Eq -- "$expected" <<<"$message"; then
  printf 'refused, but nothing matches "%s":\n%s\n' "$expected" "$message"
  exit 1
fi
grep -Em1 -- "$expected" <<<"$message"
