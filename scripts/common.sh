# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by the scripts beside it.
# shellcheck disable=SC2034

project_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cache_dir=${XIO_CACHE:-${HOME:-/root}/.cache/xio}
jobs=${XIO_JOBS:-$(nproc)}

# Names of the tools by the LLVM version that the device tests are pinned to.
llvm_version=${XIO_LLVM_VERSION:-19}

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# The comment block at the head of a script is its help.
print_help() { sed -n '3,/^$/{/^#/s/^# \{0,1\}//p}' "$1"; }
