// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory of the litmus kernels. Every word has its own cache line.

#include <cstdint>

namespace machine_tests {

constexpr uint32_t words_between = 32;

struct Place {
  uint32_t* data;   ///< 6 words
  uint32_t* flags;  ///< 8 words
  uint32_t* bad;    ///< one per side
  uint32_t rounds;
};

}  // namespace machine_tests
