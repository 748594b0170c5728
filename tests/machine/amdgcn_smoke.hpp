// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host hands to the kernels of amdgcn_smoke.hip.

#include <cstdint>

namespace machine_tests {

struct Work {
  uint8_t* data;  ///< 1 KiB for each thread: a block to write, and one that was read
  uint64_t bus;   ///< the controller's address of it
  uint32_t* bad;  ///< for each thread: wrong words, failed writes << 16, failed reads << 24
  uint32_t rounds;
  uint32_t threads;
  uint64_t patience;  ///< in nanoseconds
};

}  // namespace machine_tests
