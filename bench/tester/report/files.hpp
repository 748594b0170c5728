// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output files of a report.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

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
