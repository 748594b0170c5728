#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rxe_devices.sh KIND COMMAND...: makes soft-RoCE devices and runs the command; for a machine that is thrown away
#
#   loops  rxe_lo on the loopback device and rxe_v0 on one end of a veth pair; each talks to itself
#   nodes  rxe0 and rxe1 on the two ends of a veth pair; each packet from one to the other crosses the pair
#   all    those of nodes, rxe_lo on the loopback device, and rxe_down on a device that is down

set -euo pipefail

# Nothing of this is undone, and the names are those of any machine: not outside of the guest.
if [ "${XIO_GUEST:-}" != 1 ]; then
  echo "rxe_devices.sh runs in the guest of scripts/guest only" >&2
  exit 1
fi
for tool in ip rdma; do
  command -v $tool >/dev/null || { echo "skipped: no $tool (Debian: iproute2)" && exit 77; }
done

add_pair() {
  ip link set lo up
  ip link add v0 type veth peer name v1
  ip link set v0 up
  ip link set v1 up
}

loops() {
  add_pair
  ip addr add 10.9.0.1/24 dev v0
  rdma link add rxe_lo type rxe netdev lo
  rdma link add rxe_v0 type rxe netdev v0
}

# Both ends belong to one machine. The driver sends through its own end, so that the route to the other end's address is
# taken and not the short way within the machine; what comes in has an address of ours as its source.
nodes() {
  local i other
  add_pair
  for i in 0 1; do
    other=$((1 - i))
    echo 1 >/proc/sys/net/ipv4/conf/v$i/accept_local
    ip addr add 10.9.0.$((i + 1))/32 dev v$i
    ip route add 10.9.0.$((other + 1)) dev v$i src 10.9.0.$((i + 1))
    ip neigh add 10.9.0.$((other + 1)) lladdr "$(cat /sys/class/net/v$other/address)" dev v$i
  done
  rdma link add rxe0 type rxe netdev v0
  rdma link add rxe1 type rxe netdev v1
}

all() {
  nodes
  rdma link add rxe_lo type rxe netdev lo
  ip link add v2 type veth peer name v3
  rdma link add rxe_down type rxe netdev v2
}

kind=$1
shift
case $kind in
  loops | nodes | all) "$kind" ;;
  *) echo "rxe_devices.sh: unknown kind $kind" >&2 && exit 1 ;;
esac
exec "$@"
