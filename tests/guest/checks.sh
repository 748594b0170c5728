# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tests in a guest count and print with; to be sourced. What a command printed last is in $work/out.

work=$(mktemp -d -p /run)
passed=0
failed=0
pass() {
  passed=$((passed + 1))
  printf 'ok      %s\n' "$*"
}
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
  tail -n 20 "$work/out"
}
# check TITLE COMMAND...: it succeeds
check() {
  local title=$1
  shift
  if "$@" >"$work/out" 2>&1; then pass "$title"; else fail "$title"; fi
}
# says TITLE WORDS COMMAND...: it succeeds, and these words are in what it says
says() {
  local title=$1 words=$2
  shift 2
  if "$@" >"$work/out" 2>&1 && grep -qF -- "$words" "$work/out"; then pass "$title"; else fail "$title"; fi
}
# refused TITLE WORDS COMMAND...: it does not, and says one line with these words
refused() {
  local title=$1 words=$2
  shift 2
  if "$@" >"$work/out" 2>&1 || [ "$(wc -l <"$work/out")" -ne 1 ] || ! grep -qF -- "$words" "$work/out"; then
    fail "$title"
  else
    pass "$title"
  fi
}
# summary NAME: how many passed; fails unless all did
summary() {
  printf '%s: %d of %d, %d s\n' "$1" "$passed" "$((passed + failed))" "$SECONDS"
  [ "$failed" -eq 0 ]
}

# typed PAGE SCRIPT: types the commands of a page's first block, in which SCRIPT (of sed) puts the names of this guest's drives
typed() {
  local command
  mkdir -p "$work/clone/build/bench"
  ln -sfn "$root"/{scripts,docs,tests} "$work/clone/"
  ln -sf "$tester" "$work/clone/build/bench/xio-tester"
  while IFS= read -r command; do
    check "$1: ${command%%  *}" bash -c "sudo() { \"\$@\"; }; cd '$work/clone' && $command"
  done < <(sed -n '/^```sh/,/^```$/{/^```/{/^```$/q;d};p}' "$root/$1" | sed "$2")
}
