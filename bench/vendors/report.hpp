// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The table of xio-vendors as Markdown and JSON.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

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
  std::string cpu;  ///< model name from the kernel
  uint32_t repetitions = 0;
  std::vector<Column> columns;
  nlohmann::ordered_json peers;  ///< read_peers()
};

/// Schema version: changes when a member of the JSON changes its meaning or is removed.
constexpr int json_schema = 1;

/// Introduction to the table.
std::string heading();
/// A Markdown table with one column per kind of queue, and that of other libraries.
std::string markdown(const Report& report);
nlohmann::ordered_json to_json(const Report& report);

}  // namespace vendors
