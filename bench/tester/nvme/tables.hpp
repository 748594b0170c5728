// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Text output of `nvme-ep`.

#include <string>

#include "tester/nvme/run.hpp"

namespace tester {

/// Name of a status for tables and JSON, with the device's status if it reported one.
std::string status_text(xio::Status status);

/// Nanoseconds of a step of the queue code per operation.
double step_ns(const PhaseResult& phase, uint32_t step);

/// Prints everything to standard output.
void print_tables(const NvmeReport& report);

}  // namespace tester
