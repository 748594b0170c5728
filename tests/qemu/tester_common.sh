# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by the tests of xio-tester. Sets $tester, $kind (qemu or emulated) and $work from the script's arguments.
# shellcheck disable=SC2034

set -uo pipefail
tester=${1:?usage: ${0##*/} XIO-TESTER [qemu|emulated]}
kind=${2:-qemu}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
if [ "$kind" = qemu ] && ! command -v "${XIO_QEMU:-qemu-system-x86_64}" >/dev/null; then
  echo "skipped: no QEMU"
  exit 77
fi
if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0
failed=0
pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}

# check_json FILE EXPRESSION...: each Python expression over the parsed file `j` must hold.
check_json() { python3 "$here/tester_json.py" "$@"; }

# Processes of QEMU that were started for the image or serial number $1.
qemu_processes() { pgrep -f -- "qemu-system.*$1" || true; }

# Waits until a command succeeds, for at most 30 seconds.
eventually() {
  local _
  for _ in $(seq 300); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}

finish() {
  printf '%s: %d of %d\n' "$1" "$passed" "$((passed + failed))"
  [ "$failed" -eq 0 ]
  exit
}
