// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs one phase of kv-ep, on the CPU or a GPU.

#include <cstdint>
#include <vector>

#include "tester/kv/plan.hpp"
#include "tester/launch/gpu/executor.hpp"
#include "tester/measure/result.hpp"

namespace tester {

/// Results of a phase, summed over all lanes.
struct KvResult : Result {
  KvOperation operation = KvOperation::store;
  uint64_t asked = 0;
  uint64_t bytes = 0;  ///< of values stored or fetched
  uint64_t sq_rings = 0;
  uint64_t cq_rings = 0;
  uint64_t seen_rings = 0;        ///< doorbells observed by the other side
  bool verified = false;          ///< sizes and values were compared
  std::vector<WrongValue> wrong;  ///< the first one of each lane

  double rate() const { return seconds > 0 ? static_cast<double>(completed) / seconds : 0; }
  double megabytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e6 : 0; }
  bool failed_any() const { return failed != 0 || wrong_count != 0; }
};

/// "store", "retrieve", "exist", "delete", "absent".
const char* name_of(KvOperation operation);

class KvRunner {
 public:
  /// @param gpu   null: the CPU runs the kernel
  /// @param data  a buffer for each lane of each queue, accessible to the kernel
  KvRunner(const KvOptions& options, const KvPlan& plan, const Target& target, const ExecutorMemory& memory,
           GpuExecutor* gpu, const std::vector<xio::host::NvmeQueue>& queues, xio::host::DmaBuffer data);

  KvResult run(KvOperation operation);

 private:
  void prepare_lanes();
  KvPhase describe(KvOperation operation) const;
  void execute(const KvPhase& phase);
  void collect(KvResult& result) const;
  uint64_t done() const;

  const KvOptions& options_;
  const KvPlan& plan_;
  const Target& target_;
  const ExecutorMemory& memory_;
  GpuExecutor* gpu_;
  xio::host::DmaBuffer data_;
  MirroredArray<xio::nvme::QueueHandle> handles_;
  MirroredArray<KvLane> lanes_;
  MirroredArray<Latency> latencies_;
  SharedArray<uint64_t> progress_;
  SharedArray<uint32_t> stop_;
};

}  // namespace tester
