// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester rdma-ep` from its options to its report.

#include <string>
#include <vector>

#include "tester/measure/spread.hpp"
#include "tester/rdma/options.hpp"
#include "tester/rdma/runner.hpp"

namespace tester {

/// All results of a run, for the tables and the JSON file.
struct RdmaReport {
  const RdmaOptions* options = nullptr;
  const RdmaProvider* provider = nullptr;
  std::vector<RdmaResult> results;  ///< one per transfer size
  bool interrupted = false;
  bool interrupted_there = false;  ///< on the other of two nodes
  std::string trouble;             ///< why the run ended early, or a violation reported by the NIC; empty if neither

  uint64_t wrong() const;
  /// Whether --verify was given but no operation of some transfer size was compared.
  bool verified_nothing() const;
  int exit_status() const;
};

/// The requested provider, or the device's, whose name is stored in the options. Throws BadInput and CannotRun.
RdmaProvider choose_provider(RdmaOptions& options);

/// Stores the GPU that runs the kernels in the options, if one is wanted. The CPU runs what it cannot run, unless the
/// GPU was requested explicitly. Throws CannotRun.
void choose_processor(RdmaOptions& options);

/// Error of one transfer size beyond single operations; empty if there was none.
std::string trouble_of(const RdmaOptions& options, const RdmaResult& result);

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun, Failed and host::Error.
int run_rdma(const RdmaOptions& given);

/// Prints everything to standard output.
void print_tables(const RdmaReport& report);

/// Writes the JSON file, if requested.
void write_json(const RdmaReport& report);

/// Spread of one figure over the runs.
Spread spread(const RdmaResult& result, double RdmaRun::* figure);

/// A step shown by --substep-timing.
struct RdmaStep {
  xio::telemetry::Step step;
  const char* id;     ///< name in JSON
  const char* title;  ///< title in tables
};
constexpr RdmaStep rdma_steps[] = {{xio::telemetry::Step::enqueue, "post", "post"},
                                   {xio::telemetry::Step::sq_doorbell, "sq_doorbell", "SQ doorbell"},
                                   {xio::telemetry::Step::cq_poll, "cq_poll", "CQ poll"}};

/// Name of a status, with the device's status number if it reported one.
std::string rdma_status_text(xio::Status status);

}  // namespace tester
