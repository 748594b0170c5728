// SPDX-License-Identifier: MIT
#include "tester/report/spread.hpp"

#include <algorithm>
#include <map>

namespace tester {

namespace {

/// Range of some figures.
struct Range {
  double least = 0;
  double most = 0;
  void add(double value) {
    least = empty ? value : std::min(least, value);
    most = empty ? value : std::max(most, value);
    empty = false;
  }
  double width() const { return most - least; }

  bool empty = true;
};

/// Rows of one size.
struct Size {
  Range rows;
  size_t count = 0;
  size_t fewest_runs = SIZE_MAX;
  double widest_runs = 0;
};

std::map<uint64_t, Size> by_size(const ReportTable& table) {
  std::map<uint64_t, Size> sizes;
  for (const ReportRow& row : table.rows) {
    if (!row.figures) continue;
    Size& size = sizes[row.shape.bytes];
    Range runs;
    for (const double iops : row.iops_of_runs) runs.add(iops);
    size.rows.add(row.figures->iops);
    ++size.count;
    size.fewest_runs = std::min(size.fewest_runs, row.iops_of_runs.size());
    size.widest_runs = std::max(size.widest_runs, runs.width());
  }
  return sizes;
}

}  // namespace

std::vector<uint64_t> sizes_within_spread(const ReportTable& table) {
  std::vector<uint64_t> within;
  for (const auto& [bytes, size] : by_size(table))
    if (size.count >= 2 && size.fewest_runs >= 2 && size.rows.width() <= size.widest_runs) within.push_back(bytes);
  return within;
}

std::string spread_text(const ReportTable& table) {
  const std::vector<uint64_t> within = sizes_within_spread(table);
  if (within.empty()) return "";
  const std::string text = "Within the spread of the runs: ";
  if (within.size() == by_size(table).size()) return text + "all rows" + (within.size() == 1 ? "" : " of one size");
  std::string sizes;
  for (const uint64_t bytes : within) sizes += (sizes.empty() ? "" : ", ") + std::to_string(bytes);
  return text + "the rows of " + sizes + " bytes";
}

}  // namespace tester
