// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bits of a mask, counted without the instruction that not every processor has.

#include <cstdint>

namespace machine {

inline uint32_t count_bits(uint32_t value) {
  value -= value >> 1 & 0x55555555u;
  value = (value & 0x33333333u) + (value >> 2 & 0x33333333u);
  value = (value + (value >> 4)) & 0x0f0f0f0fu;
  return value * 0x01010101u >> 24;
}
inline uint32_t count_bits(uint64_t value) {
  value -= value >> 1 & 0x5555555555555555u;
  value = (value & 0x3333333333333333u) + (value >> 2 & 0x3333333333333333u);
  value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<uint32_t>(value * 0x0101010101010101u >> 56);
}

}  // namespace machine
