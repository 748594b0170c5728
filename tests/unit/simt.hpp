// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the tests of the SIMT executor share.

#include <stdexcept>
#include <string>

#include <xio/host/simt/simt.hpp>

#include "catch.hpp"

namespace simt_tests {

/// Checks inside a kernel: Catch2's own macros may be used by one thread only.
struct CheckFailed : std::logic_error {
  using std::logic_error::logic_error;
};

inline void expect(bool condition, const char* what) {
  if (!condition) {
    throw CheckFailed(std::string(what) + " (block " + std::to_string(xio::arch::block_index()) + ", thread " +
                      std::to_string(xio::arch::thread_index()) + ")");
  }
}

constexpr uint64_t full_mask(uint32_t lanes) { return lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1; }

/// Lanes of `mask` for which `predicate(lane)` holds.
template <class Predicate>
uint64_t lanes_where(uint64_t mask, Predicate predicate) {
  uint64_t chosen = 0;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if ((mask >> lane & 1) && predicate(lane)) chosen |= uint64_t{1} << lane;
  }
  return chosen;
}

}  // namespace simt_tests

#define EXPECT_IN_KERNEL(...) ::simt_tests::expect((__VA_ARGS__), #__VA_ARGS__)
