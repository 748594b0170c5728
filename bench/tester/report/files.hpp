// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The files that a report is made from and written to.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

/// The text of an earlier report that rows of fio can be taken from; empty for an empty name. Throws BadInput where it
/// is none, so that this shows before anything is run.
std::string earlier_report(const std::string& path);

/// Makes the folder of --output, unless it is empty, and sees to it before the run that the files in it can be written.
/// Throws BadInput.
void make_report_folder(const std::string& path);

/// Markdown, CSV, JSON, plots, and HTML with the plots in it; nothing for an empty name. Throws Failed.
void write_report_files(const Report& report, const std::string& folder);

}  // namespace tester
