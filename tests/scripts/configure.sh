#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# configure.sh SOURCES [--all]: scripts/demo and scripts/test, in any order and in any build folder that they may find, get what they
# ask CMake for: nothing is thrown away, and clang-tidy finds its compile commands.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A clone of its own: without what was built, in a place of its own.
clone=$work/clone
copy() {
  mkdir -p "$1"
  (cd "$sources" && tar -cf - --exclude='./build*' --exclude=./.git .) | tar -xf - -C "$1"
}
sources=$1
copy "$clone"
# shellcheck source=scripts/common.sh
. "$clone/scripts/common.sh"
build=$clone/build
# That of a folder where nothing was configured.
compiler=g++
if have "clang++-$llvm_version"; then compiler=clang++-$llvm_version; fi
failed=0
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}

# ready TITLE TESTS: configured as the preset says, with the tests (ON) or without them (OFF).
ready() {
  local title=$1 tests=$2
  if grep -qF 'require your cache to be deleted' "$work/log"; then fail "$title: CMake threw its cache away"; fi
  [ -e "$build/build.ninja" ] || fail "$title: no build.ninja"
  local -A wanted=([XIO_BUILD_TESTS]=$tests [XIO_BUILD_BENCH]=ON [XIO_UNITY]=ON [XIO_SANITIZE]="" [CMAKE_BUILD_TYPE]=Release
    [CMAKE_GENERATOR]=Ninja [CMAKE_HOME_DIRECTORY]=$clone)
  local name
  for name in "${!wanted[@]}"; do
    [ "$(cached "$build" "$name")" = "${wanted[$name]}" ] || fail "$title: $name is '$(cached "$build" "$name")'"
  done
  if [ ! -e "$build/compile_commands.json" ]; then fail "$title: no compile_commands.json"; fi
  local cxx
  cxx=$(cached "$build" CMAKE_CXX_COMPILER)
  case ${cxx##*/} in "$compiler") ;; *) fail "$title: compiled by $cxx, not by $compiler" ;; esac
}
demo() { if configure_demo "$work/log"; then ready "$1" "$2"; else fail "$1: $(tail -n 5 "$work/log")"; fi; }
tests() { if configure_tests release "$work/log" ON ON; then ready "$1" ON; else fail "$1: $(tail -n 5 "$work/log")"; fi; }
fresh() { rm -rf "$build" && mkdir "$build"; }

# The two commands of README, one after the other and again.
fresh
demo "demo" OFF
demo "demo after demo" OFF
tests "test after demo"
tests "test after test"
demo "demo after test" ON
tests "test after demo after test"

# What scripts/test installs is used by programs that scripts/demo has compiled without it.
built_with_verbs() { grep -q "XIO_BUILT_WITH_VERBS=1" "$build/compile_commands.json"; }
if [ -e /usr/include/infiniband/verbs.h ]; then
  fresh
  cmake -S "$clone" --preset release -DXIO_BUILD_TESTS=OFF -DCMAKE_IGNORE_PATH=/usr/include >"$work/log" 2>&1 || fail "demo without verbs"
  if built_with_verbs; then fail "demo without verbs: it has them"; fi
  tests_with_verbs() { cmake -S "$clone" --preset release -DCMAKE_IGNORE_PATH= >"$work/log" 2>&1; }
  tests_with_verbs || fail "test after a demo without verbs"
  built_with_verbs || fail "test after a demo without verbs: programs stay without them"
fi

by_hand() { cmake -S "$clone" -B "$build" "$@" >"$work/log" 2>&1; }

# A folder that g++ has compiled stays g++'s.
fresh
by_hand -G Ninja -DCMAKE_CXX_COMPILER=g++ -DXIO_BUILD_TESTS=OFF
compiler=g++ tests "test where g++ was asked for"

# By hand: another name of the compiler, another generator, a sanitizer; what an interrupted first look at the compiler leaves.
commands=(tests)
if [ "${2:-}" = --all ]; then commands+=(demo); fi
for command in "${commands[@]}"; do
  case $command in tests) has=ON ;; demo) has=OFF ;; esac
  fresh
  by_hand -G Ninja -DCMAKE_CXX_COMPILER="$(command -v c++)" -DXIO_BUILD_TESTS=OFF -DXIO_BUILD_EXAMPLES=OFF
  $command "$command after another name of the compiler" $has
  fresh
  by_hand -G "Unix Makefiles" -DXIO_BUILD_TESTS=OFF
  $command "$command after make" $has
  fresh
  head -c 3000 /dev/urandom >"$build/CMakeCache.txt"
  $command "$command after a broken cache" $has
done
if [ "${2:-}" = --all ]; then
  fresh
  by_hand -G Ninja -DCMAKE_CXX_COMPILER="$(command -v c++)" -DXIO_BUILD_TESTS=OFF
  rm "$build/CMakeCache.txt" "$build/build.ninja"
  tests "test after a cache was lost"
  fresh
  by_hand -G Ninja -DCMAKE_BUILD_TYPE=Debug -DXIO_BUILD_TESTS=OFF -DXIO_SANITIZE=thread -DXIO_UNITY=OFF
  tests "test after a sanitizer"
  # The folder of a clone that lay elsewhere.
  fresh
  by_hand -G Ninja -DXIO_BUILD_TESTS=OFF
  sed -i "s|$clone|$work/elsewhere|g" "$build/CMakeCache.txt"
  tests "test after the clone was moved"

  # The run that was interrupted as README's order was broken before: CMake had thrown away what it was told.
  fresh
  by_hand -G Ninja -DCMAKE_BUILD_TYPE=Release -DXIO_BUILD_TESTS=OFF -DXIO_BUILD_EXAMPLES=OFF
  by_hand -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DXIO_BUILD_TESTS=OFF
  tests "test after a cache that was thrown away"
fi

# Tests were asked for, and cannot be configured here: the demo goes without them.
fresh
mv "$clone/tests/catch_main.cpp" "$work/"
if configure_tests release "$work/log" ON ON; then fail "the tests are configured without a source of theirs"; fi
if configure_demo "$work/log"; then ready "demo where the tests cannot be configured" OFF; else fail "demo without tests"; fi
[ "$failed" -eq 0 ] || exit 1
echo "build folders: ok"
