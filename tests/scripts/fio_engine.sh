#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fio_engine.sh SOURCES: scripts/fio-engine takes headers that are of the installed fio, and refuses all others with the reason.
set -uo pipefail
script=$1/scripts/fio-engine
headers=$("$script") || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XIO_CACHE=$work/cache
failed=0

# A source that was configured and built, as far as its headers go.
mkdir "$work/good"
cp -r "$headers/." "$work/good"
printf 'FIO_VERSION = %s\n' "$(fio --version)" >"$work/good/FIO-VERSION-FILE"
# other NAME FILE SED: a copy of it in which a file is changed
other() {
  cp -r "$work/good" "$work/$1"
  sed -i "$3" "$work/$1/$2"
  if cmp -s "$work/good/$2" "$work/$1/$2"; then echo "FAILED: $2 is not changed for $1" && failed=1; fi
}
other ioops ioengines.h 's/\(define FIO_IOOPS_VERSION\).*/\1 1/'
other options thread_options.h 's/^struct thread_options {/& long more;/'
other version FIO-VERSION-FILE 's/= .*/= fio-1.0/'
cp -r "$work/good" "$work/bare" && rm "$work/bare/config-host.h"

# refuses REASON ARGUMENT...
refuses() {
  local reason=$1 status=0
  shift
  "$script" "$@" >"$work/out" 2>&1 || status=$?
  if [ $status -eq 77 ] && grep -q "no headers of fio: .*$reason" "$work/out" && [ ! -e "$XIO_CACHE/fio" ]; then return; fi
  echo "FAILED: $*: status $status, not refused with '$reason':"
  cat "$work/out"
  failed=1
}
refuses "bad ioops version 1 " "$work/ioops"
refuses "struct thread_options" "$work/options"
refuses "source of fio-1.0" "$work/version"
refuses "please run ./configure" "$work/bare"
refuses "not a folder of fio's source" "$work"
XIO_FIO=no-such-fio refuses "no-such-fio is not installed"
cp "$(type -P true)" "$work/my-fio"
XIO_FIO=$work/my-fio refuses "please name the folder"

if [ "$("$script" "$work/good")" != "$XIO_CACHE/fio" ] || [ ! -e "$XIO_CACHE/fio/fio.h" ]; then
  echo "FAILED: good headers are refused" && failed=1
fi
# Kept, until the fio or the source is another one.
rm "$work/good/fio.h"
if [ "$("$script" "$work/good")" != "$XIO_CACHE/fio" ]; then echo "FAILED: nothing is kept" && failed=1; fi
if [ -n "$(find "$XIO_CACHE" -mindepth 1 -maxdepth 1 -not -name fio)" ]; then echo "FAILED: left behind: $(ls "$XIO_CACHE")" && failed=1; fi
exit $failed
