// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The tables of RDMA in a report.

#include <string>
#include <vector>

#include "tester/rdma/options.hpp"
#include "tester/rdma/runner.hpp"
#include "tester/report/data.hpp"
#include "tester/report/options.hpp"

namespace tester {

/// Providers that can be emulated.
std::vector<std::string> rdma_providers();

std::vector<std::string> rdma_table_ids();

/// One of those that --rdma names, ready to run.
struct RdmaTarget {
  std::string name;
  RdmaOptions options;
  RdmaProvider provider;
};

/// Throws BadInput and CannotRun where one of them cannot be used, before anything is run.
std::vector<RdmaTarget> open_rdma_targets(const ReportOptions& report);

/// The tables that are wanted, each with rows of all targets; what is missing after Ctrl-C is left out.
std::vector<ReportTable> run_rdma_tables(const ReportOptions& report, const std::vector<RdmaTarget>& targets);

}  // namespace tester
