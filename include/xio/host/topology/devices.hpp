// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Discovery of GPUs, NVMe controllers and NICs in sysfs, without querying their drivers.

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/topology/place.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

enum class DeviceKind : uint8_t { gpu, nvme, nic };

/// Human-readable name of a device kind, for use in a sentence.
inline const char* name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu: return "GPU";
    case DeviceKind::nvme: return "NVMe controller";
    default: return "NIC";
  }
}

/// A device and its place in the machine.
struct MachineDevice {
  DeviceKind kind = DeviceKind::gpu;
  std::string address;  ///< address of the PCI function; empty for a device without one, such as a software NIC
  std::string driver;   ///< name of the bound driver; empty: none
  uint32_t vendor = 0;  ///< PCI vendor identifier
  std::vector<std::string> names;  ///< kernel names: "nvme0", "mlx5_0", "rxe0"; empty for a NIC without verbs
  std::vector<std::string> nets;   ///< network interfaces of a NIC
  bool is_virtual_function = false;
  Place place;

  /// Returns the PCI address, or the first name if there is none.
  std::string label() const { return address.empty() && !names.empty() ? names.front() : address; }
};

namespace detail {

/// Returns whether a PCI function is a GPU that can run kernels. Display controllers of server management boards and of
/// virtual machines cannot.
inline bool is_gpu(uint32_t class_code, uint32_t vendor) {
  constexpr uint32_t amd = 0x1002;
  constexpr uint32_t nvidia = 0x10de;
  const bool display = class_code >> 16 == 0x03;
  const bool accelerator = class_code >> 8 == 0x1200;
  return (display || accelerator) && (vendor == amd || vendor == nvidia);
}

inline bool is_nic(uint32_t class_code) { return class_code >> 16 == 0x02; }

/// Returns the PCI function of a network interface, resolved through lower interfaces (bonds, VLANs); empty if none.
inline std::string function_of_net(const std::string& sysfs, const std::string& net, int depth = 4) {
  const std::string folder = sysfs + "/class/net/" + net;
  std::string device = last_part(real_path(folder + "/device"));
  if (!device.empty() && PciFunction(device, sysfs).present()) return device;
  // A virtio interface is one directory below its function.
  std::string above = last_part(real_path(folder + "/device/.."));
  if (!above.empty() && PciFunction(above, sysfs).present()) return above;
  const std::string lower = "lower_";
  for (const std::string& entry : names_in(folder)) {
    if (depth == 0 || entry.compare(0, lower.size(), lower) != 0) continue;
    std::string found = function_of_net(sysfs, entry.substr(lower.size()), depth - 1);
    if (!found.empty()) return found;
  }
  return {};
}

/// Network interfaces of a PCI function; virtio interfaces are one directory further down.
inline std::vector<std::string> nets_of(const PciFunction& pci) {
  std::vector<std::string> all = pci.names_in("net");
  if (!all.empty()) return all;
  for (const std::string& entry : pci.names_in("."))
    if (entry.compare(0, 6, "virtio") == 0) all = pci.names_in(entry + "/net");
  return all;
}

/// Verbs devices without a PCI function, such as soft-RoCE devices.
inline std::vector<MachineDevice> other_verbs_devices(const std::string& sysfs, const NumaNodes& numa) {
  std::vector<MachineDevice> all;
  const std::string folder = sysfs + "/class/infiniband/";
  for (const std::string& name : names_in(folder)) {
    const std::string device = last_part(real_path(folder + name + "/device"));
    if (!device.empty() && PciFunction(device, sysfs).present()) continue;
    MachineDevice one;
    one.kind = DeviceKind::nic;
    one.names = {name};
    const std::string net = first_word(folder + name + "/parent");
    if (!net.empty()) {
      one.nets = {net};
      one.driver = "rdma_rxe";
      // It sends through that interface, so it has the interface's place.
      const std::string function = function_of_net(sysfs, net);
      if (!function.empty()) one.place = place_of(PciFunction(function, sysfs), numa);
    } else {
      one.driver = last_part(link_target(folder + name + "/device/driver"));
      one.place.numa_node = numa.resolve(signed_number(folder + name + "/device/numa_node").value_or(-1));
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace detail

/// Lists all devices, sorted by kind and address. A device that disappears meanwhile is omitted or incomplete.
/// @param sysfs  root of sysfs
inline std::vector<MachineDevice> machine_devices(const std::string& sysfs, const NumaNodes& numa) {
  std::vector<MachineDevice> all;
  for (const PciFunction& pci : pci_functions(sysfs)) {
    const uint32_t class_code = pci.class_code();
    MachineDevice one;
    one.vendor = pci.vendor();
    if (detail::is_gpu(class_code, one.vendor)) {
      one.kind = DeviceKind::gpu;
    } else if (class_code == PciFunction::nvme_class) {
      one.kind = DeviceKind::nvme;
      one.names = pci.names_in("nvme");
    } else if (detail::is_nic(class_code)) {
      one.kind = DeviceKind::nic;
      one.names = pci.names_in("infiniband");
      one.nets = detail::nets_of(pci);
    } else {
      continue;
    }
    one.address = pci.address();
    one.driver = pci.driver();
    one.is_virtual_function = !pci.physical_function().empty();
    one.place = place_of(pci, numa);
    all.push_back(std::move(one));
  }
  for (MachineDevice& one : detail::other_verbs_devices(sysfs, numa)) all.push_back(std::move(one));
  // Devices without a PCI function come last.
  std::sort(all.begin(), all.end(), [](const MachineDevice& a, const MachineDevice& b) {
    return std::make_tuple(a.kind, a.address.empty(), a.label()) <
           std::make_tuple(b.kind, b.address.empty(), b.label());
  });
  return all;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
