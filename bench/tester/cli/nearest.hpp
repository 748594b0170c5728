// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Devices by where they sit: what `list` shows of them, and which one is taken where none is named and nothing
/// can be destroyed.

#include <string>

#include <nlohmann/json_fwd.hpp>
#include <xio/host/topology/topology.hpp>

namespace tester {

/// Where no device is named: what was taken instead, and why. An empty name: there is none to take.
struct Choice {
  std::string name;
  std::string why;
};

/// For runs that only read: the nearest controller that its owner has given to vfio-pci, as `vfio:BDF`. Drives of the
/// kernel's driver are never taken.
Choice choose_controller(const xio::host::Topology& topology);

/// For one of two processes: the nearest device of soft-RoCE whose port is up. Others' memory is only written where
/// the other process says so.
/// @param sysfs  root of sysfs, the same as the topology's
Choice choose_rdma_device(const xio::host::Topology& topology, const std::string& sysfs = "/sys");

/// One line on standard error.
void announce(const std::string& flag, const Choice& choice);

/// Adds GPUs, NICs and where controllers sit to what `list` has found.
void add_places(nlohmann::ordered_json& list, const xio::host::Topology& topology);

/// Lines for people of what add_places() has added beside the controllers.
void print_places(const nlohmann::ordered_json& list);

}  // namespace tester
