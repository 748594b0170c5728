// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report's tables as text, whatever they are printed as.

#include <string>
#include <utility>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// Columns that are empty in all rows are left out. Remarks are notes below the table, each of them once: rows refer to
/// them by number, unless all rows have the same one.
struct TextTable {
  std::string title;  ///< with the heading
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
};

TextTable text_table(const ReportTable& table);

/// What is said of the whole report: device, machine, date and so on.
std::vector<std::pair<std::string, std::string>> facts_of(const Report& report);

}  // namespace tester
