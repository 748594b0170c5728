// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Stop requests of the host to running kernels.

#include <cstdint>

namespace tester {

/// Value of the word that kernels poll periodically; 0: continue.
enum StopRequest : uint32_t {
  stop_submitting = 1,  ///< wait for operations in flight
  stop_waiting = 2,     ///< also abandon operations in flight
};

}  // namespace tester
