// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How a kernel on this machine's GPU would reach the doorbells of a drive.

#include <string>
#include <vector>

#include <xio/host/gpu/find.hpp>
#include <xio/host/memory/doorbell_mapping.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "tester/doctor/machine.hpp"

namespace tester::doctor {

/// A way to a doorbell, and what is known of it.
struct DoorbellWay {
  std::string state;  ///< "used", "refused", "would be tried", "is left"
  std::string name;
  std::string outcome;  ///< why, for people
};

/// All ways, best first.
struct DoorbellView {
  std::string executor;  ///< whose doorbells: "HIP 7.2, GPU 0 at ...", "no GPU"
  std::vector<DoorbellWay> ways;
  std::string hint;  ///< how to find out more; empty: nothing is left to find out
};

/// The GPU that doctor would map doorbells for. Loads no runtime where there is no GPU that works.
xio::host::FoundGpu gpu_for_doorbells(const Machine& machine);

/// Tries every way on the registers of an idle controller; without one, or without a GPU, says what would be tried.
/// @param controller  null: there is none to try it on. Not enabled; its registers are as before afterwards
DoorbellView view_doorbells(const xio::host::FoundGpu& gpu, xio::host::VfioNvme* controller);

}  // namespace tester::doctor
