# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced with the arguments XIO-TESTER COMMAND by tests that run one of its sub-commands on controllers in its process.
command_name=$2
set -- "$1" emulated
# shellcheck source=tests/qemu/tester_common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../qemu/tester_common.sh"
report=$work/report.json

# expect STATUS TITLE WORDS EXPRESSION... -- ARGUMENT...: the exit status, words of the tables, and what holds for the JSON
expect() {
  local wanted=$1 title=$2 words=$3 expressions=() status=0
  shift 3
  while [ "$1" != -- ]; do
    expressions+=("$1")
    shift
  done
  shift
  timeout 120 "$tester" "$command_name" --executor host "$@" --json "$report" >"$work/out" 2>&1 || status=$?
  if [ $status -eq "$wanted" ] && grep -qF -- "$words" "$work/out" &&
    check_json "$report" "j['command'] == '$command_name'" "j['exit_status'] == $wanted" "${expressions[@]}" >>"$work/out"; then
    pass
  else
    fail "$title: exit status $status"
    cat "$work/out"
  fi
}
# refuse STATUS WORDS ARGUMENT...
refuse() {
  local wanted=$1 words=$2 status=0
  shift 2
  timeout 60 "$tester" "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ $status -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err"; then
    pass
  else
    fail "exit status $status (not $wanted) or not one line with '$words': $*"
    cat "$work/err"
  fi
}

completed="[p['completed'] for p in j['phases']]"
operations="[p['operation'] for p in j['phases']]"
