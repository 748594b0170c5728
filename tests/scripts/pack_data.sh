#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pack_data.sh SOURCES: an archive of test data is refused if its hash differs, and packing depends on names and contents only.
set -uo pipefail
if ! command -v xz >/dev/null; then
  echo "skipped: no xz (Debian: xz-utils)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0
fail() {
  printf 'FAILED: %s\n' "$1"
  [ ! -s "$work/log" ] || tail -n 5 "$work/log"
  wrong=1
}
unpack() { cmake -P "$work/tests/unpack.cmake" "$@" >"$work/log" 2>&1; }
pack() { "$work/scripts/pack-data" "$@" >"$work/log" 2>&1; }
# refused WORDS TITLE: the golden archive is not unpacked
refused() {
  if unpack "$golden" "$work/refused"; then fail "$2: unpacked"; fi
  tr -s ' \n' ' ' <"$work/log" | grep -qF -- "$1" || fail "$2: no word of it"
  [ ! -e "$work/refused" ] || fail "$2: left something behind"
}

mkdir -p "$work/scripts" "$work/tests/golden" "$work/tests/fuzz"
cp "$1/scripts/pack-data" "$1/scripts/common.sh" "$work/scripts/"
cp "$1/tests/unpack.cmake" "$work/tests/"
cp "$1"/tests/golden/data.tar.xz* "$work/tests/golden/"
cp "$1"/tests/fuzz/corpus.tar.xz* "$work/tests/fuzz/"
golden=$work/tests/golden/data.tar.xz corpus=$work/tests/fuzz/corpus.tar.xz

# One byte, at the end of the archive, where xz alone may not see it.
cp "$golden" "$work/good"
printf x >>"$golden"
refused "is not the archive that it was packed as" "a damaged archive"
pack golden && fail "a damaged archive: packed again"
cp "$work/good" "$golden"
mv "$golden.sha256" "$work/hash"
refused "is missing" "no hash"
sed 's/^./&0/' "$work/hash" >"$golden.sha256"
refused "is not the archive" "another hash"
cp "$work/hash" "$golden.sha256"

unpack "$golden" "$work/data" || fail "cannot unpack the golden files"
[ "$(find "$work/data" -name '*.json' | wc -l)" -ge 9 ] || fail "fewer golden files than there were"
echo changed >>"$work/data/nvme.json"
unpack "$golden" "$work/data"
grep -q changed "$work/data/nvme.json" || fail "unpacked although it was"

unpack "$corpus" "$work/inputs" || fail "cannot unpack the inputs"
for program in "$1"/tests/fuzz/*.cpp; do
  name=$(basename "$program" .cpp)
  grep -q "xio_add_fuzzer($name\b" "$1/tests/fuzz/fuzz.cmake" || continue
  [ -n "$(ls "$work/inputs/$name" 2>/dev/null)" ] || fail "no input for $name"
done

# By another user, at another time, with other rights.
pack corpus/specs || fail "cannot pack"
cp "$corpus" "$work/first"
unpack "$corpus" "$work/again" || fail "cannot unpack what was packed"
(umask 077 && sleep 1 && LC_ALL=C.UTF-8 pack corpus/specs "$work"/again/specs/*) || fail "cannot pack the same files"
cmp "$work/first" "$corpus" || fail "the same content, another archive"

echo found >"$work/found-it"
pack corpus/specs "$work/found-it" || fail "cannot add an input"
cmp -s "$work/first" "$corpus" && fail "an input was added, and the archive is the same"
unpack "$corpus" "$work/inputs" || fail "cannot unpack an archive with a new input"
cmp "$work/found-it" "$work/inputs/specs/found-it" || fail "the input is not in the archive"
pack --remove corpus/specs found-it || fail "cannot take the input out"
cmp "$work/first" "$corpus" || fail "added and taken out, another archive"
pack corpus && fail "inputs of no fuzzer"
exit $wrong
