// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief 32-bit floating point as far as integer division needs it. Rounds to nearest and preserves denormals.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace machine::amdgcn {

inline float to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
/// Rounds towards 0 and saturates.
inline uint32_t to_unsigned(float value) {
  if (!(value > 0)) return 0;
  return value >= 4294967296.0f ? ~uint32_t{0} : static_cast<uint32_t>(value);
}
inline uint32_t to_signed(float value) {
  if (value != value) return 0;
  if (value >= 2147483648.0f) return 0x7fffffffu;
  return value < -2147483648.0f ? 0x80000000u : static_cast<uint32_t>(static_cast<int32_t>(value));
}

}  // namespace machine::amdgcn
