#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nvmet.sh COMMAND...: makes NVMe over RDMA targets of Linux on soft-RoCE and runs the command; for a machine that is
# thrown away
#
#   10.9.0.1 port 4420: subsystems `xio` and `xio-few` (2 I/O queues) for any host, `xio-closed` for none, and
#   `xio-secret` for a host that must authenticate, where the kernel can; namespace 1 of each is the file /run/NAME.img

set -euo pipefail
# Nothing of this is undone, and the names are those of any machine: not outside of the guest.
if [ "${XIO_GUEST:-}" != 1 ]; then
  echo "nvmet.sh runs in the guest of scripts/guest only" >&2
  exit 1
fi
for tool in ip rdma; do
  command -v $tool >/dev/null || { echo "skipped: no $tool (Debian: iproute2)" && exit 77; }
done

ip link set lo up
ip link add v0 type veth peer name v1
ip link set v0 up
ip link set v1 up
ip addr add 10.9.0.1/24 dev v0
rdma link add rxe0 type rxe netdev v0

mount -t configfs none /sys/kernel/config 2>/dev/null || true
cd /sys/kernel/config/nvmet || { echo "skipped: this kernel has no nvmet" && exit 77; }
subsystem() {
  mkdir "subsystems/$1"
  echo "$2" >"subsystems/$1/attr_allow_any_host"
  truncate -s 16M "/run/$1.img"
  mkdir "subsystems/$1/namespaces/1"
  echo 1 >"subsystems/$1/namespaces/1/buffered_io"
  echo -n "/run/$1.img" >"subsystems/$1/namespaces/1/device_path"
  echo 1 >"subsystems/$1/namespaces/1/enable"
}
subsystem xio 1
subsystem xio-few 1
echo 2 >subsystems/xio-few/attr_qid_max
subsystem xio-closed 0
subsystem xio-secret 0
mkdir hosts/xio-host
if [ -e hosts/xio-host/dhchap_key ]; then
  echo "DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:" >hosts/xio-host/dhchap_key
  ln -s "$PWD/hosts/xio-host" subsystems/xio-secret/allowed_hosts/
fi

mkdir ports/1
echo ipv4 >ports/1/addr_adrfam
echo rdma >ports/1/addr_trtype
echo 4420 >ports/1/addr_trsvcid
echo 10.9.0.1 >ports/1/addr_traddr
for name in xio xio-few xio-closed xio-secret; do
  ln -s "$PWD/subsystems/$name" ports/1/subsystems/
done
cd /
exec "$@"
