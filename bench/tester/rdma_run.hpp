// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester rdma-ep` from its options to its report.

#include <string>
#include <vector>

#include "tester/rdma_options.hpp"
#include "tester/rdma_runner.hpp"

namespace tester {

constexpr const char* rdma_heading = "in-process model, not a NIC";

/// Everything that a run came to; the tables and the JSON file say the same.
struct RdmaReport {
  const RdmaOptions* options = nullptr;
  std::vector<RdmaResult> results;  ///< one for each transfer size
  bool interrupted = false;
  std::string trouble;  ///< why the run ended early, or what the NIC complained of; empty where nothing was

  uint64_t wrong() const;
  int exit_status() const;
};

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_rdma(const RdmaOptions& options);

/// Prints everything to standard output.
void print_tables(const RdmaReport& report);

/// Writes the JSON file, where one was asked for.
void write_json(const RdmaReport& report);

/// Least, mean, deviation and most of one figure of the runs.
struct Spread {
  double least = 0;
  double mean = 0;
  double deviation = 0;
  double most = 0;
};
Spread spread(const RdmaResult& result, double RdmaRun::* figure);

/// Name of a status, with the device's own number where it answered.
std::string rdma_status_text(xio::Status status);
const char* name_of(RdmaVerb verb);

}  // namespace tester
