// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host asks of kernels that run.

#include <cstdint>

namespace tester {

/// Content of the word that kernels look at now and then; 0: go on.
enum StopRequest : uint32_t {
  stop_submitting = 1,  ///< what is in flight is waited for
  stop_waiting = 2,     ///< what is in flight is given up too
};

}  // namespace tester
