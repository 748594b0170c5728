// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The table of the software endpoint in a report.

#include "tester/report/data.hpp"
#include "tester/report/options.hpp"

namespace tester {

constexpr const char* endpoint_table_id = "test-ep";

/// Runs the table's rows; rows not run because of Ctrl-C are omitted. Throws CannotRun if the executor is unavailable.
ReportTable run_endpoint_table(const ReportOptions& report);

}  // namespace tester
