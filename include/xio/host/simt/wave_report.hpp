// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Formats what the lanes of a wave wait for, for error messages.

#include <cstdio>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// The operation that a lane waits in.
enum class WaitKind : uint8_t { active, ballot, shuffle, alike, barrier, spin };

inline std::string hexadecimal(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Formats a lane mask: "lane 3", "lanes 0-7, 9".
inline std::string lane_list(uint64_t mask) {
  std::string text = (mask & (mask - 1)) == 0 ? "lane " : "lanes ";
  bool first = true;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if (!(mask >> lane & 1)) continue;
    uint32_t last = lane;
    while (last < 63 && (mask >> (last + 1) & 1)) ++last;
    if (!first) text += ", ";
    first = false;
    text += std::to_string(lane);
    if (last != lane) text += "-" + std::to_string(last);
    lane = last;
  }
  return text;
}

/// Formats the name of an operation, with its mask if it has one.
inline std::string wait_text(WaitKind kind, uint64_t mask) {
  switch (kind) {
    case WaitKind::active: return "active()";
    case WaitKind::ballot: return "ballot(mask " + hexadecimal(mask) + ")";
    case WaitKind::shuffle: return "shuffle(mask " + hexadecimal(mask) + ")";
    case WaitKind::alike: return "a call of the lanes " + hexadecimal(mask);
    case WaitKind::barrier: return "block_barrier()";
    case WaitKind::spin: return "pause()";
  }
  return "an unknown operation";
}

}  // namespace simt::detail

XIO_NAMESPACE_END
