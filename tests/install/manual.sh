#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manual.sh PAGES VERSION XIO-TESTER XIO-VENDORS XIO-BIND: each program and each sub-command has a page with all of its options.
set -euo pipefail

pages=$1 version=$2
shift 2
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
count=0
# page PROGRAM [COMMAND]
page() {
  local name=${1##*/}${2:+-$2} option
  local file=$pages/$name.1
  count=$((count + 1))
  if [ ! -e "$file" ]; then
    fail "no page $name"
    return
  fi
  grep '^\.TH' "$file" | tr -d '\\"' | grep -qi "^.TH $name 1 .*$version" || fail "$name: $(grep '^\.TH' "$file")"
  grep -A 1 '^\.SH NAME' "$file" | grep -E '\\- [A-Za-z].{20}' | grep -qv 'manual page for' || fail "$name: no line for whatis: $(grep -A 1 'SH NAME' "$file")"
  grep -q '^\.SH SYNOPSIS' "$file" || fail "$name: no synopsis"
  grep -qi 'exit status' "$file" || fail "$name: no exit status"
  if [[ $name == xio-tester* ]]; then
    tr -d '\\' <"$file" >"$file.plain"
    for words in XIO_QEMU ".B77" ".B130"; do
      grep -qE -- "${words/.B/fB}" "$file.plain" || fail "$name: nothing of ${words#.B}"
    done
    if "$1" ${2:+"$2"} --help | grep -q -e --controller; then
      for key in image transport mqes mounted interface; do
        grep -qE "Keys:.*\b$key\b" "$file.plain" || fail "$name: no key $key of a controller"
      done
    fi
    rm "$file.plain"
  fi
  while read -r option; do
    grep -qF -- "${option//-/\\-}" "$file" || fail "$name does not have $option"
  done < <("$1" ${2:+"$2"} --help | sed -n 's/^ *\(-[^ ]*\).*/\1/p' | tr , '\n')
  if command -v groff >/dev/null; then
    [ -z "$(groff -man -ww -Tutf8 "$file" 2>&1 >/dev/null)" ] || fail "$name: $(groff -man -ww -Tutf8 "$file" 2>&1 >/dev/null | head -n 3)"
  fi
}
for program in "$@"; do
  page "$program"
  while read -r command; do page "$program" "$command"; done < <("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
done
[ $count -ge 11 ] || fail "only $count pages"
[ $failed -eq 0 ] || exit 1
echo "manual: ok: $count pages"
