// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Prepares the memory of a phase, runs it, and sums the lanes' results.

#include <vector>

#include <xio/device/nvme/handle.hpp>

#include "tester/launch/gpu/executor.hpp"
#include "tester/launch/memory.hpp"
#include "tester/nvme/data_place.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/phase.hpp"
#include "tester/nvme/phase_result.hpp"
#include "tester/nvme/plan.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

class PhaseRunner {
 public:
  /// @param queues  of the first drive, NvmeOptions::num_queues or more; they must outlive the runner
  /// @param gpu     null: kernels run on the CPU
  PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
              const ExecutorMemory& memory, GpuExecutor* gpu, const std::vector<xio::nvme::QueueHandle>& queues,
              DataPlace data);

  /// @param pattern  blocks of the operations
  /// @param known    reads: the blocks hold contents written by this tool
  /// @param repeat   repeat the operations until the time is up or a stop is requested
  PhaseResult run(Direction direction, uint64_t operations, const AccessPattern& pattern, bool known, bool repeat);

 private:
  void prepare_lanes();
  /// Allocates the place tables of lanes with their own queue; returns the number of entries per lane.
  size_t prepare_places();
  Phase describe(Direction direction, uint64_t operations, const AccessPattern& pattern, bool known, bool repeat) const;
  void collect(PhaseResult& result) const;

  const NvmeOptions& options_;
  const NvmePlan& plan_;
  std::vector<const Target*> targets_;
  const ExecutorMemory& memory_;
  GpuExecutor* gpu_;
  double tick_ns_;
  DataPlace data_;
  MirroredArray<xio::nvme::QueueHandle> handles_;
  MirroredArray<Slot> slots_;
  MirroredArray<uint32_t> places_;
  MirroredArray<Latency> latencies_;   // for each drive
  MirroredArray<uint64_t> failed_on_;  // the same, of several drives
  MirroredArray<WrongBlock> wrong_;
  MirroredArray<Lane> lanes_;
  SharedArray<uint64_t> progress_;  // per lane
  SharedArray<uint32_t> stop_;
};

}  // namespace tester
