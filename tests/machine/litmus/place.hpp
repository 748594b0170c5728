// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host hands to the litmus kernels. Every word has a line for itself.

#include <cstdint>

namespace machine_tests {

constexpr uint32_t words_between = 32;

struct Place {
  uint32_t* data;   ///< 6 words
  uint32_t* flags;  ///< 8 words
  uint32_t* bad;    ///< one for each side
  uint32_t rounds;
};

}  // namespace machine_tests
