// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A histogram with power-of-two buckets, and its rendering as text.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Histogram with power-of-two buckets: bucket 0 counts the value 0, bucket k the values from 2^(k-1) to 2^k - 1.
class Histogram {
 public:
  static constexpr size_t bucket_count = 65;

  static size_t bucket_of(uint64_t value) { return value == 0 ? 0 : 64 - static_cast<size_t>(__builtin_clzll(value)); }
  /// Smallest value of a bucket.
  static uint64_t first_of(size_t bucket) { return bucket == 0 ? 0 : uint64_t{1} << (bucket - 1); }
  /// Largest value of a bucket.
  static uint64_t last_of(size_t bucket) { return bucket == 0 ? 0 : first_of(bucket) + (first_of(bucket) - 1); }

  void add(uint64_t value, uint64_t times = 1) { counts_[bucket_of(value)] += times; }

  void merge(const Histogram& other) {
    for (size_t i = 0; i < bucket_count; ++i) counts_[i] += other.counts_[i];
  }

  uint64_t operator[](size_t bucket) const { return counts_[bucket]; }

  uint64_t total() const {
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    return sum;
  }

  /// Renders the histogram as text, one line per bucket from the first to the last non-empty one: lower bound, count,
  /// percentage and a bar. Returns an empty string if there are no values.
  /// @param factor  multiplies the printed bounds: 0.001 prints nanoseconds as microseconds
  /// @param width   length of the longest bar in characters
  std::string text(double factor = 1, size_t width = 40) const {
    const auto used = [](uint64_t count) { return count != 0; };
    const auto first = std::find_if(counts_.begin(), counts_.end(), used);
    if (first == counts_.end()) return {};
    const auto end = std::find_if(counts_.rbegin(), counts_.rend(), used).base();
    const uint64_t most = *std::max_element(first, end);
    const auto all = static_cast<double>(total());
    std::string lines;
    for (auto bucket = first; bucket != end; ++bucket) {
      const double from = static_cast<double>(first_of(static_cast<size_t>(bucket - counts_.begin()))) * factor;
      const double share = static_cast<double>(*bucket) / static_cast<double>(most);
      // A non-empty bucket shows at least one mark.
      const size_t marks =
          *bucket == 0 ? 0 : std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(width)));
      char line[96];
      std::snprintf(line, sizeof line, ">= %-12.6g %12llu %7.3f %%", from, static_cast<unsigned long long>(*bucket),
                    100 * static_cast<double>(*bucket) / all);
      lines += line;
      if (marks != 0) lines += "  " + std::string(marks, '#');
      lines += '\n';
    }
    return lines;
  }

 private:
  std::array<uint64_t, bucket_count> counts_{};
};

}  // namespace host

XIO_NAMESPACE_END
