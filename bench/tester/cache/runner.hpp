// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs one phase of cache-ep, on the CPU or a GPU.

#include <cstdint>
#include <vector>

#include <xio/host/nvme/cache.hpp>

#include "tester/cache/options.hpp"
#include "tester/launch/gpu/executor.hpp"
#include "tester/launch/memory.hpp"
#include "tester/measure/result.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

/// Results of a phase, summed over all lanes.
struct CacheResult : Result {
  CacheOperation operation = CacheOperation::get;
  uint64_t asked = 0;
  xio::CacheCounts cache{};  ///< of this phase
  uint64_t page_bytes = 0;
  uint64_t sq_rings = 0;
  uint64_t cq_rings = 0;
  uint64_t seen_rings = 0;      ///< doorbells observed by the other side
  bool verified = false;        ///< values were compared
  std::vector<uint64_t> wrong;  ///< the first wrong element of each lane

  double rate() const { return seconds > 0 ? static_cast<double>(completed) / seconds : 0; }
  /// Of pages read and written.
  double megabytes_per_second() const {
    const uint64_t pages = cache.misses + cache.write_backs;
    return seconds > 0 ? static_cast<double>(pages * page_bytes) / seconds / 1e6 : 0;
  }
  bool failed_any() const { return failed != 0 || wrong_count != 0; }
};

/// "put", "flush", "get".
const char* name_of(CacheOperation operation);

/// What a run needs besides its options.
struct CachePlan {
  CacheContent content;
  uint32_t waves = 1;
  uint32_t wave_size = 1;
  uint32_t spin = 0;  ///< as NvmePlan::spin
};

class CacheRunner {
 public:
  /// @param gpu  null: the CPU runs the kernel
  CacheRunner(const TesterCacheOptions& options, const CachePlan& plan, const Targets& targets,
              const ExecutorMemory& memory, GpuExecutor* gpu, const xio::host::NvmeCache& cache);

  CacheResult run(CacheOperation operation);

 private:
  uint64_t asked(CacheOperation operation) const;
  void prepare_lanes();
  CachePhase describe(CacheOperation operation) const;
  void execute(const CachePhase& phase);
  void collect(CacheResult& result) const;
  uint64_t done() const;

  const TesterCacheOptions& options_;
  const CachePlan& plan_;
  std::vector<const Target*> targets_;
  const ExecutorMemory& memory_;
  GpuExecutor* gpu_;
  const xio::host::NvmeCache& cache_;
  MirroredArray<CacheLane> lanes_;
  MirroredArray<Latency> latencies_;
  SharedArray<uint64_t> progress_;
  SharedArray<uint32_t> stop_;
};

}  // namespace tester
