// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Prepares the memory of a phase, runs it, and sums the lanes' results.

#include <vector>

#include <xio/host/memory.hpp>
#include <xio/host/nvme/drive_set.hpp>
#include <xio/host/nvme/queue.hpp>

#include "tester/launch/gpu/executor.hpp"
#include "tester/launch/memory.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/phase.hpp"
#include "tester/nvme/phase_result.hpp"
#include "tester/nvme/plan.hpp"
#include "tester/nvme/striped_queue.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

class PhaseRunner {
 public:
  /// @param queues  must outlive the runner
  /// @param data    NvmePlan::data_bytes bytes
  /// @param gpu     null: kernels run on the CPU
  PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
              const ExecutorMemory& memory, GpuExecutor* gpu, const std::vector<xio::host::NvmeQueue>& queues,
              xio::host::DmaBuffer data);
  /// For several drives.
  /// @param set  must outlive the runner
  PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
              const ExecutorMemory& memory, GpuExecutor* gpu, const xio::host::NvmeDriveSet& set,
              xio::host::DriveBuffer data);
  /// For a controller behind RDMA, with its queues and their memory for data.
  /// @param remote  must outlive the runner
  PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
              const ExecutorMemory& memory, const RemoteController& remote);

  /// @param pattern  blocks of the operations
  /// @param known    reads: the blocks hold contents written by this tool
  /// @param repeat   repeat the operations until the time is up or a stop is requested
  PhaseResult run(Direction direction, uint64_t operations, const AccessPattern& pattern, bool known, bool repeat);

 private:
  PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
              const ExecutorMemory& memory, GpuExecutor* gpu);
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
  xio::host::DmaBuffer data_;
  xio::host::DriveBuffer striped_data_;
  unsigned char* remote_data_ = nullptr;
  MirroredArray<Stripes> stripes_;  // several drives: one object
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
