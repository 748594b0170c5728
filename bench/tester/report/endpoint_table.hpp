// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The table of the software endpoint in a report.

#include "tester/report/data.hpp"
#include "tester/report/options.hpp"

namespace tester {

constexpr const char* endpoint_table_id = "test-ep";

/// What is missing after Ctrl-C is left out. Throws CannotRun where the executor is not there.
ReportTable run_endpoint_table(const ReportOptions& report);

}  // namespace tester
