// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester cache-ep` from its options to its report.

#include <memory>
#include <string>
#include <vector>

#include "tester/cache/runner.hpp"

namespace tester {

/// All that is reported about a run.
struct CacheReport {
  const TesterCacheOptions* options = nullptr;
  const Targets* targets = nullptr;
  const xio::host::NvmeCache* cache = nullptr;
  CachePlan plan;
  std::string executor;  ///< description of the GPU that ran the kernels; empty: the CPU
  std::vector<CacheResult> phases;
  std::string trouble;  ///< why the run ended early; empty: it did not
  bool interrupted = false;

  int exit_status() const;
};

/// Prints tables, unless standard output is used for JSON.
void print_cache(const CacheReport& report);
void write_cache(const CacheReport& report);

/// Gets elements as the options say, twice with the same cache: so many that it is warm, and then for some time. Throws
/// BadInput, CannotRun and host::Error.
/// @param gpu      null: the CPU runs the kernels
/// @param seconds  of the second run, which is returned
CacheResult measure_gets(TesterCacheOptions options, const Targets& targets,
                         const std::shared_ptr<xio::host::GpuRuntime>& gpu, double seconds);

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_cache(const TesterCacheOptions& options);

}  // namespace tester
