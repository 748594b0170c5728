#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stranger.sh PROJECT WORKDIR PLAYED NVCC: types what docs/getting-started.md says into a fresh Debian: from a clone to blocks that a kernel
# of one's own has read, on the CPU in at most five commands, then on AMD's and NVIDIA's GPUs in at most five more
#
# PLAYED: folder with runtimes of HIP and CUDA that play a GPU. NVCC: folder with CUDA's compiler, which Debian does not have; empty: none.
set -euo pipefail

project=$1 work=$2 played=$3 nvcc=$4
here=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=tests/install/fresh_debian.sh
. "$here/fresh_debian.sh"
rm -rf "$work"
mkdir -p "$work"

# block KIND: the first block of commands of that kind on the page
block() {
  PYTHONPATH="$here/../docs" python3 -c '
import sys
import pages
print(next(b.content for b in pages.blocks(sys.argv[1], "docs/getting-started.md") if b.language == "sh" and b.kind == sys.argv[2]), end="")
' "$project" "$1"
}
# packages WORD: those that the page names in the sentence with WORD
packages() { grep -F -- "$1" "$project/docs/getting-started.md" | grep -o '`[a-z0-9.-]*`' | tr -d '`' | tr '\n' ' '; }

commands=0
# typed COMMAND: runs it in the clone, prints how long it took, and what it printed at the end
typed() {
  local began=$SECONDS status=0
  commands=$((commands + 1))
  inside "if [ -d /root/xio ]; then cd /root/xio; else cd /root; fi; $1" >"$work/out" 2>&1 || status=$?
  printf '%3d s  $ %s\n' $((SECONDS - began)) "$1"
  if [ $status -ne 0 ]; then
    tail -n 20 "$work/out"
    fail "exit status $status"
  fi
}
# typed_block KIND: each command of a block, of which a line that goes on counts once
typed_block() {
  local line command=""
  while IFS= read -r line; do
    case $line in
      *\\) command+="${line%\\} " ;;
      *) typed "$command$line" && command="" ;;
    esac
  done < <(block "$1")
}
# printed: the last command has printed four blocks
printed() {
  [ "$(grep -c '^block [0-9]*: ok, 00 00 \.\.\.$' "$work/out")" -eq 4 ] || { cat "$work/out" && fail "$1"; }
  grep -m 1 '^block' "$work/out"
}
at_most() { [ $commands -le "$1" ] || fail "$commands commands, and not at most $1"; }

fresh_debian "$work" ""
git clone -q --bare "$project" "$root/srv/xio.git"
echo "== on the CPU"
typed "apt-get update && apt-get install -y --no-install-recommends git g++ libc6-dev"
typed "git clone /srv/xio.git xio"
typed_block ""
printed "on the CPU"
at_most 5

commands=0
cp -r "$played" "$root/opt/played"
amd=$(packages "without ROCm")
echo "== on AMD's GPUs"
typed "apt-get install -y --no-install-recommends $amd"
typed_block amd
typed "LD_LIBRARY_PATH=/opt/played XIO_PLAYED_GPU=gfx90a ./first_read_amd"
printed "on the played gfx90a"
at_most 5

if [ -n "$nvcc" ]; then
  commands=0
  cp -rL "$nvcc" "$root/opt/cuda"
  echo "== on NVIDIA's GPUs"
  typed "export PATH=/opt/cuda/bin:\$PATH; $(block nvidia | head -n 1)"
  at_most 5
fi
echo "stranger: ok"
