#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_fuzzer.sh PROGRAM CORPUS FOUND SECONDS [OPTION...]: replays the inputs in the folder CORPUS, then lets the fuzzer look for
# new ones for so many seconds. OPTION: of libFuzzer.
#
# What it learns goes to FOUND/<program>/inputs, and from there into its next run; an input that fails goes to
# FOUND/<program>, and the last lines of the output name it. To see it again: PROGRAM INPUT.
set -uo pipefail
program=$1 corpus=$2 found=$3/${1##*/} seconds=$4
shift 4

# Leaks are looked for at the end of the run and, by libFuzzer, after an input that seems to have left something behind.
common=("-artifact_prefix=$found/" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 "$@")
mkdir -p "$found/inputs"
rm -f "$found"/crash-* "$found"/timeout-* "$found"/oom-* "$found"/leak-* "$found"/slow-unit-*

fail() {
  printf 'FAILED: %s\n' "$1"
  for input in "$found"/crash-* "$found"/timeout-* "$found"/oom-* "$found"/leak-*; do
    [ -e "$input" ] || continue
    printf '  input: %s\n  again: %s %s\n  keep:  cp %s found-NAME && scripts/pack-data corpus/%s found-NAME\n' \
      "$input" "$program" "$input" "$input" "${corpus##*/}"
  done
  exit 1
}

# Only what matters of a run that went well.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
attempt() {
  "$program" "${common[@]}" "$@" >"$log" 2>&1 && return
  tail -n 120 "$log"
  return 1
}

shopt -s nullglob
kept=("$corpus"/*)
shopt -u nullglob
if [ ${#kept[@]} -eq 0 ]; then
  printf 'FAILED: no input is kept in %s\n' "$corpus"
  exit 1
fi
attempt "${kept[@]}" || fail "a kept input: $(grep -a '^Running: ' "$log" | tail -n 1)"
printf '%d kept inputs hold\n' ${#kept[@]}
if [ "$seconds" -gt 0 ]; then
  attempt "-max_total_time=$seconds" "$found/inputs" "$corpus" || fail "a new input"
  grep -aE '^(stat::number_of_executed_units|stat::new_units_added|stat::peak_rss_mb)|^INFO: Seed' "$log"
fi
