// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester rdma-ep` from its options to its report.

#include <string>
#include <vector>

#include "tester/rdma/options.hpp"
#include "tester/rdma/runner.hpp"

namespace tester {

/// Everything that a run came to; the tables and the JSON file say the same.
struct RdmaReport {
  const RdmaOptions* options = nullptr;
  const RdmaProvider* provider = nullptr;
  std::vector<RdmaResult> results;  ///< one for each transfer size
  bool interrupted = false;
  bool interrupted_there = false;  ///< on the other one of two nodes
  std::string trouble;             ///< why the run ended early, or what the NIC complained of; empty where nothing was

  uint64_t wrong() const;
  /// --verify was given, and of one transfer size not one operation was compared.
  bool verified_nothing() const;
  int exit_status() const;
};

/// The provider that was asked for, or the device's, whose name is left in the options. Throws BadInput and CannotRun.
RdmaProvider choose_provider(RdmaOptions& options);

/// Puts the GPU that runs the kernels into the options, where one is wanted: what it cannot run stays with the CPU
/// unless it was asked for. Throws CannotRun.
void choose_processor(RdmaOptions& options);

/// What went wrong with one transfer size beyond single operations; empty where nothing did.
std::string trouble_of(const RdmaOptions& options, const RdmaResult& result);

/// Runs and reports; returns the exit status. Throws BadInput, CannotRun, Failed and host::Error.
int run_rdma(const RdmaOptions& given);

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

/// What --substep-timing shows.
struct RdmaStep {
  xio::telemetry::Step step;
  const char* id;     ///< in JSON
  const char* title;  ///< in tables
};
constexpr RdmaStep rdma_steps[] = {{xio::telemetry::Step::enqueue, "post", "post"},
                                   {xio::telemetry::Step::sq_doorbell, "sq_doorbell", "SQ doorbell"},
                                   {xio::telemetry::Step::cq_poll, "cq_poll", "CQ poll"}};

/// Name of a status, with the device's own number where it answered.
std::string rdma_status_text(xio::Status status);

}  // namespace tester
