#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# components.sh BUILD SOURCES WORKDIR CXX: what each component installs, that it works from where it was moved to, and that
# it can be removed.
set -euo pipefail

build=$1 sources=$2 work=$3 cxx=$4
rm -rf "$work"
mkdir -p "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
has() {
  local file
  for file in "$@"; do [ -e "$work/$file" ] || fail "$file was not installed"; done
}
# only FOLDER REGEX: nothing else lies in a folder than what matches
only() {
  local other
  other=$(cd "$work/$1" && find . ! -type d | grep -vE "$2" || true)
  [ -z "$other" ] || fail "$1 has, too: $other"
}

for component in dev tools doc; do
  cmake --install "$build" --prefix "$work/installed/$component" --component $component >"$work/$component.log"
  # Nothing may remember where it was installed.
  mv "$work/installed/$component" "$work/$component"
done
has dev/include/xio/xio.hpp dev/share/cmake/xio/xio{Config,ConfigVersion,Targets}.cmake dev/share/pkgconfig/xio.pc \
  dev/share/doc/xio/examples/{first_read.cpp,kernels/read_blocks.hpp,gpu/stream_io.hip,snippets/nvme.cpp}
only dev '^\./(include/xio/|share/(cmake/xio|pkgconfig|doc/xio/examples)/)'
has tools/bin/xio-bind tools/share/xio/plot_report.py
only tools '^\./(bin/xio-|lib[^ ]*/libxio_host\.so|lib/([^/]*/)?xio/libxio_fio\.so$|share/(xio|man/man1|bash-completion/completions)/)'
has doc/share/doc/xio/{README.md,CHANGELOG.md,LICENSE,docs/building.md,docs/internals/decisions.md}
only doc '^\./share/doc/xio/'
if grep -rlF "$build" "$work/dev" "$work/doc"; then fail "the files above name the build folder"; fi
cmake --install "$build" --prefix "$work/all" >"$work/all.log"
# What other tests count at the same time is not of interest.
files() { (cd "$work/$1" && find . ! -type d ! -path '*/counts/*'); }
diff <(files all | sort) <(for component in dev tools doc; do files $component; done | sort) ||
  fail "all at once is not the sum of the components"
echo "ok: components"

# Examples are built by hand, from the installation alone.
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$work/dev/share/pkgconfig
  flags=$(pkg-config --cflags --libs xio)
  # shellcheck disable=SC2086
  "$cxx" -std=c++17 -O0 "$work/dev/share/doc/xio/examples/first_read.cpp" $flags -o "$work/first_read"
  "$work/first_read" | grep -q "block 0: ok" || fail "first_read by pkg-config"
  grep -qF "define XIO_VERSION_MINOR $(pkg-config --modversion xio | cut -d. -f2)" "$work/dev/include/xio/version.hpp" ||
    fail "xio.pc has another version than the headers"
  echo "ok: pkg-config"
fi

# Programs find what belongs to them beside them, and not where they were built.
"$work/tools/bin/xio-bind" --help | grep -q "^xio-bind COMMAND" || fail "xio-bind --help"
if [ -e "$work/tools/bin/xio-tester" ]; then
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "$1" >%s/script\n' "$work" >"$work/python"
  chmod +x "$work/python"
  XIO_PYTHON=$work/python "$work/tools/bin/xio-tester" report --controller emulated:size=8M --quick --tables single \
    --output "$work/report" >"$work/report.log" || fail "xio-tester report"
  [ "$(cat "$work/script")" = "$work/tools/share/xio/plot_report.py" ] || fail "plots are drawn by $(cat "$work/script")"
  mkdir -p "$work/tools/share/xio/counts"
  echo '{"kernel": "put_mlx5", "instructions": 12345}' >"$work/tools/share/xio/counts/put_mlx5.gfx942.json"
  "$work/tools/bin/xio-vendors" --repetitions 1 >"$work/vendors.log" || fail "xio-vendors"
  grep -q 12345 "$work/vendors.log" || fail "xio-vendors reads other counts"
  echo "ok: programs"
fi

# A build folder of headers alone has nothing to build, and takes back what it installed.
cmake -S "$sources" -B "$work/bare" -DCMAKE_CXX_COMPILER="$cxx" -DXIO_BUILD_TESTS=OFF -DXIO_BUILD_BENCH=OFF \
  -DXIO_BUILD_EXAMPLES=OFF >"$work/bare.log"
cmake --install "$work/bare" --prefix "$work/removed" >>"$work/bare.log"
has removed/include/xio/xio.hpp
if [ -e "$work/removed/bin" ]; then fail "headers alone come with programs"; fi
touch "$work/removed/include/xio/of_somebody_else"
cmake --build "$work/bare" --target uninstall >>"$work/bare.log"
[ "$(cd "$work/removed" && find . ! -type d)" = ./include/xio/of_somebody_else ] ||
  fail "uninstall leaves, or takes, too much: $(find "$work/removed" ! -type d)"
[ ! -e "$work/removed/share/doc/xio" ] || fail "uninstall leaves empty folders"
echo "ok: uninstall"
