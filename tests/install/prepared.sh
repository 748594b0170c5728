#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prepared.sh PROJECT WORKDIR: the commands of the pages that are typed from start to end, in a fresh Debian with nothing but git and what
# scripts/setup --demo installs, in a home folder that holds the clone. The clone has no new files then, and every file that it had.
set -euo pipefail

project=$1 work=$2
here=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=tests/install/fresh_debian.sh
. "$here/fresh_debian.sh"
rm -rf "$work"
mkdir -p "$work"

# The blocks for the CPU of every such page, and README's program: a file each, in the order of typing.
PYTHONPATH=$here/../docs python3 - "$project" "$work/blocks" <<'PYTHON'
import os
import sys
import pages

project, folder = sys.argv[1:]
os.mkdir(folder)
count = 0
for page in ["docs/getting-started.md"] + [one for one in pages.pages(project) if one.startswith("docs/guides/")]:
    for block in pages.blocks(project, page):
        if not block.kind and block.language in ("sh", "cmake"):
            with open(os.path.join(folder, f"{count:03}.{block.language}"), "w", encoding="utf-8") as file:
                file.write(block.content)
            count += 1
line = next(one for block in pages.blocks(project, "README.md") for one in block.content.split("\n") if one.startswith("g++ "))
with open(os.path.join(folder, f"{count:03}.sh"), "w", encoding="utf-8") as file:
    file.write(line + "\n")
PYTHON

fresh_debian "$work" ""
# QEMU and its memory are found below /proc.
mount -t proc proc "$root/proc" || skip "/proc cannot be mounted in a chroot"
trap 'umount "$root/proc" && rm -rf "$root"' EXIT
git clone -q --bare "$project" "$root/srv/xio.git"
inside 'apt-get update && apt-get install -y --no-install-recommends git' >"$work/git.log" 2>&1 || { tail -n 20 "$work/git.log" && fail "git"; }
inside 'cd /root && git clone -q /srv/xio.git xio && xio/scripts/setup --demo' >"$work/setup.log" 2>&1 ||
  { tail -n 20 "$work/setup.log" && fail "scripts/setup --demo"; }
typed=0
for block in "$work"/blocks/*; do
  if [[ $block = *.cmake ]]; then
    cp "$block" "$root/root/reader/CMakeLists.txt"
    continue
  fi
  cp "$block" "$root/tmp/block"
  inside 'cd /root/xio && bash -euo pipefail /tmp/block' >"$work/out" 2>&1 || { cat "$block" "$work/out" && fail "a block of commands"; }
  typed=$((typed + 1))
done
[ -z "$(inside 'cd /root/xio && git status --porcelain')" ] || fail "the clone: $(inside 'cd /root/xio && git status --porcelain')"
echo "prepared: ok: $typed blocks of commands"
