// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checks which modes work on a machine, and what prevents the others.

#include <string>
#include <vector>

#include "tester/doctor/machine.hpp"

namespace tester::doctor {

/// A condition that prevents a mode, or a device in it, from working.
struct Obstacle {
  std::string what;
  std::string fix;  ///< a command if there is a single one, else a description
};

/// A device in one mode; it works if it has no obstacles.
struct DeviceReport {
  std::string name;  ///< as accepted by --controller or --device, or its address
  std::vector<Obstacle> obstacles;
  std::vector<std::string> notes;
};

struct ModeReport {
  std::string mode;
  std::vector<Obstacle> obstacles;  ///< obstacles of the whole machine
  std::vector<DeviceReport> devices;
  bool needs_device = true;  ///< the mode needs at least one device without obstacles

  /// Names of the devices without obstacles.
  std::vector<std::string> usable() const;
  bool works() const;
};

/// A line about the machine's equipment.
struct Fact {
  std::string title;
  std::string text;
};

/// All modes, in display order.
inline const std::vector<std::string> all_modes = {"vfio", "kernel-shared", "qemu",    "emulated",
                                                   "rdma", "rxe",           "fabrics", "gpu"};

ModeReport check_vfio(const Machine& machine);
ModeReport check_kernel_shared(const Machine& machine);
ModeReport check_qemu(const Machine& machine);
ModeReport check_emulated(const Machine& machine);
/// Checks NICs whose formats the library supports.
ModeReport check_rdma(const Machine& machine);
/// Checks Soft-RoCE.
ModeReport check_rxe(const Machine& machine);
/// Checks NVMe over RDMA by Soft-RoCE.
ModeReport check_fabrics(const Machine& machine);
/// Checks kernels on a GPU.
ModeReport check_gpu(const Machine& machine);

/// Checks the mode named `mode`, one of all_modes.
ModeReport check_mode(const Machine& machine, const std::string& mode);

std::vector<Fact> facts_of(const Machine& machine);

// The IOMMU.

/// Numbers of all IOMMU groups backed by an IOMMU; empty if the IOMMU is off or missing.
std::vector<std::string> iommu_groups(const Machine& machine);

/// Why there are no IOMMU groups, and the fix. Only for machines without groups.
Obstacle no_iommu(const Machine& machine);

/// Whether the IOMMU remaps interrupts, according to the kernel's list of interrupts; unknown counts as remapped.
bool interrupts_remapped(const Machine& machine);

Fact iommu_fact(const Machine& machine);

}  // namespace tester::doctor
