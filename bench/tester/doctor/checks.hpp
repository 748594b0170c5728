// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What works on a machine, mode by mode, and what stands in the way of the rest.

#include <string>
#include <vector>

#include "tester/doctor/machine.hpp"

namespace tester::doctor {

/// Something that keeps a mode, or a device in it, from working.
struct Obstacle {
  std::string what;
  std::string fix;  ///< one command where there is one, else what to do
};

/// A device in one mode; it works where there are no obstacles.
struct DeviceReport {
  std::string name;  ///< as --controller or --device takes it, or its address
  std::vector<Obstacle> obstacles;
  std::vector<std::string> notes;
};

struct ModeReport {
  std::string mode;
  std::vector<Obstacle> obstacles;  ///< of the machine as a whole
  std::vector<DeviceReport> devices;
  bool needs_device = true;  ///< one without obstacles

  /// Names of the devices that it works with.
  std::vector<std::string> usable() const;
  bool works() const;
};

/// A line on what there is, whether good or bad for a mode.
struct Fact {
  std::string title;
  std::string text;
};

/// Every mode that there is, in the order in which they are shown.
inline const std::vector<std::string> all_modes = {"vfio", "kernel-shared", "qemu", "emulated", "rdma", "rxe", "gpu"};

ModeReport check_vfio(const Machine& machine);
ModeReport check_kernel_shared(const Machine& machine);
ModeReport check_qemu(const Machine& machine);
ModeReport check_emulated(const Machine& machine);
/// NICs whose formats the library has.
ModeReport check_rdma(const Machine& machine);
/// Soft-RoCE.
ModeReport check_rxe(const Machine& machine);
/// Kernels on a GPU.
ModeReport check_gpu(const Machine& machine);

/// By its name, one of all_modes.
ModeReport check_mode(const Machine& machine, const std::string& mode);

std::vector<Fact> facts_of(const Machine& machine);

}  // namespace tester::doctor
