// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester nvme-ep` from its options to its report.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/gpu/runtime.hpp>

#include "tester/launch/choice.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/phase_result.hpp"
#include "tester/nvme/plan.hpp"
#include "tester/nvme/target.hpp"
#include "tester/nvme/verification.hpp"

namespace tester {

/// Everything that a run came to; the tables and the JSON file say the same.
struct NvmeReport {
  const NvmeOptions* options = nullptr;
  const Target* target = nullptr;
  NvmePlan plan;
  xio::host::QueuePlan rings;
  std::string gpu;       ///< whose memory is used; empty: no GPU's
  std::string executor;  ///< the GPU that ran the kernels; empty: the CPU did
  std::vector<PhaseResult> phases;
  Verification verification;
  bool interrupted = false;
  std::string trouble;  ///< why the run ended early; empty where it did not

  int exit_status() const;
};

/// Whether a GPU has been shown to reach the controller: then it is taken where there is one, else where it is asked
/// for.
bool gpu_reaches(const Target& target);

/// Runs without reporting, with queues of its own. `options` and `target` outlive what is returned. Throws BadInput and
/// host::Error.
/// @param gpu       for options with a memory mode: gpu_for_mode()
/// @param executor  who runs the kernels
NvmeReport measure(const NvmeOptions& options, const Target& target,
                   const std::shared_ptr<xio::host::GpuRuntime>& gpu = {}, const ChosenExecutor& executor = {});

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_nvme(const NvmeOptions& given);

}  // namespace tester
