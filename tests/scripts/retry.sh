#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# retry.sh SOURCES: only tests that are labelled timing get a second try, alone; at most 3 may be labelled so.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$1/scripts/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# again NAME: a test that fails the first time.
cat >"$work/again" <<'TEST'
#!/bin/sh
echo run >>"$0.$1"
[ "$(wc -l <"$0.$1")" -ge 2 ]
TEST
chmod +x "$work/again"
cat >"$work/CMakeLists.txt" <<'LIST'
cmake_minimum_required(VERSION 3.25)
project(retried LANGUAGES NONE)
enable_testing()
list(APPEND CMAKE_MODULE_PATH ${XIO_CMAKE})
function(add name label)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${label}")
endfunction()
add(a.flaky "group;timing" ${PROJECT_SOURCE_DIR}/again flaky)
add(a.flakyX "group;timing" ${PROJECT_SOURCE_DIR}/again other)
add(a.broken "timing" false)
add(a.unlabelled "group;not_timing;timings" ${PROJECT_SOURCE_DIR}/again unlabelled)
add(a.good "timing" true)
LIST
cmake -S "$work" -B "$work/build" >"$work/log" 2>&1
if ctest --test-dir "$work/build" >"$work/log" 2>&1; then
  echo "FAILED: no test has failed"
  exit 1
fi
retry_timing "$work/build" >"$work/log" 2>&1
if [ "${recovered[*]}" != "a.flaky a.flakyX" ]; then
  echo "FAILED: recovered: ${recovered[*]}"
  cat "$work/log"
  exit 1
fi
# One run and one more, of those alone.
for name in flaky other; do [ "$(wc -l <"$work/again.$name")" -eq 2 ]; done
[ "$(wc -l <"$work/again.unlabelled")" -eq 1 ]
! grep -q "until-pass" "$1/scripts/test" "$1/.ci/run"

# The number of labels is limited where tests are registered.
mkdir "$work/many"
for count in 3 4; do
  cat >"$work/many/CMakeLists.txt" <<LIST
cmake_minimum_required(VERSION 3.25)
project(many LANGUAGES CXX)
enable_testing()
include($1/cmake/XioBuild.cmake)
foreach(i RANGE 1 $count)
  xio_register_test(NAME t\${i} LABELS group timing COMMAND true)
endforeach()
xio_limit_timing(3)
LIST
  status=0
  cmake -S "$work/many" -B "$work/many/build" >"$work/log" 2>&1 || status=$?
  if [ $((status != 0)) -ne $((count > 3)) ]; then
    echo "FAILED: $count tests labelled timing: status $status"
    cat "$work/log"
    exit 1
  fi
done
echo "retries: ok"
