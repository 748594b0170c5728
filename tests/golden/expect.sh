# SPDX-License-Identifier: MIT
# Sourced by tests of the replayer: `golden` is the program, `file` the golden file.

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect STATUS PATTERN ARGUMENT...: the exit status, and a line of the output.
expect() {
  local status=$1 pattern=$2 output actual
  shift 2
  output=$("$golden" "$@" 2>&1)
  actual=$?
  if [ "$actual" -ne "$status" ] || ! grep -q -- "$pattern" <<<"$output"; then
    printf 'xio-golden %s: exit status %d, expected %d and "%s"\n%s\n' "$*" "$actual" "$status" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

# spoil NAME EXPRESSION: a copy of the file with one thing changed; the change must have found its place.
spoil() {
  sed "$2" "$file" >"$scratch/$1.json"
  if cmp -s "$file" "$scratch/$1.json"; then
    printf 'the change "%s" found nothing to change\n' "$2"
    failures=$((failures + 1))
  fi
}
