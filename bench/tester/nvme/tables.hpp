// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What `nvme-ep` tells people.

#include <string>

#include "tester/nvme/run.hpp"

namespace tester {

/// Name of a status for people and for the JSON file, with the device's own words where it answered.
std::string status_text(xio::Status status);

/// Nanoseconds of a step of the queue code, for one operation.
double step_ns(const PhaseResult& phase, uint32_t step);

/// Prints everything to standard output.
void print_tables(const NvmeReport& report);

}  // namespace tester
