#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chroot.sh BUILD WORKDIR: installs the Debian packages into a fresh Debian, builds a program there, and runs xio-tester. lintian,
# where it is installed, has nothing to say about any of them.
set -euo pipefail

build=$1 work=$2
consumer=$(dirname -- "${BASH_SOURCE[0]}")/consumer
skip() {
  echo "skipped: $*"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "no debootstrap (Debian: debootstrap)"
# That of the machine, with its packages: what was built here needs no older one.
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
  awk -v suite="$suite" '$1 == suite && $2 == "main" {print $3; exit}')
[ -n "$mirror" ] || skip "apt-get knows no mirror of this machine's release"
rm -rf "$work"
mkdir -p "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
cpack --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_CMAKE_GENERATOR=Ninja >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log" && fail "cpack"; }
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning --tag-display-limit 0 "$work"/*.deb || fail "lintian"
fi

root=$work/root
debootstrap --variant=minbase --include=cmake,g++,make,pkg-config "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  { tail -n 5 "$work/debootstrap.log" && skip "debootstrap got no Debian from $mirror"; }
trap 'rm -rf "$root"' EXIT
cp "$work"/*.deb "$root/tmp/"
cp -r "$consumer" "$root/tmp/consumer"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }
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
