// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How a host thread waits for another one.

#include <sched.h>
#include <time.h>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// Lets other threads go on. Giving the time slice away costs little, but where several threads do nothing else, Linux
/// can leave others that were woken waiting for seconds: so a short sleep comes between.
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
