// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An array on the drives of a page cache.

#include <xio/device/cache/cache.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_cache
/// @{

/// An array of elements that lie one behind the other on the drives of a cache. Trivially copyable.
///
/// @tparam T       trivially copyable, of 1, 2, 4, … 512 bytes; put() needs 4 or more
/// @tparam Options as of Cache
/// @snippet cache.cpp array
template <class T, class Options = ReadOnly>
class BlockArray {
 public:
  /// @param wave       number of the calling wave: selects the queue of each drive
  /// @param first_page page that holds element 0
  /// @param limit      how long `array[i]` waits
  XIO_HOST_DEVICE BlockArray(const CacheHandle& cache, uint32_t wave, uint64_t first_page = 0,
                             Duration limit = Duration{10000000000})
      : cache_(cache, wave), first_(first_page), limit_(limit) {}

  /// The element, or T() if it could not be read: see status().
  /// @snippet cache.cpp array
  XIO_DEVICE_INLINE T operator[](uint64_t i) {
    T value{};
    const Status now =
        cache_.get_within(page_of(i), offset_of(i), value, [&]() { return deadline(limit_, clock_hz()); });
    if (XIO_LIKELY(now.is_ok())) return value;
    if (status_.is_ok()) status_ = now;
    return T{};
  }
  /// The first error that `array[i]` of this object has met.
  /// @snippet cache.cpp array
  XIO_DEVICE_INLINE Status status() const { return status_; }

  /// Cache::get() of element `i`.
  /// @snippet cache.cpp get
  XIO_DEVICE_INLINE Status get(uint64_t i, T& value, Deadline until) {
    return cache_.get(page_of(i), offset_of(i), value, until);
  }
  /// Cache::put() of element `i`.
  /// @snippet cache.cpp put
  XIO_DEVICE_INLINE Status put(uint64_t i, const T& value, Deadline until) {
    return cache_.put(page_of(i), offset_of(i), value, until);
  }
  /// Cache::prefetch() of element `i`.
  /// @snippet cache.cpp prefetch
  XIO_DEVICE_INLINE PageToken prefetch(uint64_t i, Deadline until) { return cache_.prefetch(page_of(i), until); }

  /// The cache, for its other calls.
  /// @snippet cache.cpp pin
  XIO_DEVICE_INLINE Cache<Options>& cache() { return cache_; }
  /// The page of element `i`.
  /// @snippet cache.cpp pin
  XIO_DEVICE_INLINE uint64_t page_of(uint64_t i) const { return first_ + (i >> shift()); }
  /// Where element `i` begins, in bytes from the beginning of its page.
  /// @snippet cache.cpp offset_of
  XIO_DEVICE_INLINE uint32_t offset_of(uint64_t i) const {
    return static_cast<uint32_t>(i) * static_cast<uint32_t>(sizeof(T)) & ((1u << cache_.handle().page_shift) - 1);
  }

 private:
  XIO_HOST_DEVICE static constexpr uint32_t log2(uint64_t n) { return n < 2 ? 0 : 1 + log2(n / 2); }
  XIO_DEVICE_INLINE uint32_t shift() const { return cache_.handle().page_shift - log2(sizeof(T)); }
  XIO_DEVICE_INLINE uint64_t clock_hz() const {
    const uint64_t hz = cache_.handle().drives.queues->clock_hz;
    return hz != 0 ? hz : arch::clock_hz;
  }

  Cache<Options> cache_;
  uint64_t first_;
  Duration limit_;
  Status status_;
};

/// @}
XIO_NAMESPACE_END
