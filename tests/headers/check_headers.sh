#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_headers.sh LIST [--given HEADER] COMPILER...: compiles each source named in the file LIST; says which ones fail.
# --given: with this header included before, which is compiled once.
set -uo pipefail

list=$1
shift
if [ "$1" = --given ]; then
  given=$2
  shift 2
  "$@" -x c++-header "$given" -o "$given.gch" || exit 1
  set -- "$@" -fsyntax-only -include "$given"
fi
check_one() {
  local source=$1
  shift
  if ! message=$("$@" "$source" 2>&1); then
    printf 'FAILED: %s\n%s\n' "$(head -n 1 "$source")" "$message"
    return 1
  fi
}
export -f check_one
xargs -a "$list" -P 2 -I{} bash -c 'check_one "$@"' _ {} "$@"
status=$?
printf '%d headers\n' "$(wc -l <"$list")"
exit "$((status != 0))"
