// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Spread of a figure over several runs.

#include <algorithm>
#include <cmath>
#include <vector>

namespace tester {

/// Minimum, mean, standard deviation of the population, and maximum.
struct Spread {
  double least = 0;
  double mean = 0;
  double deviation = 0;
  double most = 0;
};

/// All 0 if there are no values.
inline Spread spread_of(const std::vector<double>& values) {
  Spread all;
  if (values.empty()) return all;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  all.least = *least;
  all.most = *most;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) all.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - all.mean) * (value - all.mean);
  all.deviation = std::sqrt(squares / count);
  return all;
}

}  // namespace tester
