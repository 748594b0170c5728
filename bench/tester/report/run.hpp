// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester report`: runs the rows of its tables and writes them.

#include "tester/report/options.hpp"

namespace tester {

/// Runs the report; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_report(const ReportOptions& options);

}  // namespace tester
