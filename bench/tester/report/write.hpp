// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report as Markdown, CSV and JSON.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

std::string to_markdown(const Report& report);

/// One line for each row of all tables; the first one names the columns.
std::string to_csv(const Report& report);

std::string to_json(const Report& report);

/// Adds the rows of fio that the JSON text of an earlier report holds: to the table of the same id, before the first
/// row of a greater depth. Tables that `report` does not have are added where `add_tables`.
/// Throws BadInput where the text is no such report.
void add_fio_rows(Report& report, const std::string& json, bool add_tables);

}  // namespace tester
