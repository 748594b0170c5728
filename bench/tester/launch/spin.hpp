// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How long waiting threads of the CPU executor poll before they yield their processor.

#include <sched.h>

#include <cstdint>

namespace tester {

/// Unsuccessful polls before one of `threads` waiting threads yields (xio::simt::Grid::spin), if what they wait for
/// needs none of their processors: 0 if there are more threads than processors.
inline uint32_t spin_of(uint64_t threads) {
  constexpr uint32_t polls = 4096;  // some 100 us
  cpu_set_t allowed;
  const int processors = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return threads <= static_cast<uint64_t>(processors) ? polls : 0;
}

}  // namespace tester
