// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The columns that tables of a report can have. CSV has all of them.

#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

struct Column {
  const char* id;                             ///< in CSV, and in a table's list of columns
  const char* title;                          ///< in Markdown
  std::string (*text)(const ReportRow& row);  ///< empty where the row has no such thing
};

const std::vector<Column>& all_columns();

/// Throws std::logic_error for an id that is not there.
const Column& column(const std::string& id);

}  // namespace tester
