// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester kv-ep` from its options to its report.

#include <string>
#include <vector>

#include "tester/kv/runner.hpp"

namespace tester {

/// All that is reported about a run.
struct KvReport {
  const KvOptions* options = nullptr;
  const Target* target = nullptr;
  KvPlan plan;
  std::string executor;  ///< description of the GPU that ran the kernels; empty: the CPU
  std::vector<KvResult> phases;
  std::string trouble;  ///< why the run ended early; empty: it did not
  bool interrupted = false;

  int exit_status() const;
};

/// Prints tables, unless standard output is used for JSON.
void print_kv(const KvReport& report);
void write_kv(const KvReport& report);

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_kv(const KvOptions& options);

}  // namespace tester
