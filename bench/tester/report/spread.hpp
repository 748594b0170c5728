// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Differences between rows that are no greater than those between the runs of one row.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// Sizes of operations whose rows are within the spread of their runs: the IOPS of the rows differ no more than those
/// of the runs of one of them. Only sizes with at least two rows, all with at least two runs.
std::vector<uint64_t> sizes_within_spread(const ReportTable& table);

/// The same in words; empty where no size is.
std::string spread_text(const ReportTable& table);

}  // namespace tester
