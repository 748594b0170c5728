// SPDX-License-Identifier: MIT
#include "tester/measure/summary.hpp"

#include <algorithm>
#include <cmath>

namespace tester {

void Summary::add(const Latency& lane, double tick_ns) {
  if (lane.count == 0) return;
  least_ = count_ == 0 ? lane.least : std::min(least_, lane.least);
  most_ = std::max(most_, lane.most);
  count_ += lane.count;
  sum_ += static_cast<long double>(lane.sum);
  squares_ += static_cast<long double>(lane.squares_high) * 18446744073709551616.0L +
              static_cast<long double>(lane.squares_low);
  tick_ns_ = tick_ns;
  for (uint32_t i = 0; i < Latency::bucket_count; ++i)
    if (lane.buckets[i] != 0) buckets_[i] += lane.buckets[i];
}

double Summary::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_ / static_cast<long double>(count_)) * tick_ns_;
}

double Summary::deviation() const {
  if (count_ == 0) return 0;
  const auto n = static_cast<long double>(count_);
  const long double average = sum_ / n;
  const long double variance = squares_ / n - average * average;
  return variance > 0 ? static_cast<double>(std::sqrt(variance)) * tick_ns_ : 0;
}

double Summary::percentile(double share) const {
  const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (const auto& [bucket, times] : buckets_) {
    seen += times;
    if (seen >= rank) return static_cast<double>(std::clamp(Latency::bucket_floor(bucket), least_, most_)) * tick_ns_;
  }
  return most();
}

std::vector<Summary::Bar> Summary::bars() const {
  std::vector<Bar> result;
  for (const auto& [bucket, times] : buckets_) {
    const uint64_t floor = Latency::bucket_floor(bucket);
    uint64_t from = 0;
    uint64_t to = 1;
    while (floor >= to) {
      from = to;
      to *= 2;
    }
    const Bar bar{static_cast<double>(from) * tick_ns_, static_cast<double>(to) * tick_ns_, times};
    // Empty bars in between are kept to preserve the shape.
    while (!result.empty() && result.back().to < bar.from)
      result.push_back({result.back().to, result.back().to * 2, 0});
    if (!result.empty() && result.back().to == bar.to) {
      result.back().count += times;
    } else {
      result.push_back(bar);
    }
  }
  return result;
}

const LatencyFigure latency_figures[latency_figure_count] = {
    {"min", [](const Summary& s) { return s.least(); }},
    {"mean", [](const Summary& s) { return s.mean(); }},
    {"std", [](const Summary& s) { return s.deviation(); }},
    {"p50", [](const Summary& s) { return s.percentile(0.5); }},
    {"p90", [](const Summary& s) { return s.percentile(0.9); }},
    {"p99", [](const Summary& s) { return s.percentile(0.99); }},
    {"p99.9", [](const Summary& s) { return s.percentile(0.999); }},
    {"p99.99", [](const Summary& s) { return s.percentile(0.9999); }},
    {"max", [](const Summary& s) { return s.most(); }}};

}  // namespace tester
