#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nvmet.sh COMMAND...: makes NVMe over RDMA targets of Linux on soft-RoCE and runs the command; for a machine that is
# thrown away
#
#   10.9.0.1 port 4420: subsystems `xio` and `xio-few` (2 I/O queues) for any host, `xio-closed` for none, and
#   `xio-secret` for a host that must authenticate, where the kernel can; namespace 1 of each is the file /run/NAME.img
#   the same port: `xio-null` on null_blk, where the guest has that module loaded
#   ports 4431, 4432 and 4433: `xio-512`, the same with blocks of 512 bytes, with 0, 4096 and 16384 bytes of data in capsules

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
# subsystem NAME ANY-HOST [DEVICE]: on the file /run/NAME.img, or the device
subsystem() {
  mkdir "subsystems/$1"
  echo "$2" >"subsystems/$1/attr_allow_any_host"
  truncate -s 16M "/run/$1.img"
  mkdir "subsystems/$1/namespaces/1"
  [ $# -eq 3 ] || echo 1 >"subsystems/$1/namespaces/1/buffered_io"
  echo -n "${3:-/run/$1.img}" >"subsystems/$1/namespaces/1/device_path"
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

# port NUMBER SERVICE INLINE SUBSYSTEM...: INLINE bytes of data in capsules, -1: as many as the kernel wants
port() {
  mkdir "ports/$1"
  echo ipv4 >"ports/$1/addr_adrfam"
  echo rdma >"ports/$1/addr_trtype"
  echo "$2" >"ports/$1/addr_trsvcid"
  echo 10.9.0.1 >"ports/$1/addr_traddr"
  echo "$3" >"ports/$1/param_inline_data_size"
  local number=$1 name
  shift 3
  for name in "$@"; do ln -s "$PWD/subsystems/$name" "ports/$number/subsystems/"; done
}
on_first_port=(xio xio-few xio-closed xio-secret)
if [ -b /dev/nullb0 ]; then
  subsystem xio-null 1 /dev/nullb0
  on_first_port+=(xio-null)
fi
port 1 4420 -1 "${on_first_port[@]}"
# The file system's blocks are larger: a loop device's are not.
if [ -e /dev/loop-control ]; then
  truncate -s 16M /run/xio-512.img
  subsystem xio-512 1 "$(losetup --find --show --sector-size 512 /run/xio-512.img)"
  port 2 4431 0 xio-512
  port 3 4432 4096 xio-512
  port 4 4433 16384 xio-512
fi
cd /
exec "$@"
