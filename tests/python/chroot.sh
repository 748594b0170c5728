#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chroot.sh PROJECT WHEELS WORKDIR: installs the wheel in a fresh Debian that has pip, NumPy and QEMU alone, and types README's lines.
set -euo pipefail

project=$1 wheels=$2 work=$3
# shellcheck source=tests/install/fresh_debian.sh
. "$project/tests/install/fresh_debian.sh"
rm -rf "$work"
mkdir -p "$work"

fresh_debian "$work" python3-pip,python3-numpy
inside 'apt-get install -y --no-install-recommends qemu-system-x86' >"$work/qemu.log" 2>&1 || { tail -n 5 "$work/qemu.log" && fail "apt-get"; }
cp "$wheels"/xio-*.whl "$root/tmp/"
inside 'pip install --break-system-packages --no-index /tmp/xio-*.whl' >"$work/pip.log" 2>&1 || { cat "$work/pip.log" && fail "pip install"; }
inside '! command -v cc && ! command -v c++' || fail "this Debian has a compiler"
{ sed '1,/^```python/d; /^```/,$d' "$project/README.md"
  echo 'assert blocks.shape == (64, 512) and blocks.tobytes() == open("disk.img", "rb").read(64 * 512)'; } >"$root/tmp/lines.py"
inside 'cd /tmp && head -c 1M /dev/urandom >disk.img && python3 lines.py' || fail "README's lines"
