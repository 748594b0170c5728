// SPDX-License-Identifier: MIT
// Topology on machines made of files: which device is nearest, and what is said of it.

#include <xio/host/topology/topology.hpp>

#include <string>
#include <vector>

#include "catch.hpp"
#include "unit/host_support.hpp"
#include "unit/machine_tree.hpp"

namespace {

using host_tests::contains;
using host_tests::MachineTree;
using xio::host::DeviceKind;
using xio::host::MachineDevice;
using xio::host::Nearest;
using xio::host::Proximity;
using xio::host::Topology;

std::optional<Nearest> nearest(const Topology& topology, DeviceKind kind) {
  return topology.nearest(topology.devices(kind));
}

const MachineDevice& device(const Topology& topology, const std::string& label) {
  for (const MachineDevice& one : topology.devices())
    if (one.label() == label) return one;
  throw xio::host::Error("no device " + label);
}

xio::host::Distance between(const Topology& topology, const std::string& a, const std::string& b) {
  return topology.distance_to(&device(topology, a), device(topology, b));
}

std::string labels(const std::vector<const MachineDevice*>& devices) {
  std::string all;
  for (const MachineDevice* one : devices) all += (all.empty() ? "" : " ") + one->label();
  return all;
}

// Two sockets. Below the first: a switch with a GPU, a drive and a NIC, and a drive at a root port. Below the second: a
// GPU and a drive at root ports of their own, and a drive at another host bridge.
void two_sockets(const MachineTree& tree) {
  tree.numa(2, 4);
  tree.bridge("pci0000:00/0000:00:01.0", 0);
  const std::string upstream = "pci0000:00/0000:00:01.0/0000:01:00.0";
  tree.bridge(upstream, 0);
  tree.bridge(upstream + "/0000:02:00.0", 0);
  tree.bridge(upstream + "/0000:02:01.0", 0);
  tree.bridge(upstream + "/0000:02:02.0", 0);
  tree.gpu(upstream + "/0000:02:00.0/0000:03:00.0", 0);
  tree.nvme(upstream + "/0000:02:01.0/0000:04:00.0", "nvme0", 0);
  tree.nic(upstream + "/0000:02:02.0/0000:05:00.0", "mlx5_0", "ens5", 0);
  tree.bridge("pci0000:00/0000:00:02.0", 0);
  tree.nvme("pci0000:00/0000:00:02.0/0000:06:00.0", "nvme1", 0);
  tree.bridge("pci0000:80/0000:80:01.0", 1);
  tree.gpu("pci0000:80/0000:80:01.0/0000:81:00.0", 1);
  tree.bridge("pci0000:80/0000:80:02.0", 1);
  tree.nvme("pci0000:80/0000:80:02.0/0000:82:00.0", "nvme2", 1);
  tree.bridge("pci0000:c0/0000:c0:01.0", 1);
  tree.nvme("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "nvme3", 1);
}

TEST_CASE("lists of numbers as the kernel writes them") {
  CHECK(xio::host::parse_number_list("0-3,8,10-11") == std::vector<uint32_t>{0, 1, 2, 3, 8, 10, 11});
  CHECK(xio::host::parse_number_list("5") == std::vector<uint32_t>{5});
  CHECK(xio::host::parse_number_list("").empty());
  CHECK(xio::host::parse_number_list("3-1").empty());
  CHECK(xio::host::parse_number_list("0-x").empty());
}

TEST_CASE("two sockets: distances") {
  const MachineTree tree;
  two_sockets(tree);
  const Topology topology(tree.sysfs(), {0, 1});
  REQUIRE(labels(topology.devices(DeviceKind::gpu)) == "0000:03:00.0 0000:81:00.0");
  REQUIRE(labels(topology.devices(DeviceKind::nvme)) == "0000:04:00.0 0000:06:00.0 0000:82:00.0 0000:c1:00.0");
  REQUIRE(labels(topology.devices(DeviceKind::nic)) == "0000:05:00.0");
  CHECK(device(topology, "0000:05:00.0").names == std::vector<std::string>{"mlx5_0"});
  CHECK(device(topology, "0000:05:00.0").nets == std::vector<std::string>{"ens5"});
  CHECK(device(topology, "0000:04:00.0").names == std::vector<std::string>{"nvme0"});

  const auto in_switch = between(topology, "0000:03:00.0", "0000:04:00.0");
  CHECK(in_switch.proximity == Proximity::same_switch);
  CHECK(in_switch.hops == 4);
  CHECK(in_switch.node_distance == 10);
  const auto at_root = between(topology, "0000:03:00.0", "0000:06:00.0");
  CHECK(at_root.proximity == Proximity::same_host_bridge);
  CHECK(at_root.hops == 6);
  CHECK(between(topology, "0000:81:00.0", "0000:82:00.0").proximity == Proximity::same_host_bridge);
  CHECK(between(topology, "0000:81:00.0", "0000:c1:00.0").proximity == Proximity::same_node);
  const auto far = between(topology, "0000:03:00.0", "0000:82:00.0");
  CHECK(far.proximity == Proximity::other_node);
  CHECK(far.node_distance == 32);
  CHECK(describe(far) == "another NUMA node, distance 32");
  CHECK(between(topology, "0000:82:00.0", "0000:03:00.0") == far);
}

TEST_CASE("two sockets: the nearest, and why") {
  const MachineTree tree;
  two_sockets(tree);
  const Topology topology(tree.sysfs(), {4});
  const auto drive = nearest(topology, DeviceKind::nvme);
  REQUIRE(drive);
  CHECK(drive->device->address == "0000:04:00.0");
  CHECK(drive->origin->address == "0000:03:00.0");
  CHECK(
      drive->why ==
      "0000:04:00.0 with GPU 0000:03:00.0: below one PCIe switch or port, 4 hops; the next one, 0000:82:00.0 with GPU "
      "0000:81:00.0: below one host bridge, 4 hops");
  const auto nic = nearest(topology, DeviceKind::nic);
  REQUIRE(nic);
  CHECK(nic->why == "0000:05:00.0 with GPU 0000:03:00.0: below one PCIe switch or port, 4 hops; there is no other");
  // Of what one may choose from alone.
  const auto other = topology.nearest({&device(topology, "0000:c1:00.0"), &device(topology, "0000:06:00.0")});
  REQUIRE(other);
  CHECK(other->device->address == "0000:06:00.0");
  CHECK_FALSE(topology.nearest({}));
}

TEST_CASE("two sockets without a GPU: where we run decides") {
  const MachineTree tree;
  two_sockets(tree);
  // Displays of management boards and of virtual machines run no kernels.
  tree.function("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0x030000", "0x1a03", "ast", 0);
  tree.function("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030000", "0x1234", "bochs-drm", 1);
  const Topology second(tree.sysfs(), {5, 6});
  REQUIRE(second.devices(DeviceKind::gpu).empty());
  CHECK(second.processors().numa_node == 1);
  const auto drive = nearest(second, DeviceKind::nvme);
  REQUIRE(drive);
  CHECK(drive->origin == nullptr);
  CHECK(drive->why ==
        "0000:82:00.0 with the processors (NUMA node 1): the same NUMA node; the first of 2 that are as near");
  const auto here = nearest(Topology(tree.sysfs(), {0, 1, 2, 3}), DeviceKind::nvme);
  REQUIRE(here);
  CHECK(here->why ==
        "0000:06:00.0 with the processors (NUMA node 0): the same NUMA node; the next one, 0000:04:00.0: the same "
        "NUMA node");
  // Not bound to either.
  const Topology both(tree.sysfs(), {3, 4});
  CHECK(both.processors().numa_node == -1);
  const auto any = nearest(both, DeviceKind::nvme);
  REQUIRE(any);
  CHECK(any->distance.proximity == Proximity::unknown);
  CHECK(contains(any->why, "of several NUMA nodes"));
}

TEST_CASE("one socket: firmware that tells no node") {
  const MachineTree tree;
  tree.numa(1, 8);
  tree.bridge("pci0000:00/0000:00:01.0");
  tree.gpu("pci0000:00/0000:00:01.0/0000:01:00.0");
  tree.nvme("pci0000:00/0000:00:1d.0", "nvme0");
  tree.nvme("pci0000:10/0000:10:00.0", "nvme1");
  const Topology topology(tree.sysfs(), {0});
  CHECK(device(topology, "0000:10:00.0").place.numa_node == 0);
  CHECK(between(topology, "0000:01:00.0", "0000:10:00.0").proximity == Proximity::same_node);
  CHECK(between(topology, "0000:01:00.0", "0000:00:1d.0").proximity == Proximity::same_host_bridge);
  CHECK(nearest(topology, DeviceKind::nvme)->device->address == "0000:00:1d.0");
}

TEST_CASE("no NUMA information at all") {
  const MachineTree tree;
  tree.gpu("pci0000:00/0000:00:01.0");
  tree.nvme("pci0000:10/0000:10:00.0", "nvme0");
  tree.nvme("pci0000:10/0000:10:01.0/0000:11:00.0", "nvme1");
  const Topology topology(tree.sysfs(), {0});
  CHECK(topology.numa().nodes.empty());
  CHECK(topology.processors().numa_node == -1);
  const auto drive = nearest(topology, DeviceKind::nvme);
  REQUIRE(drive);
  CHECK(drive->distance.proximity == Proximity::unknown);
  CHECK(drive->device->address == "0000:10:00.0");
  CHECK(contains(drive->why, "nothing in common that this machine reports"));
}

TEST_CASE("two nodes, of which firmware does not tell: a bridge may know") {
  const MachineTree tree;
  tree.numa(2, 2);
  tree.bridge("pci0000:80/0000:80:01.0", 1);
  tree.nvme("pci0000:80/0000:80:01.0/0000:81:00.0", "nvme0");
  tree.nvme("pci0000:90/0000:90:01.0", "nvme1");
  const Topology topology(tree.sysfs(), {2});
  CHECK(device(topology, "0000:81:00.0").place.numa_node == 1);
  CHECK(device(topology, "0000:90:01.0").place.numa_node == -1);
  CHECK(nearest(topology, DeviceKind::nvme)->device->address == "0000:81:00.0");
}

TEST_CASE("virtual functions are of their device") {
  const MachineTree tree;
  tree.numa(1, 2);
  tree.bridge("pci0000:00/0000:00:01.0");
  tree.nic("pci0000:00/0000:00:01.0/0000:01:00.0", "mlx5_0", "ens1");
  tree.nic("pci0000:00/0000:00:01.0/0000:01:01.2", "mlx5_1", "ens1v2");
  tree.link("sys/devices/pci0000:00/0000:00:01.0/0000:01:01.2/physfn", "sys/bus/pci/devices/0000:01:00.0");
  tree.nic("pci0000:00/0000:00:01.0/0000:01:01.3", "mlx5_2", "ens1v3");
  tree.link("sys/devices/pci0000:00/0000:00:01.0/0000:01:01.3/physfn", "sys/bus/pci/devices/0000:01:00.0");
  tree.nic("pci0000:00/0000:00:01.0/0000:01:04.0", "mlx5_3", "ens4");
  const Topology topology(tree.sysfs(), {0});
  CHECK_FALSE(device(topology, "0000:01:00.0").is_virtual_function);
  CHECK(device(topology, "0000:01:01.2").is_virtual_function);
  CHECK(between(topology, "0000:01:00.0", "0000:01:01.2").proximity == Proximity::same_device);
  CHECK(between(topology, "0000:01:01.2", "0000:01:01.3").proximity == Proximity::same_device);
  CHECK(between(topology, "0000:01:01.2", "0000:01:01.3").hops == 0);
  // Of another device at the same port.
  CHECK(between(topology, "0000:01:00.0", "0000:01:04.0").proximity == Proximity::same_switch);
  CHECK(between(topology, "0000:01:00.0", "0000:01:04.0").hops == 2);
}

TEST_CASE("a drive behind Thunderbolt, and one behind a volume management device") {
  const MachineTree tree;
  tree.numa(1, 2);
  tree.gpu("pci0000:00/0000:00:02.0");
  tree.bridge("pci0000:00/0000:00:07.0");
  tree.bridge("pci0000:00/0000:00:07.0/0000:03:00.0");
  tree.write("sys/devices/pci0000:00/0000:00:07.0/0000:03:00.0/removable", "removable");
  tree.nvme("pci0000:00/0000:00:07.0/0000:03:00.0/0000:04:00.0", "nvme0");
  tree.function("pci0000:00/0000:00:0e.0", "0x010400", "0x8086", "vmd");
  tree.bridge("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0");
  tree.nvme("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", "nvme1");
  const Topology topology(tree.sysfs(), {0});
  CHECK(device(topology, "0000:04:00.0").place.removable);
  const MachineDevice& managed = device(topology, "10000:e1:00.0");
  CHECK_FALSE(managed.place.removable);
  CHECK(managed.place.path ==
        std::vector<std::string>{"pci0000:00", "0000:00:0e.0", "pci10000:e0", "10000:e0:06.0", "10000:e1:00.0"});
  CHECK(between(topology, "0000:00:02.0", "10000:e1:00.0").proximity == Proximity::same_host_bridge);
}

TEST_CASE("devices without a place: software, platform, gone") {
  const MachineTree tree;
  tree.numa(2, 2);
  tree.nic("pci0000:00/0000:00:03.0", "mlx5_0", "eth0", 1);
  // soft-RoCE on an interface with a function, on a VLAN of it, and on one that is software too.
  for (const auto& [name, net] : {std::pair{"rxe0", "eth0"}, std::pair{"rxe1", "eth0.7"}, std::pair{"rxe2", "veth0"}}) {
    tree.folder("sys/devices/virtual/infiniband/" + std::string(name));
    tree.write("sys/devices/virtual/infiniband/" + std::string(name) + "/parent", net);
    tree.link("sys/class/infiniband/" + std::string(name), "sys/devices/virtual/infiniband/" + std::string(name));
  }
  tree.link("sys/class/net/eth0.7", "sys/devices/virtual/net/eth0.7");
  tree.folder("sys/devices/virtual/net/eth0.7");
  tree.link("sys/devices/virtual/net/eth0.7/lower_eth0", "sys/class/net/eth0");
  tree.link("sys/class/net/veth0", "sys/devices/virtual/net/veth0");
  tree.folder("sys/devices/virtual/net/veth0");
  // A NIC that is no PCI device.
  tree.write("sys/devices/platform/HISI00D1:00/numa_node", "0");
  tree.link("sys/devices/platform/HISI00D1:00/driver", "sys/bus/platform/drivers/hns_roce");
  tree.folder("sys/devices/platform/HISI00D1:00/infiniband/hns_0");
  tree.link("sys/devices/platform/HISI00D1:00/infiniband/hns_0/device", "sys/devices/platform/HISI00D1:00");
  tree.link("sys/class/infiniband/hns_0", "sys/devices/platform/HISI00D1:00/infiniband/hns_0");
  // A virtual machine's, whose interface lies one folder further down.
  tree.function("pci0000:00/0000:00:05.0", "0x020000", "0x1af4", "virtio-pci", 0);
  tree.folder("sys/devices/pci0000:00/0000:00:05.0/virtio2/net/eth1");
  // A function whose folder has gone, and one that no host bridge is above.
  tree.link("sys/bus/pci/devices/0000:09:00.0", "sys/devices/pci0000:00/0000:09:00.0");
  tree.nvme("0000:0a:00.0", "nvme0");
  const Topology topology(tree.sysfs(), {2, 3});
  REQUIRE(labels(topology.devices(DeviceKind::nic)) == "0000:00:03.0 0000:00:05.0 hns_0 rxe0 rxe1 rxe2");
  CHECK(device(topology, "0000:00:05.0").nets == std::vector<std::string>{"eth1"});
  CHECK(device(topology, "rxe0").driver == "rdma_rxe");
  CHECK(device(topology, "rxe0").place.numa_node == 1);
  CHECK(device(topology, "rxe1").place.path == device(topology, "0000:00:03.0").place.path);
  CHECK(device(topology, "rxe2").place.path.empty());
  CHECK(device(topology, "hns_0").place.numa_node == 0);
  CHECK(device(topology, "hns_0").driver == "hns_roce");
  CHECK(between(topology, "rxe2", "0000:00:03.0").proximity == Proximity::unknown);
  CHECK(between(topology, "rxe0", "rxe1").proximity == Proximity::same_device);
  CHECK(nearest(topology, DeviceKind::nic)->device->label() == "0000:00:03.0");
  CHECK(labels(topology.devices(DeviceKind::nvme)) == "0000:0a:00.0");
  CHECK(between(topology, "0000:0a:00.0", "0000:00:03.0").proximity == Proximity::unknown);
}

TEST_CASE("no sysfs at all, and the machine that this runs on") {
  const Topology nothing("/nonexistent");
  CHECK(nothing.devices().empty());
  CHECK_FALSE(xio::host::usable_processors().empty());
  const Topology here;
  for (const MachineDevice& one : here.devices()) CHECK_FALSE(one.label().empty());
}

}  // namespace
