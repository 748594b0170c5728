// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Latencies as a kernel records them: exact sums, and a histogram whose buckets are at most 1/128 wide.

#include <xio/config.hpp>

namespace tester {

/// Latencies of one lane, in ticks of its clock. Zeroed by the host; written by that lane alone.
struct Latency {
  static constexpr uint32_t fine_bits = 7;  ///< each power of two is divided into 128 buckets
  static constexpr uint32_t fine = 1u << fine_bits;
  static constexpr uint32_t longest_bits = 40;  ///< longer latencies share the last bucket
  static constexpr uint32_t bucket_count = (longest_bits - fine_bits + 1) * fine;

  uint64_t count;
  uint64_t least;  ///< valid if count is not 0
  uint64_t most;
  uint64_t sum;
  uint64_t squares_low;  ///< sum of the squares, 128 bits
  uint64_t squares_high;
  uint64_t buckets[bucket_count];

  XIO_HOST_DEVICE static constexpr uint32_t bucket_of(uint64_t ticks) {
    if (XIO_UNLIKELY(ticks < fine)) return static_cast<uint32_t>(ticks);
    const uint32_t top = 63 - static_cast<uint32_t>(__builtin_clzll(ticks));
    if (XIO_UNLIKELY(top >= longest_bits)) return bucket_count - 1;
    const uint32_t shift = top - fine_bits;
    return shift * fine + static_cast<uint32_t>(ticks >> shift);
  }

  /// Smallest latency that falls into a bucket.
  XIO_HOST_DEVICE static constexpr uint64_t bucket_floor(uint32_t bucket) {
    if (bucket < fine) return bucket;
    const uint32_t shift = bucket / fine - 1;
    return uint64_t{fine + bucket % fine} << shift;
  }

  /// Records operations of the same latency that fits 32 bits, else one by one.
  XIO_HOST_DEVICE void record(uint64_t ticks, uint32_t times) {
    if (XIO_UNLIKELY(ticks >> 32 != 0 || times == 0)) {
      for (; times != 0; --times) record(ticks);
      return;
    }
    if (count == 0 || ticks < least) least = ticks;
    if (ticks > most) most = ticks;
    count += times;
    sum += ticks * times;
    // The square times `times` has 96 bits: the products of its lower and its upper half.
    const uint64_t square = ticks * ticks;
    const uint64_t high = (square >> 32) * times;
    add_square((square & 0xffffffffu) * times, 0);
    add_square(high << 32, high >> 32);
    buckets[bucket_of(ticks)] += times;
  }

  /// Records one operation.
  XIO_DEVICE_INLINE void record(uint64_t ticks) {
    if (count == 0 || ticks < least) least = ticks;
    if (ticks > most) most = ticks;
    ++count;
    sum += ticks;
    if (XIO_LIKELY(ticks >> 32 == 0)) {
      add_square(ticks * ticks, 0);
    } else {
      const uint64_t low = ticks & 0xffffffffu;
      const uint64_t high = ticks >> 32;
      add_square(low * low, high * high);
      add_square(high * low << 33, high * low >> 31);
    }
    ++buckets[bucket_of(ticks)];
  }

 private:
  XIO_HOST_DEVICE void add_square(uint64_t low, uint64_t high) {
    squares_low += low;
    // The rarely taken branch avoids a second store per operation, which an addition with carry would need.
    if (XIO_UNLIKELY(squares_low < low)) ++squares_high;
    squares_high += high;
  }
};

}  // namespace tester
