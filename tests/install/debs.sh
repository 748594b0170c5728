#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# debs.sh BUILD WORKDIR CXX: makes the Debian packages, unpacks libxio-dev and builds programs with what is in it. Where lintian is
# installed it has nothing to say.
set -euo pipefail

build=$1 work=$2 cxx=$3
consumer=$(dirname -- "${BASH_SOURCE[0]}")/consumer
for tool in dpkg-deb dpkg-shlibdeps; do
  if ! command -v $tool >/dev/null; then
    echo "skipped: no $tool (Debian: dpkg-dev)"
    exit 77
  fi
done
rm -rf "$work"
mkdir -p "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
# Of what is built: a generator that is not asked to build more first.
cpack --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_CMAKE_GENERATOR=Ninja >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log" && fail "cpack"; }
[ "$(cd "$work" && ls ./*.deb | cut -d_ -f1 | sort | tr '\n' ' ')" = "./libxio-dev ./xio-doc ./xio-tools " ] ||
  fail "packages: $(ls "$work")"
field() { dpkg-deb -f "$work/$1"_*.deb "$2"; }
[ "$(field libxio-dev Architecture)" = all ] || fail "libxio-dev is for one architecture"
[ "$(field xio-tools Architecture)" = "$(dpkg --print-architecture)" ] || fail "xio-tools: architecture"
for package in libxio-dev xio-doc xio-tools; do
  field $package Maintainer | grep -qv "@example\." || fail "$package is maintained by $(field $package Maintainer)"
  field $package Maintainer | grep -q "^[^<>]* <[^<>@]*@[^<>@]*>$" || fail "$package is maintained by $(field $package Maintainer)"
done
field xio-tools Depends | grep -q "libc6 (>= .*libstdc++6 (>= " || fail "xio-tools depends on $(field xio-tools Depends)"
for package in libxio-dev xio-doc xio-tools; do
  dpkg-deb -c "$work/$package"_*.deb >"$work/files"
  for file in copyright changelog.gz; do
    grep -q " ./usr/share/doc/$package/$file$" "$work/files" || fail "$package has no $file"
  done
  if grep -v " root/root " "$work/files"; then fail "$package: files of a user"; fi
done
echo "ok: packages"

root=$work/root
dpkg-deb -x "$work"/libxio-dev_*.deb "$root"
cmake -G Ninja -S "$consumer" -B "$work/consumer" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$root/usr" \
  >"$work/consumer.log" 2>&1 &&
  cmake --build "$work/consumer" >>"$work/consumer.log" 2>&1 || { cat "$work/consumer.log" && fail "find_package"; }
grep -q "^xio_DIR:.*=$root/" "$work/consumer/CMakeCache.txt" || fail "another xio was found"
"$work/consumer/consumer" || fail "the program that find_package has built"
echo "ok: find_package"
if command -v pkg-config >/dev/null; then
  [ "$(PKG_CONFIG_LIBDIR=$root/usr/share/pkgconfig pkg-config --variable=prefix xio | xargs realpath)" = "$(realpath "$root")/usr" ] ||
    fail "pkg-config's prefix"
  flags=$(PKG_CONFIG_LIBDIR=$root/usr/share/pkgconfig pkg-config --cflags --libs xio)
  # shellcheck disable=SC2086
  "$cxx" -std=c++17 -O0 "$consumer/main.cpp" $flags -o "$work/by_pkg_config"
  "$work/by_pkg_config" || fail "the program that pkg-config has built"
  echo "ok: pkg-config"
fi
if command -v lintian >/dev/null; then
  # The reference has thousands of files: at night.
  lintian --fail-on error,warning --tag-display-limit 0 "$work"/libxio-dev_*.deb "$work"/xio-tools_*.deb || fail "lintian"
  echo "ok: lintian"
fi
