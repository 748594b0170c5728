// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Devices by topology: their display in `list`, and the default device of runs that cannot destroy data.

#include <string>

#include <nlohmann/json_fwd.hpp>
#include <xio/host/topology/topology.hpp>

namespace tester {

/// Device chosen by default, and the reason. Empty name: no suitable device.
struct Choice {
  std::string name;
  std::string why;
};

/// For runs that only read: the nearest controller bound to vfio-pci, as `vfio:BDF`. Controllers of the kernel's driver
/// are never chosen.
Choice choose_controller(const xio::host::Topology& topology);

/// For one of two processes: the nearest soft-RoCE device whose port is up. Remote memory is written only where the
/// other process allows it.
/// @param sysfs  root of sysfs, the same as the topology's
Choice choose_rdma_device(const xio::host::Topology& topology, const std::string& sysfs = "/sys");

/// Reports the choice in one line on standard error.
void announce(const std::string& flag, const Choice& choice);

/// Adds GPUs, NICs and the location of controllers to the output of `list`.
void add_places(nlohmann::ordered_json& list, const xio::host::Topology& topology);

/// Prints as text what add_places() added, except for controllers.
void print_places(const nlohmann::ordered_json& list);

}  // namespace tester
