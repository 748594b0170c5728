// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report's tables as text, independent of the output format.

#include <string>
#include <utility>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// A table of text cells, without columns that are empty in all rows. A remark is one note below the first table that
/// has it: rows and later tables refer to it by its number, unless all rows of one table have it and no other table
/// does.
struct TextTable {
  std::string title;  ///< with the heading
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
};

/// The tables of a report, in its order.
std::vector<TextTable> text_tables(const Report& report);

/// Facts about the whole report: device, machine, date and so on.
std::vector<std::pair<std::string, std::string>> facts_of(const Report& report);

/// What the report begins with: a row for each of its tables, in its order.
TextTable summary_of(const Report& report);

}  // namespace tester
