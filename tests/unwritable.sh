# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by tests of programs that print. Needs $work, pass() and fail().

# judge_unwritable STATUS WORDS TITLE: exit status 1, and one line on standard error, with WORDS. There may be standard
# output, as far as it was written before.
judge_unwritable() {
  if [ "$1" -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$2" "$work/err"; then
    pass
  else
    fail "$3: exit status $1 (not 1), or not one line with '$2'"
    cat "$work/err"
  fi
}

# cannot_print PROGRAM ARGUMENT...: a program that succeeds where its standard output goes somewhere fails where that is
# full or closed.
cannot_print() {
  local status=0
  timeout 120 "$@" </dev/null >"$work/out" 2>"$work/err" || status=$?
  if [ $status -ne 0 ] || [ ! -s "$work/out" ]; then
    fail "prints nothing, or exit status $status: $*"
    cat "$work/err"
    return
  fi
  status=0
  timeout 120 "$@" </dev/null >/dev/full 2>"$work/err" || status=$?
  judge_unwritable $status "No space left on device" "$* >/dev/full"
  status=0
  timeout 120 "$@" </dev/null >&- 2>"$work/err" || status=$?
  judge_unwritable $status "standard output" "$* >&-"
  # Nobody can be told why.
  status=0
  timeout 120 "$@" <&- >&- 2>&- || status=$?
  if [ $status -eq 1 ]; then pass; else fail "$* with all three closed: exit status $status"; fi
}
