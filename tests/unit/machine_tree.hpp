// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A machine made of files: what sysfs, procfs and /dev would show of one, in a scratch folder.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <xio/host/error.hpp>

namespace host_tests {

/// Removed at its end. Paths are relative to its root.
class MachineTree {
 public:
  MachineTree() {
    char folder[] = "/tmp/xio-machine-XXXXXX";
    if (::mkdtemp(folder) == nullptr) throw xio::host::Error("cannot make a scratch folder");
    root_ = folder;
  }
  MachineTree(const MachineTree&) = delete;
  MachineTree& operator=(const MachineTree&) = delete;
  ~MachineTree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }

  std::string path(const std::string& of) const { return root_ + "/" + of; }
  std::string sysfs() const { return path("sys"); }

  void write(const std::string& to, const std::string& text) const {
    make_folder_of(to);
    std::ofstream(path(to)) << text << '\n';
  }
  /// A link as sysfs has them, whose target need not exist.
  void link(const std::string& from, const std::string& to) const {
    make_folder_of(from);
    std::error_code error;
    std::filesystem::remove(path(from), error);
    std::filesystem::create_symlink(path(to), path(from));
  }
  void folder(const std::string& of) const { std::filesystem::create_directories(path(of)); }

  /// A PCI function in a folder below sys/devices, such as "pci0000:00/0000:00:01.0/0000:01:00.0".
  /// @param driver  empty: none
  void function(const std::string& where, const std::string& class_code, const std::string& vendor,
                const std::string& driver = "", int numa_node = -1) const {
    const std::string device = "sys/devices/" + where;
    const std::string address = where.substr(where.rfind('/') + 1);
    write(device + "/class", class_code);
    write(device + "/vendor", vendor);
    write(device + "/numa_node", std::to_string(numa_node));
    link("sys/bus/pci/devices/" + address, device);
    if (!driver.empty()) {
      folder("sys/bus/pci/drivers/" + driver);
      link(device + "/driver", "sys/bus/pci/drivers/" + driver);
    }
  }
  /// A bridge or switch port.
  void bridge(const std::string& where, int numa_node = -1) const {
    function(where, "0x060400", "0x8086", "pcieport", numa_node);
  }
  void gpu(const std::string& where, int numa_node = -1) const {
    function(where, "0x120000", "0x1002", "amdgpu", numa_node);
  }
  /// With the kernel's driver, as /dev/nvmeN.
  void nvme(const std::string& where, const std::string& name, int numa_node = -1) const {
    function(where, "0x010802", "0x144d", "nvme", numa_node);
    folder("sys/devices/" + where + "/nvme/" + name);
    link("sys/class/nvme/" + name, "sys/devices/" + where + "/nvme/" + name);
    link("sys/devices/" + where + "/nvme/" + name + "/device", "sys/devices/" + where);
  }
  /// A NIC with a verbs device and a network interface.
  void nic(const std::string& where, const std::string& verbs, const std::string& net, int numa_node = -1) const {
    function(where, "0x020000", "0x15b3", "mlx5_core", numa_node);
    const std::string device = "sys/devices/" + where;
    folder(device + "/infiniband/" + verbs);
    link("sys/class/infiniband/" + verbs, device + "/infiniband/" + verbs);
    link(device + "/infiniband/" + verbs + "/device", device);
    folder(device + "/net/" + net);
    link("sys/class/net/" + net, device + "/net/" + net);
    link(device + "/net/" + net + "/device", device);
  }
  /// Nodes with so many processors each, near to themselves and equally far from each other.
  void numa(uint32_t nodes, uint32_t processors) const {
    write("sys/devices/system/node/online", nodes == 1 ? "0" : "0-" + std::to_string(nodes - 1));
    for (uint32_t node = 0; node < nodes; ++node) {
      const std::string folder = "sys/devices/system/node/node" + std::to_string(node);
      const uint32_t first = node * processors;
      write(folder + "/cpulist", std::to_string(first) + "-" + std::to_string(first + processors - 1));
      std::string distances;
      for (uint32_t other = 0; other < nodes; ++other) distances += other == node ? "10 " : "32 ";
      write(folder + "/distance", distances);
    }
  }
  /// Puts a function into an IOMMU group.
  void iommu_group(const std::string& address, const std::string& number, const std::string& type = "DMA-FQ") const {
    const std::string group = "sys/kernel/iommu_groups/" + number;
    write(group + "/type", type);
    link(group + "/devices/" + address, "sys/bus/pci/devices/" + address);
    link("sys/bus/pci/devices/" + address + "/iommu_group", group);
  }

 private:
  void make_folder_of(const std::string& of) const {
    std::filesystem::create_directories(std::filesystem::path(path(of)).parent_path());
  }

  std::string root_;
};

}  // namespace host_tests
