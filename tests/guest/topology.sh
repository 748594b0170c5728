#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# topology.sh XIO-TESTER: what xio-tester finds nearest in a guest with two NUMA nodes, two host bridges and a PCIe switch
#
# The tree is QEMU's, and sysfs the kernel's. The GPU is QEMU's model of an old ATI card: it has the vendor and the class
# of a GPU, and no driver. With QEMU 10 (scripts/qemu10) a drive has virtual functions.

set -uo pipefail
tester=$(readlink -f -- "${1:?usage: ${0##*/} XIO-TESTER}")
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)

if [ "${XIO_GUEST:-}" != 1 ]; then
  functions=
  if newer=$("$root/scripts/qemu10" 2>/dev/null); then
    export XIO_QEMU=$newer
    functions=,sriov_max_vfs=2,sriov_vq_flexible=4,sriov_vi_flexible=2,max_ioqpairs=6,msix_qsize=8
  fi
  images=$(mktemp -d)
  trap 'rm -rf "$images"' EXIT
  devices=()
  add() { devices+=(--qemu "$1" --qemu "$2"); }
  drive() {
    truncate -s 8M "$images/$1"
    add -blockdev "driver=file,node-name=$1,filename=$images/$1"
    add -device "nvme,$2"
  }
  for node in 0 1; do
    add -object "memory-backend-ram,id=ram$node,size=256M"
    add -numa "node,nodeid=$node,cpus=$node,memdev=ram$node"
  done
  add -device intel-iommu,intremap=on
  add -device pxb-pcie,id=second,bus=pcie.0,addr=8,bus_nr=0x80,numa_node=1
  add -device pxb-pcie,id=first,bus=pcie.0,addr=9,bus_nr=0x40,numa_node=0
  # Node 0: a switch with the GPU, a drive and a NIC; a drive at a root port beside it.
  add -device pcie-root-port,id=first_port,bus=first,chassis=1,addr=0
  add -device x3130-upstream,id=up,bus=first_port
  for down in 0 1 2; do add -device "xio3130-downstream,id=down$down,bus=up,chassis=2,slot=$down"; done
  add -device ati-vga,bus=down0,romfile=
  drive inner "drive=inner,serial=inner,bus=down1"
  add -netdev user,id=net,restrict=on
  add -device e1000e,netdev=net,bus=down2,romfile=
  add -device pcie-root-port,id=side_port,bus=first,chassis=4,addr=1
  drive outer "drive=outer,serial=outer,bus=side_port"
  # Node 1: a drive.
  add -device pcie-root-port,id=far_port,bus=second,chassis=5,addr=0
  if [ -n "$functions" ]; then
    add -device nvme-subsys,id=subsystem
    drive remote "id=remote_drive,serial=remote,bus=far_port,subsys=subsystem$functions"
    add -device nvme-ns,drive=remote,bus=remote_drive
  else
    drive remote drive=remote,serial=remote,bus=far_port
  fi
  "$root/scripts/guest" --modules nvme,vfio-pci,vfio_iommu_type1,e1000e,rdma_rxe,ib_uverbs --limit 180 \
    "${devices[@]}" -- "$here/topology.sh" "$tester"
  exit
fi
# shellcheck source=tests/guest/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# found TITLE PYTHON: an expression that holds for what list wrote
list() { PATH=/nonexistent "$tester" list "$@"; }
found() {
  if python3 - "$work/list.json" "$2" <<'END' >"$work/out" 2>&1; then pass "$1"; else fail "$1"; fi
import json, sys
found = json.load(open(sys.argv[1]))
place = {c["controller"][5:]: c["place"] for c in found["controllers"] if c["controller"].startswith("vfio:")}
near = {a: [(d["proximity"], d["hops"], d["node_distance"]) for d in p["distances"]] for a, p in place.items()}
gpus, nics, nearest = found["gpus"], found["nics"], found["nearest"]
print(json.dumps(found, indent=1))
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}
# address SERIAL: of the controller that says so
address() {
  local path
  for path in /sys/class/nvme/nvme*; do
    if [ "$(tr -d ' ' <"$path/serial")" = "$1" ]; then basename -- "$(readlink -f "$path/device")"; fi
  done
}
inner=$(address inner)
outer=$(address outer)
remote=$(address remote)
gpu=$(basename -- "$(dirname -- "$(grep -lx 0x1002 /sys/bus/pci/devices/*/vendor)")")

check "list" list --json "$work/list.json"
found "the GPU" "[g['address'] for g in gpus] == ['$gpu'] and gpus[0]['numa_node'] == 0"
found "a drive in the GPU's switch" "near['$inner'] == [('same_switch', 4, 10)] and place['$inner']['numa_node'] == 0"
found "a drive at a port beside it" "near['$outer'] == [('same_host_bridge', 6, 10)]"
found "a drive of the other node" "near['$remote'] == [('other_node', 8, 20)] and place['$remote']['numa_node'] == 1"
found "the nearest, and why" "nearest['controller']['why'] == '$inner with GPU $gpu: below one PCIe switch or port, 4 hops; the next one, $outer: below one host bridge, 6 hops'"
says "what list prints" "NVMe controller of the driver nvme; see scripts/xio-bind status; NUMA node 0; with GPU $gpu: below one host bridge, 6 hops" list

# soft-RoCE on the NIC in the switch, and on an interface without a place.
wire=$(basename -- /sys/bus/pci/drivers/e1000e/0000:*/net/*)
ip link set lo up
ip link set "$wire" up
ip address add 10.9.0.1/24 dev "$wire"
check "soft-RoCE on lo" rdma link add rxe_a type rxe netdev lo
check "soft-RoCE on the NIC" rdma link add rxe_b type rxe netdev "$wire"
check "list with soft-RoCE" list --json "$work/list.json"
found "soft-RoCE sits where its interface does" \
  "[(n['names'], n['path'][:2]) for n in nics] == [([], ['pci0000:40', '0000:40:00.0']), (['rxe_a'], []), (['rxe_b'], ['pci0000:40', '0000:40:00.0'])]"
found "the nearest NIC with verbs" "nearest['nic']['device'] == 'rxe_b'"
"$tester" rdma-ep --server --iterations 20 --transfer-size 1K --verify >"$work/server" 2>&1 &
says "two processes take it" "--device rxe_b is taken: rxe_b with GPU $gpu: below one PCIe switch or port, 4 hops; the next one, rxe_a: nothing in common" \
  "$tester" rdma-ep --client --iterations 20 --transfer-size 1K --verify
check "the server took it too" grep -qF -- "--device rxe_b is taken" "$work/server"
wait

if [ -e "/sys/bus/pci/devices/$remote/sriov_numvfs" ]; then
  echo 0 >"/sys/bus/pci/devices/$remote/sriov_drivers_autoprobe"
  echo 2 >"/sys/bus/pci/devices/$remote/sriov_numvfs"
  check "list with virtual functions" list --json "$work/list.json"
  found "virtual functions are of the far drive's port" \
    "sorted(p['virtual_function'] for p in place.values()) == [False] * 3 + [True] * 2 and all(p['path'][:2] == place['$remote']['path'][:2] and p['numa_node'] == 1 for p in place.values() if p['virtual_function'])"
  echo 0 >"/sys/bus/pci/devices/$remote/sriov_numvfs"
fi

# A drive of the kernel's is never taken, and none is written to.
refused "drives of the kernel's driver" "no controller: " "$tester" nvme-ep --read-io 4
for one in "$outer" "$remote"; do check "bind $one" "$root/scripts/xio-bind" bind "$one" --apply; done
says "reads take the nearest of those that vfio has" "--controller vfio:$outer is taken: $outer with GPU $gpu" \
  "$tester" nvme-ep --read-io 4
refused "writes name their drive" "no controller: " "$tester" nvme-ep --write-io 4
refused "and so do writes with reads" "no controller: " "$tester" nvme-ep --write-io 4 --read-io 4

# Without a GPU it is where we run that counts.
echo 1 >"/sys/bus/pci/devices/$gpu/remove"
says "near to processor 1" "--controller vfio:$remote is taken: $remote with the processors (NUMA node 1): the same NUMA node; the next one, $outer: another NUMA node, distance 20" \
  taskset -c 1 "$tester" nvme-ep --read-io 4
says "near to processor 0" "--controller vfio:$outer is taken: $outer with the processors (NUMA node 0)" \
  taskset -c 0 "$tester" nvme-ep --read-io 4
summary topology
