// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Tables of a report of another kind than blocks of a controller: RDMA, the software endpoint, a page cache.

#include <string>
#include <vector>

#include "tester/nvme/target.hpp"
#include "tester/rdma/options.hpp"
#include "tester/rdma/runner.hpp"
#include "tester/report/data.hpp"
#include "tester/report/options.hpp"

namespace tester {

/// Providers that can be emulated.
std::vector<std::string> rdma_providers();

std::vector<std::string> rdma_table_ids();

/// A target named by --rdma, ready to run.
struct RdmaTarget {
  std::string name;
  RdmaOptions options;
  RdmaProvider provider;
};

/// Opens all targets before anything is run. Throws BadInput and CannotRun if one of them is unusable.
std::vector<RdmaTarget> open_rdma_targets(const ReportOptions& report);

/// The requested tables, each with rows of all targets; rows not run because of Ctrl-C are omitted.
std::vector<ReportTable> run_rdma_tables(const ReportOptions& report, const std::vector<RdmaTarget>& targets);

constexpr const char* endpoint_table_id = "test-ep";

/// Runs the table's rows; rows not run because of Ctrl-C are omitted. Throws CannotRun if the executor is unavailable.
ReportTable run_endpoint_table(const ReportOptions& report);

constexpr const char* cache_table_id = "cache";

/// Runs the rows of a page cache over the controllers; rows not run because of Ctrl-C are omitted.
/// @param gpu    null: the CPU runs the kernels
/// @param bytes  that the rows access, from the beginning of the drives
ReportTable run_cache_table(const ReportOptions& report, const Targets& targets,
                            const std::shared_ptr<xio::host::GpuRuntime>& gpu, uint64_t bytes);

}  // namespace tester
