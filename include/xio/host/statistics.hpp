// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statistics of samples such as latencies: mean, standard deviation, percentiles, histogram.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/histogram.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Summary statistics of a set of samples, in the unit of the samples. All 0 if there are no samples.
struct Summary {
  uint64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  ///< standard deviation of the population: sqrt(sum((x - mean)^2) / count)
  double p50 = 0;        ///< percentiles by nearest rank, see Statistics::percentile
  double p90 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double p99_99 = 0;

  /// Converts the figures to another unit. `factor` is positive: 0.001 converts nanoseconds to microseconds.
  Summary scaled(double factor) const {
    Summary result = *this;
    for (double* figure : {&result.min, &result.max, &result.mean, &result.deviation, &result.p50, &result.p90,
                           &result.p99, &result.p99_9, &result.p99_99}) {
      *figure *= factor;
    }
    return result;
  }
};

/// Running mean and variance of a stream of samples (Welford 1962; merged as in Chan, Golub, LeVeque 1979). Numerically
/// stable: no difference of large sums.
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }

  void merge(const Moments& other) {
    if (other.count_ == 0) return;
    const double all = static_cast<double>(count_) + static_cast<double>(other.count_);
    const double part = static_cast<double>(other.count_) / all;
    const double apart = other.mean_ - mean_;
    squares_ += other.squares_ + apart * apart * static_cast<double>(count_) * part;
    mean_ += apart * part;
    count_ += other.count_;
  }

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  /// Population variance.
  double variance() const { return count_ == 0 ? 0 : squares_ / static_cast<double>(count_); }

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of the squared differences from the mean
};

/// Collects samples and computes their statistics. One thread at a time, reads included; concurrent measurements use
/// one object per thread and merge them.
///
/// Exact mode keeps every sample (8 bytes each); all figures are exact up to the rounding of a double. Bounded mode
/// uses 58 KiB regardless of the number of samples: count, min and max stay exact, mean and deviation are running
/// moments, and a percentile is never below the exact one and at most 1/128 (0.8 %) above it.
class Statistics {
 public:
  enum class Mode { exact, bounded };

  explicit Statistics(Mode mode = Mode::exact) {
    if (mode == Mode::bounded) bound();
  }

  Mode mode() const { return fine_.empty() ? Mode::exact : Mode::bounded; }

  void add(uint64_t value) {
    if (mode() == Mode::exact) {
      samples_.push_back(value);
      sorted_ = false;
    } else {
      add_bounded(value);
    }
  }

  /// Adds the samples of `other`. The result is in bounded mode if either object was.
  void merge(const Statistics& other) {
    if (other.mode() == Mode::bounded) {
      bound();
      min_ = std::min(min_, other.min_);
      max_ = std::max(max_, other.max_);
      moments_.merge(other.moments_);
      for (size_t i = 0; i < fine_.size(); ++i) fine_[i] += other.fine_[i];
    } else if (mode() == Mode::bounded) {
      for (const uint64_t sample : other.samples_) add_bounded(sample);
    } else {
      const size_t count = other.samples_.size();
      samples_.reserve(samples_.size() + count);
      // By index: `other` may be this object.
      for (size_t i = 0; i < count; ++i) samples_.push_back(other.samples_[i]);
      sorted_ = false;
    }
  }

  /// Switches to bounded mode: the samples so far are counted into buckets and discarded.
  void bound() {
    if (mode() == Mode::bounded) return;
    fine_.resize(fine_buckets);
    for (const uint64_t sample : samples_) add_bounded(sample);
    samples_ = {};
  }

  uint64_t count() const { return mode() == Mode::exact ? samples_.size() : moments_.count(); }

  /// Smallest sample; 0 if there are no samples.
  uint64_t min() const {
    if (count() == 0) return 0;
    return mode() == Mode::exact ? sorted().front() : min_;
  }

  /// Largest sample; 0 if there are no samples.
  uint64_t max() const {
    if (count() == 0) return 0;
    return mode() == Mode::exact ? sorted().back() : max_;
  }

  double mean() const {
    if (mode() == Mode::bounded || samples_.empty()) return moments_.mean();
    const uint64_t centre = near_mean();
    return static_cast<double>(static_cast<long double>(centre) + rest_of_mean(centre));
  }

  /// Population standard deviation; in exact mode computed from the samples themselves.
  double deviation() const {
    if (mode() == Mode::bounded || samples_.empty()) return std::sqrt(moments_.variance());
    const auto size = static_cast<long double>(samples_.size());
    const uint64_t centre = near_mean();
    long double squares = 0;
    for (const uint64_t sample : samples_) {
      const long double difference = distance(centre, sample);
      squares += difference * difference;
    }
    const long double rest = rest_of_mean(centre);
    return static_cast<double>(std::sqrt(std::max(squares / size - rest * rest, 0.0L)));
  }

  /// Rank, counted from 1, of a percentile among `count` samples: ceil(percent / 100 * count); 0 where count is 0.
  /// @param percent  as percentile() takes it
  static uint64_t rank_of(double percent, uint64_t count) {
    if (!(percent > 0 && percent <= 100)) {
      throw Error("percentile " + std::to_string(percent) + " is out of range: must be above 0 and at most 100");
    }
    if (count == 0) return 0;
    // In integers: 99.9 percent of 1000 is rank 999, regardless of how 0.999 * 1000 rounds.
    const auto millionths = static_cast<uint64_t>(std::llround(percent * 10000));
    const uint64_t whole = count / 1000000 * millionths;
    return std::max<uint64_t>(1, whole + (count % 1000000 * millionths + 999999) / 1000000);
  }

  /// Percentile by nearest rank: the sample of rank ceil(percent / 100 * count), counted from 1. 0 if there are no
  /// samples.
  /// @param percent  above 0, at most 100; rounded to four decimals
  /// @throws Error if `percent` is out of range
  uint64_t percentile(double percent) const {
    const uint64_t rank = rank_of(percent, count());
    if (rank == 0) return 0;
    if (mode() == Mode::exact) return sorted()[rank - 1];
    uint64_t seen = 0;
    for (size_t i = 0; i < fine_.size(); ++i) {
      seen += fine_[i];
      if (seen >= rank) return std::min(fine_last(i), max_);
    }
    return max_;
  }

  Summary summary() const {
    Summary result;
    result.count = count();
    result.min = static_cast<double>(min());
    result.max = static_cast<double>(max());
    result.mean = mean();
    result.deviation = deviation();
    result.p50 = static_cast<double>(percentile(50));
    result.p90 = static_cast<double>(percentile(90));
    result.p99 = static_cast<double>(percentile(99));
    result.p99_9 = static_cast<double>(percentile(99.9));
    result.p99_99 = static_cast<double>(percentile(99.99));
    return result;
  }

  /// Number of samples per power of two; exact in both modes.
  Histogram histogram() const {
    Histogram result;
    for (const uint64_t sample : samples_) result.add(sample);
    for (size_t i = 0; i < fine_.size(); ++i) result.add(fine_last(i), fine_[i]);
    return result;
  }

 private:
  // Bounded mode: values below 128 have a bucket each; every power of two above has 128 buckets.
  static constexpr uint32_t fine_bits = 7;
  static constexpr size_t fine_per_power = size_t{1} << fine_bits;
  static constexpr size_t fine_buckets = (64 - fine_bits + 1) * fine_per_power;

  static size_t fine_bucket(uint64_t value) {
    if (value < fine_per_power) return static_cast<size_t>(value);
    const uint32_t shift = 63 - static_cast<uint32_t>(__builtin_clzll(value)) - fine_bits;
    return shift * fine_per_power + static_cast<size_t>(value >> shift);
  }

  /// Largest value of a bucket.
  static uint64_t fine_last(size_t bucket) {
    if (bucket < fine_per_power) return bucket;
    const size_t shift = bucket / fine_per_power - 1;
    const uint64_t first = (bucket - shift * fine_per_power) << shift;
    return first + ((uint64_t{1} << shift) - 1);
  }

  void add_bounded(uint64_t value) {
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    moments_.add(static_cast<double>(value));
    ++fine_[fine_bucket(value)];
  }

  const std::vector<uint64_t>& sorted() const {
    if (!sorted_) std::sort(samples_.begin(), samples_.end());
    sorted_ = true;
    return samples_;
  }

  /// An integer close to the mean. Differences from it are exact, so large samples lose no precision.
  uint64_t near_mean() const {
    long double sum = 0;
    for (const uint64_t sample : samples_) sum += static_cast<long double>(sample);
    const long double mean = sum / static_cast<long double>(samples_.size());
    return mean < static_cast<long double>(max()) ? static_cast<uint64_t>(mean) : max();
  }

  static long double distance(uint64_t from, uint64_t to) {
    return to >= from ? static_cast<long double>(to - from) : -static_cast<long double>(from - to);
  }

  /// Mean minus `centre`.
  long double rest_of_mean(uint64_t centre) const {
    long double rest = 0;
    for (const uint64_t sample : samples_) rest += distance(centre, sample);
    return rest / static_cast<long double>(samples_.size());
  }

  mutable std::vector<uint64_t> samples_;  ///< exact mode; sorted on demand
  mutable bool sorted_ = true;
  std::vector<uint64_t> fine_;  ///< bounded mode; empty in exact mode
  Moments moments_;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
