// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statistics of many latencies: exact count, minimum, mean, deviation and maximum; percentiles to 1/128.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tester/measure/latency.hpp"

namespace tester {

class Summary;

/// A figure that tables and JSON show of latencies.
struct LatencyFigure {
  const char* name;
  double (*of)(const Summary&);  ///< nanoseconds
};
constexpr size_t latency_figure_count = 9;
extern const LatencyFigure latency_figures[latency_figure_count];

/// Latencies of any number of lanes, in nanoseconds.
class Summary {
 public:
  /// @param tick_ns  length of a tick in nanoseconds
  void add(const Latency& lane, double tick_ns = 1);

  uint64_t count() const { return count_; }
  double least() const { return count_ == 0 ? 0 : static_cast<double>(least_) * tick_ns_; }
  double most() const { return static_cast<double>(most_) * tick_ns_; }
  double mean() const;
  /// Standard deviation of the population, from the sums of all latencies and of their squares.
  double deviation() const;
  /// Smallest latency that a fraction `share` of all operations does not exceed (nearest rank), 0 < share <= 1; the
  /// result is at most 1/128 below the true value.
  double percentile(double share) const;

  struct Bar {
    double from;  ///< nanoseconds, included
    double to;    ///< excluded
    uint64_t count;
  };
  /// Bars of powers of two from the minimum to the maximum.
  std::vector<Bar> bars() const;

 private:
  uint64_t count_ = 0;
  uint64_t least_ = 0;
  uint64_t most_ = 0;
  long double sum_ = 0;
  long double squares_ = 0;
  double tick_ns_ = 1;
  std::map<uint32_t, uint64_t> buckets_;
};

}  // namespace tester
