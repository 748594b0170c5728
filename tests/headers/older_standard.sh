#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# older_standard.sh INCLUDE COMPILER...: where C++17 is not asked for, each of the headers that users include says so, and hardly more.
set -euo pipefail
include=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for header in xio/xio.hpp xio/nvme.hpp xio/rdma.hpp xio/host/launch.hpp xio/host/nvme/controller.hpp xio/host/nvme/qemu.hpp; do
  echo "#include <$header>" >"$work/program.cpp"
  if "$@" -std=c++14 -I"$include" -fsyntax-only "$work/program.cpp" 2>"$work/said"; then
    echo "FAILED: $header compiles as C++14"
    failed=1
  elif [ "$(grep -c 'error: .*xio needs C++17: compile with -std=c++17 or later' "$work/said")" -ne 1 ] ||
    [ "$(grep -c 'error: ' "$work/said")" -gt 2 ]; then
    echo "FAILED: $header as C++14: $(grep -c 'error: ' "$work/said") errors"
    head -n 30 "$work/said"
    failed=1
  fi
done
[ $failed -eq 0 ] || exit 1
echo "older standard: ok"
