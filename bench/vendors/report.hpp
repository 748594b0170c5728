// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The table of xio-vendors, for people and for programs.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vendors/measurements.hpp"
#include "vendors/target_counts.hpp"

namespace vendors {

/// One column.
struct Column {
  Counted counted;
  Timed timed;
  TargetCounts targets;
};

struct Report {
  std::string cpu;  ///< as the kernel names it
  uint32_t repetitions = 0;
  std::vector<Column> columns;
};

/// Changes whenever a member of the JSON changes its meaning or is removed.
constexpr int json_schema = 1;

/// What a reader must know before the numbers.
std::string heading();
/// A Markdown table, a column for each kind of queue.
std::string markdown(const Report& report);
nlohmann::ordered_json to_json(const Report& report);

}  // namespace vendors
