// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report as Markdown, CSV and JSON.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

/// @param plots  folder of the text and of an SVG file per table that has a plot, named by the table's id; empty: no
/// plots
std::string to_markdown(const Report& report, const std::string& plots = "");

/// CSV: a header line, then one line per row of all tables.
std::string to_csv(const Report& report);

std::string to_json(const Report& report);

/// Adds the fio rows of an earlier report (JSON text) to the table of the same id, before the first row of a greater
/// depth. Tables that `report` lacks are added if `add_tables`. Throws BadInput if the text is not such a report.
void add_fio_rows(Report& report, const std::string& json, bool add_tables);

}  // namespace tester
