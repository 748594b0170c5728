// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Columns of a report's tables. CSV contains all of them.

#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

struct Column {
  const char* id;                             ///< name in CSV and in a table's list of columns
  const char* title;                          ///< title in Markdown
  std::string (*text)(const ReportRow& row);  ///< empty if the row has no such value
};

const std::vector<Column>& all_columns();

/// Column by id. Throws std::logic_error for an unknown id.
const Column& column(const std::string& id);

}  // namespace tester
