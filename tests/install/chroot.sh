#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chroot.sh BUILD WORKDIR: installs the Debian packages into a fresh Debian, builds a program there, and runs xio-tester. lintian,
# where it is installed, has nothing to say about any of them.
set -euo pipefail

build=$1 work=$2
consumer=$(dirname -- "${BASH_SOURCE[0]}")/consumer
# shellcheck source=tests/install/fresh_debian.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/fresh_debian.sh"
rm -rf "$work"
mkdir -p "$work"
cpack --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_CMAKE_GENERATOR=Ninja >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log" && fail "cpack"; }
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning --tag-display-limit 0 "$work"/*.deb || fail "lintian"
fi

fresh_debian "$work" cmake,g++,make,pkg-config
cp "$work"/*.deb "$root/tmp/"
cp -r "$consumer" "$root/tmp/consumer"
inside 'dpkg -i /tmp/*.deb' >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" && fail "dpkg -i"; }
inside 'cmake -S /tmp/consumer -B /tmp/build && cmake --build /tmp/build && /tmp/build/consumer' >"$work/build.log" 2>&1 ||
  { cat "$work/build.log" && fail "find_package"; }
inside 'cd /tmp && g++ -std=c++17 /usr/share/doc/xio/examples/first_read.cpp $(pkg-config --cflags --libs xio) -o first_read &&
  ./first_read' | grep -q "block 0: ok" || fail "an example by pkg-config"
inside 'xio-tester --version' || fail "xio-tester --version"
inside 'xio-tester nvme-ep --controller emulated --write-io 64 --read-io 64 --verify' || fail "xio-tester"
inside 'xio-vendors --version && xio-bind --help' >/dev/null || fail "xio-vendors or xio-bind"
inside 'dpkg --purge libxio-dev xio-doc xio-tools' >"$work/purge.log" 2>&1 || fail "dpkg --purge"
left=$(find "$root/usr" \( -name 'xio*' -o -name 'libxio*' \))
[ -z "$left" ] || fail "left behind: $left"
echo "chroot: ok"
