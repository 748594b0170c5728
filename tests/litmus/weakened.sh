#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# weakened.sh INCLUDE SOURCE COMPILER...: ordering.cpp under ThreadSanitizer, first as it is, then with one memory order of
# the host back end after the other taken away in a copy of the headers. The first run must be clean, the others must not.
# Exit status 77 where the compiler has no ThreadSanitizer.
set -euo pipefail

include=$1 source=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TSAN_OPTIONS=halt_on_error=1:exitcode=66

if ! echo 'int main() {}' | "$@" -fsanitize=thread -x c++ - -o "$work/empty" 2>/dev/null || ! "$work/empty"; then
  echo "skipped: no ThreadSanitizer for $1"
  exit 77
fi

build() { "$@" -std=c++17 -O1 -g -fsanitize=thread -I"$work/include" "$source" -o "$work/ordering" -lpthread; }

cp -r "$include" "$work/include"
build "$@"
"$work/ordering" >"$work/log" 2>&1 || { cat "$work/log"; echo "not clean as it is"; exit 1; }
echo "as it is: clean"

# weaken NAME FUNCTION OLD NEW LITMUS: in arch/host/memory.hpp, within FUNCTION, OLD becomes NEW; then LITMUS must fail.
host=$work/include/xio/device/arch/host/memory.hpp
failures=0
weaken() {
  local name=$1 function=$2 old=$3 new=$4 litmus=$5
  shift 5
  cp "$include/xio/device/arch/host/memory.hpp" "$host"
  sed -i "/ $function(/,/^}/s/$old/$new/" "$host"
  if cmp -s "$include/xio/device/arch/host/memory.hpp" "$host"; then
    echo "$name: nothing to weaken; this script is out of date"
    failures=1
    return
  fi
  build "$@"
  if "$work/ordering" "$litmus" >"$work/log" 2>&1; then
    echo "$name: NOT DETECTED by $litmus"
    failures=1
  else
    echo "$name: detected by $litmus ($(grep -m 1 -oE 'data race|out of order: .*' "$work/log" || echo failed))"
  fi
}

weaken "doorbell store relaxed" store_mmio ATOMIC_RELEASE ATOMIC_RELAXED entry_before_doorbell "$@"
weaken "record store relaxed" store_mmio ATOMIC_RELEASE ATOMIC_RELAXED entry_before_record_before_doorbell "$@"
weaken "load relaxed" load ATOMIC_ACQUIRE ATOMIC_RELAXED data_before_completion "$@"
weaken "publish relaxed" publish ATOMIC_RELEASE ATOMIC_RELAXED entries_before_turns_before_doorbell "$@"
weaken "observe relaxed" observe ATOMIC_ACQUIRE ATOMIC_RELAXED entries_before_turns_before_doorbell "$@"
weaken "count relaxed" publish_add ATOMIC_RELEASE ATOMIC_RELAXED work_before_notification "$@"
exit "$failures"
