#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# linux_nvme.sh COMPILER: compiles linux_nvme.cpp, which compares NVMe over Fabrics with the kernel's own headers
#
# The headers are those of Debian's package linux-headers-6.1.*-common: installed, or else downloaded and unpacked for
# this run. Where they cannot be had, the exit status is 77.

set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
compiler=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
  echo "skipped: no headers of the kernel: $1"
  exit 77
}

headers=
for folder in /usr/src/linux-headers-*-common; do
  if [ -e "$folder/include/linux/nvme-rdma.h" ]; then headers=$folder; fi
done
if [ -z "$headers" ]; then
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "this needs apt-get and dpkg-deb (Debian)"
  package=$(apt-cache --names-only search '^linux-headers-6\.1\.[0-9.-]*-common$' | cut -d ' ' -f 1 | sort -V | tail -n 1)
  [ -n "$package" ] || skip "the package lists have no linux-headers-6.1.*-common (try apt-get update)"
  (cd "$work" && apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=2 download "$package") >"$work/log" 2>&1 ||
    skip "$package cannot be downloaded: $(tail -n 1 "$work/log")"
  dpkg-deb -x "$work/$package"_*.deb "$work/root"
  headers=$work/root/usr/src/$package
fi
echo "headers: $headers"

# The two headers alone, with what they need of others: the kernel's own are of no use in a program.
mkdir -p "$work/kernel/linux"
cp "$headers"/include/linux/{nvme.h,nvme-rdma.h} "$work/kernel/linux/"
cat >"$work/kernel/linux/types.h" <<'END'
#pragma once
#include_next <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
END
cat >"$work/kernel/linux/bits.h" <<'END'
#define BIT(n) (1UL << (n))
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (63 - (high))))
#define unlikely(what) (what)
#define struct_group(name, ...) __VA_ARGS__
END
printf 'typedef struct { __u8 b[16]; } uuid_t;\n' >"$work/kernel/linux/uuid.h"
"$compiler" -std=c++17 -fsyntax-only -I "$root/include" -isystem "$work/kernel" -include linux/types.h "$root/tests/layout/linux_nvme.cpp"
echo "equal"
