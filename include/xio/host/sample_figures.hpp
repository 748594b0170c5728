// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Summary and histogram of an array of samples, sorted in place: on the CPU here, on a GPU by gpu/samples.hpp.
/// Both compute the same figures as Statistics.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/histogram.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/statistics.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Summary and histogram of an array of samples.
struct SampleFigures {
  Summary summary;  ///< mean and deviation are exact up to the rounding of a double
  Histogram histogram;
};

/// One bound for each bucket of a histogram.
using HistogramBounds = std::array<uint64_t, Histogram::bucket_count>;

/// Computes the figures of samples held by an object with these members:
///
/// | member                                              | meaning                                                  |
/// |-----------------------------------------------------|----------------------------------------------------------|
/// | `uint64_t count() const`                            | of samples, below 2^32                                   |
/// | `void sort()`                                       | called once, before the others                           |
/// | `uint64_t at(uint64_t index)`                       | a sample, by its place in the order                      |
/// | `HistogramBounds below(const HistogramBounds&)`     | how many samples are less than each bound                |
/// | `uint64_t sum(uint32_t shift)`                      | of 32 bits of each sample, from bit `shift` on: 0 or 32  |
/// | `double squares(uint64_t centre)`                   | sum of the squared differences from `centre`             |
template <class Samples>
SampleFigures figures_of(Samples&& samples) {
  SampleFigures figures;
  const uint64_t count = samples.count();
  if (count == 0) return figures;
  samples.sort();
  Summary& summary = figures.summary;
  summary.count = count;
  const auto at_rank = [&](uint64_t rank) { return static_cast<double>(samples.at(rank - 1)); };
  summary.min = at_rank(1);
  summary.max = at_rank(count);
  const std::pair<double, double*> percentiles[] = {
      {50, &summary.p50}, {90, &summary.p90}, {99, &summary.p99}, {99.9, &summary.p99_9}, {99.99, &summary.p99_99}};
  for (const auto& [percent, value] : percentiles) *value = at_rank(Statistics::rank_of(percent, count));

  // Sums of 32-bit halves do not overflow; differences from an integer near the mean are exact.
  const auto size = static_cast<long double>(count);
  const long double sum =
      static_cast<long double>(samples.sum(32)) * 4294967296.0L + static_cast<long double>(samples.sum(0));
  const long double mean = sum / size;
  const auto centre = static_cast<uint64_t>(mean);
  const long double rest = mean - static_cast<long double>(centre);
  const long double variance = static_cast<long double>(samples.squares(centre)) / size - rest * rest;
  summary.mean = static_cast<double>(mean);
  summary.deviation = static_cast<double>(std::sqrt(std::max(variance, 0.0L)));

  HistogramBounds bounds;
  for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = Histogram::first_of(i);
  const HistogramBounds below = samples.below(bounds);
  for (size_t i = 0; i < bounds.size(); ++i) {
    const uint64_t end = i + 1 < bounds.size() ? below[i + 1] : count;
    figures.histogram.add(bounds[i], end - below[i]);
  }
  return figures;
}

/// Samples in host memory, sorted in place by the CPU.
class HostSamples {
 public:
  explicit HostSamples(Span<uint64_t> samples) : samples_(samples) {}

  uint64_t count() const { return samples_.size(); }
  void sort() const { std::sort(samples_.begin(), samples_.end()); }
  uint64_t at(uint64_t index) const { return samples_[index]; }
  HistogramBounds below(const HistogramBounds& bounds) const {
    HistogramBounds counts{};
    for (size_t i = 0; i < bounds.size(); ++i)
      counts[i] =
          static_cast<uint64_t>(std::lower_bound(samples_.begin(), samples_.end(), bounds[i]) - samples_.begin());
    return counts;
  }
  uint64_t sum(uint32_t shift) const {
    uint64_t all = 0;
    for (const uint64_t sample : samples_) all += sample >> shift & 0xffffffff;
    return all;
  }
  double squares(uint64_t centre) const {
    double all = 0;
    for (const uint64_t sample : samples_) {
      const double apart = static_cast<double>(sample > centre ? sample - centre : centre - sample);
      all += apart * apart;
    }
    return all;
  }

 private:
  Span<uint64_t> samples_;
};

/// Computes the figures of samples in host memory; sorts them in place.
inline SampleFigures figures_of_host(Span<uint64_t> samples) { return figures_of(HostSamples(samples)); }

}  // namespace host

XIO_NAMESPACE_END
