// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report as Markdown, HTML, CSV and JSON, and the files of a report.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

/// @param plots  folder of the text and of an SVG file per table that has a plot, named by the table's id; empty: no
/// plots
std::string to_markdown(const Report& report, const std::string& plots = "");

/// One self-contained file: tables and embedded plots.
/// @param plots  folder with an SVG file per table that has a plot, named by the table's id; empty: no plots
std::string to_html(const Report& report, const std::string& plots);

/// CSV: a header line, then one line per row of all tables.
std::string to_csv(const Report& report);

std::string to_json(const Report& report);

/// Adds the fio rows of an earlier report (JSON text) to the table of the same id, before the first row of a greater
/// depth. Tables that `report` lacks are added if `add_tables`. Throws BadInput if the text is not such a report.
void add_fio_rows(Report& report, const std::string& json, bool add_tables);

/// Text of an earlier report whose fio rows can be reused; empty for an empty name. Throws BadInput if it is not a
/// report; called before anything is run.
std::string earlier_report(const std::string& path);

/// Creates the folder of --output, unless `path` is empty, and checks before the run that its files can be written.
/// Throws BadInput.
void make_report_folder(const std::string& path);

/// Writes CSV, JSON, plots, Markdown that shows the plots, and HTML that contains them; nothing for an empty name.
/// Throws Failed.
void write_report_files(const Report& report, const std::string& folder);

}  // namespace tester
