// SPDX-License-Identifier: MIT
#include "tester/cli/table.hpp"

#include <algorithm>
#include <cstdio>

namespace tester {

void Table::add_filled(std::vector<std::string> row) {
  if (std::any_of(row.begin() + 1, row.end(), [](const std::string& cell) { return !cell.empty(); }))
    rows_.push_back(std::move(row));
}

void Table::print(const std::string& indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string grouped(unsigned long long value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ' ');
  return text;
}

std::string microseconds(double nanoseconds) {
  const double value = nanoseconds / 1000;
  return fixed(value, value < 10 ? 2 : value < 1000 ? 1 : 0);
}

void print_histogram(const Summary& latency) {
  const auto bars = latency.bars();
  uint64_t highest = 1;
  for (const auto& bar : bars) highest = std::max(highest, bar.count);
  Table table;
  table.add({"", "from us", "to us", "operations", ""});
  for (const auto& bar : bars) {
    const auto length = static_cast<size_t>(40 * bar.count / highest);
    table.add({"", microseconds(bar.from), microseconds(bar.to), grouped(bar.count),
               std::string(length, '#') + std::string(40 - length, ' ')});
  }
  table.print("");
}

std::string latency_text(const LatencyFigure& figure, const Summary& latency) {
  return latency.count() == 0 ? "-" : microseconds(figure.of(latency));
}

}  // namespace tester
