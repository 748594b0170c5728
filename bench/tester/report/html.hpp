// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A report as one self-contained HTML file: tables and embedded plots.

#include <string>

#include "tester/report/data.hpp"

namespace tester {

/// @param plots  folder with an SVG file per table that has a plot, named by the table's id; empty: no plots
std::string to_html(const Report& report, const std::string& plots);

}  // namespace tester
