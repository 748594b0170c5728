#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mpirun.sh XIO-TESTER: rdma-ep under Open MPI's mpirun, on soft-RoCE's devices of rxe_devices.sh all
#
# One command starts both processes: the same program twice on one device, and two of them, each on its own. Needs
# openmpi-bin.

set -uo pipefail
tester=${1:?usage: ${0##*/} XIO-TESTER}
command -v mpirun >/dev/null || { echo "skipped: mpirun is not installed (Debian: openmpi-bin)" && exit 77; }
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
trap 'rm -rf "$work"' EXIT
# mpirun starts nothing on a machine without a name.
hostname xio-guest

# launch ARGUMENTS...: what each process printed is in $work/ranks; the guest has few processors, and root alone
launch() {
  rm -rf "$work/ranks"
  timeout 180 mpirun --allow-run-as-root --oversubscribe --output-filename "$work/ranks:nojobid" "$@"
}
# verified OPERATIONS: rank 0 was the server and rank 1 the client, and both say that all of it was compared
verified() {
  tail -n 50 "$work"/ranks/rank.*/std*
  grep -q "each connected to one of the client's" "$work/ranks/rank.0/stdout" &&
    grep -q "each connected to one of the server's" "$work/ranks/rank.1/stdout" &&
    [ "$(grep -c "^verified $1 of $1 operations" "$work/ranks/rank.0/stdout" "$work/ranks/rank.1/stdout" | grep -c ':1$')" -eq 2 ]
}
# ends TITLE WORDS ARGUMENTS...: with exit status 2, and these words of one process; mpirun may end the others before they have any
ends() {
  local title=$1 words=$2 status
  shift 2
  launch "$@" >"$work/out" 2>&1
  status=$?
  if [ $status -eq 2 ] && grep -qF -- "$words" "$work"/ranks/rank.*/stderr; then pass "$title"; else fail "$title: $status"; fi
}

# The guest is slow.
common=(rdma-ep --verify --deadline 60000 --connect-deadline 60000 --iterations 64)
check "the same program twice" launch -np 2 "$tester" "${common[@]}" --device rxe_lo --transfer-size 256,4K --json "$work/report.json"
check "both compared all of it" verified 128
check "the client writes the report" grep -q '"role": "client"' "$work/report.json"
send=(--op send --batch-size 16 --transfer-size 1K)
check "a device for each" launch -np 1 "$tester" "${common[@]}" "${send[@]}" --device rxe0 : \
  -np 1 "$tester" "${common[@]}" "${send[@]}" --device rxe1
check "both of these, too" verified 64
ends "flags that differ" "--batch-size: " -np 1 "$tester" "${common[@]}" --device rxe0 --batch-size 2 : \
  -np 1 "$tester" "${common[@]}" --device rxe1 --batch-size 1
ends "three processes" "Open MPI has started 3 processes; rdma-ep is for 2 of them" -np 3 "$tester" "${common[@]}" --device rxe_lo
summary "rdma-ep under mpirun"
