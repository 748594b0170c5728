// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Arguments of the kernels of amdgcn_smoke.hip.

#include <cstdint>

namespace machine_tests {

struct Work {
  uint8_t* data;  ///< 1 KiB per thread: a block to write, and the block that was read
  uint64_t bus;   ///< its address for the controller
  uint32_t* bad;  ///< per thread: wrong words, failed writes << 16, failed reads << 24
  uint32_t rounds;
  uint32_t threads;
  uint64_t patience;  ///< in nanoseconds
};

}  // namespace machine_tests
