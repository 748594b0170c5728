// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report's tables as text, independent of the output format.

#include <string>
#include <utility>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// A table of text cells, without columns that are empty in all rows. Each distinct remark is one note below the table:
/// rows refer to it by number, unless all rows have the same remark.
struct TextTable {
  std::string title;  ///< with the heading
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
};

TextTable text_table(const ReportTable& table);

/// Facts about the whole report: device, machine, date and so on.
std::vector<std::pair<std::string, std::string>> facts_of(const Report& report);

}  // namespace tester
