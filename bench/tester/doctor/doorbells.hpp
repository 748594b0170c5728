// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ways by which a kernel on this machine's GPU can access the doorbells of a drive.

#include <string>
#include <vector>

#include <xio/host/gpu/find.hpp>
#include <xio/host/memory/doorbell_mapping.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "tester/doctor/machine.hpp"

namespace tester::doctor {

/// A way to access a doorbell, and its state.
struct DoorbellWay {
  std::string state;  ///< "used", "refused", "would be tried", "is left"
  std::string name;
  std::string outcome;  ///< reason, as text
};

/// All ways, best first.
struct DoorbellView {
  std::string executor;  ///< executor that rings them: "HIP 7.2, GPU 0 at ...", "no GPU"
  std::vector<DoorbellWay> ways;
  std::string hint;  ///< how to learn more; empty: everything is known
};

/// The GPU that doctor would map doorbells for. Loads no runtime if no GPU works.
xio::host::FoundGpu gpu_for_doorbells(const Machine& machine);

/// Tries every way on the registers of an idle controller; without a controller or a GPU, lists what would be tried.
/// @param controller  null: none. Must not be enabled; its registers are left unchanged
DoorbellView view_doorbells(const xio::host::FoundGpu& gpu, xio::host::VfioNvme* controller);

}  // namespace tester::doctor
