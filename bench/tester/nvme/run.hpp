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
#include "tester/nvme/smart.hpp"
#include "tester/nvme/target.hpp"
#include "tester/nvme/verification.hpp"

namespace tester {

/// All results of a run, for the tables and the JSON file.
struct NvmeReport {
  const NvmeOptions* options = nullptr;
  const Target* target = nullptr;      ///< the first one
  std::vector<const Target*> targets;  ///< all of them
  NvmePlan plan;
  xio::host::QueuePlan rings;
  std::string gpu;       ///< GPU whose memory is used; empty: none
  std::string executor;  ///< the GPU that ran the kernels; empty: the CPU
  std::vector<PhaseResult> phases;
  Verification verification;
  CrossCheck smart;
  bool interrupted = false;
  std::string trouble;  ///< why the run ended early; empty if it did not

  int exit_status() const;
};

/// Whether GPUs are known to be able to access the controller: then a GPU is chosen if present, else only on request.
bool gpu_reaches(const Target& target);

/// Runs without reporting, on newly created queues. `options` and `target` must outlive the result. Throws BadInput and
/// host::Error.
/// @param gpu       for options with a memory mode: gpu_for_mode()
/// @param executor  processor that runs the kernels
NvmeReport measure(const NvmeOptions& options, const Target& target,
                   const std::shared_ptr<xio::host::GpuRuntime>& gpu = {}, const ChosenExecutor& executor = {});
/// The same over one or several controllers; several, and one behind RDMA, have no memory mode.
NvmeReport measure(const NvmeOptions& options, const Targets& targets,
                   const std::shared_ptr<xio::host::GpuRuntime>& gpu, const ChosenExecutor& executor);

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_nvme(const NvmeOptions& given);

}  // namespace tester
