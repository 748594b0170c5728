#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# perftest.sh [--in-guest]: what ib_write_bw and ib_write_lat say of the two soft-RoCE devices of the guest
#
# For comparison with our own figures from the same guest: TCG makes every instruction dear, so they say how long the
# way through the software is, and nothing of a NIC. XIO_PERFTEST_ITERATIONS (default 200) sets the operations of a row.

set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
iterations=${XIO_PERFTEST_ITERATIONS:-200}

case ${1:-} in
  "")
    for tool in ib_write_bw ib_write_lat; do
      command -v $tool >/dev/null || { echo "skipped: no $tool (Debian: perftest)" && exit 77; }
    done
    exec "$here/../../scripts/guest" --modules rdma_rxe,ib_uverbs,rdma_ucm,veth --cpus 4 --limit 240 -- \
      env XIO_PERFTEST_ITERATIONS="$iterations" "$here/rxe_devices.sh" nodes "$here/perftest.sh" --in-guest
    ;;
  --in-guest) ;;
  *) echo "perftest.sh: unknown argument $1" >&2 && exit 1 ;;
esac

# one_row TOOL BYTES: server on rxe0, client on rxe1; prints the line of figures
one_row() {
  local tool=$1 bytes=$2 server result=0
  local options=(-x 1 -s "$bytes" -n "$iterations" -F)
  # Both poll all the time; what the kernel does for them comes first.
  nice -n 19 timeout 60 "$tool" -d rxe0 "${options[@]}" >/run/server 2>&1 &
  server=$!
  # Until the server listens on its port of TCP, 18515, the client is refused.
  for _ in {1..50}; do
    if grep -q ':4853 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6; then break; fi
    sleep 0.1
  done
  nice -n 19 timeout 60 "$tool" -d rxe1 "${options[@]}" 127.0.0.1 >/run/client 2>&1 || result=$?
  if [ $result -ne 0 ]; then kill "$server" 2>/dev/null || true; fi
  wait "$server" || result=$?
  if [ $result -ne 0 ]; then
    cat /run/server /run/client
    return 1
  fi
  if [ "$bytes" = 64 ]; then grep '#bytes' /run/client | sed "s/^/$tool: /"; fi
  awk -v bytes="$bytes" -v tool="$tool" '$1 == bytes { print tool ": " $0; found = 1 } END { exit !found }' /run/client
}

for tool in ib_write_lat ib_write_bw; do
  for bytes in 64 4096 65536; do one_row $tool $bytes; done
done
