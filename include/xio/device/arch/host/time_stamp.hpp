// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU's time stamp counter.

#include <stdint.h>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// 2^32 times the nanoseconds of a tick of the time stamp counter, if clock() on the CPU reads it; 0: clock() asks the
/// operating system, which takes ten times as many instructions. See host::use_time_stamp_counter().
inline uint64_t time_stamp_scale = 0;

/// The CPU's time stamp counter; 0 where there is none.
inline uint64_t time_stamp() {
#if defined(__x86_64__)
  uint32_t low;
  uint32_t high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t{high} << 32 | low;
#else
  return 0;
#endif
}

/// @}
}  // namespace arch

XIO_NAMESPACE_END
