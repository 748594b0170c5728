// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Powers of two: sizes of rings, pages and alignments.

#include <cstdint>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Whether `value` is a power of two; 0 is none.
constexpr bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// The least power of two that is not less than `value`, which is at most 2^63.
constexpr uint64_t power_of_two_from(uint64_t value) {
  uint64_t power = 1;
  while (power < value) power <<= 1;
  return power;
}

/// The largest power of two that is not greater than `value`, which is not 0.
constexpr uint64_t power_of_two_up_to(uint64_t value) {
  uint64_t power = 1;
  while (value >>= 1) power <<= 1;
  return power;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
