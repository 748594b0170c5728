// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Text tables, and formatting of numbers.

#include <string>
#include <vector>

#include "tester/measure/summary.hpp"

namespace tester {

/// Columns as wide as their widest cell; the first one is aligned left, the others right.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Adds the row if at least one cell after the first is not empty.
  void add_filled(std::vector<std::string> row);
  /// Prints to standard output, each line after `indent`.
  void print(const std::string& indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Fixed-point notation with `digits` decimals.
std::string fixed(double value, int digits);
/// A count with a space between groups of three digits: 1 234 567.
std::string grouped(unsigned long long value);
/// Nanoseconds as microseconds, with more decimals for smaller values.
std::string microseconds(double nanoseconds);

/// Prints the distribution of latencies.
void print_histogram(const Summary& latency);
/// A figure of latencies, in microseconds; "-" if there are none.
std::string latency_text(const LatencyFigure& figure, const Summary& latency);

}  // namespace tester
