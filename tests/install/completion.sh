#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# completion.sh PROJECT XIO-TESTER XIO-VENDORS: bash completes what the programs' own --help says.
set -euo pipefail

project=$1 tester=$2 vendors=$3
# shellcheck source=packaging/completion/xio
. "$project/packaging/completion/xio"
failed=0
# offers WANTED PROGRAM WORD...: the last word is completed; WANTED: all that is offered, in its order
offers() {
  local wanted=$1 program=$2
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _xio "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  if [ "${COMPREPLY[*]}" != "$wanted" ]; then
    echo "FAILED: $*: '${COMPREPLY[*]}' and not '$wanted'"
    failed=1
  fi
}
offers "nvme-ep" "$tester" nv
offers "rdma-ep report" "$tester" r
offers "--version" "$tester" --v
offers "--write-io" "$tester" nvme-ep --depth 4 --write-i
offers "-h" "$tester" nvme-ep -h
offers "" "$tester" nvme-ep --json ""
offers "" "$tester" nvme-ep --depth ""
offers "mmio shadow" "$tester" nvme-ep --doorbell ""
offers "host" "$tester" nvme-ep --read-io 4 --executor h
offers "polling" "$tester" test-ep --mode p
offers "qemu emulated vfio:" "$tester" nvme-ep --controller ""
offers "emulated" "$tester" info --controller e
offers "" "$tester" no-such-command --
offers "--repetitions" "$vendors" --rep
offers "bind" "$project/scripts/xio-bind" b
offers "--apply" "$project/scripts/xio-bind" bind 0000:00:04.0 --a
for program in xio-tester xio-vendors xio-bind; do
  complete -p $program | grep -q -- "-F _xio" || { echo "FAILED: nothing completes $program" && failed=1; }
done
[ $failed -eq 0 ] || exit 1
echo "completion: ok"
