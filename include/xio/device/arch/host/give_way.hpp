// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Yielding of a host thread that waits for another thread.

#include <sched.h>
#include <time.h>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// Lets other threads run. Yielding the time slice is cheap, but if several threads do nothing else, Linux can delay
/// other woken threads for seconds: a short sleep in between avoids this.
inline void give_way() {
  constexpr uint32_t yields_per_sleep = 64;
  static thread_local uint32_t times = 0;
  if (++times % yields_per_sleep == 0) {
    const timespec moment{0, 1000};
    nanosleep(&moment, nullptr);
  } else {
    sched_yield();
  }
}

}  // namespace arch

XIO_NAMESPACE_END
