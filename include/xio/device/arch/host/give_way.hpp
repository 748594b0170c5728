// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Yielding of a host thread that waits for another thread.

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include <atomic>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// Whether threads of this process play the devices. Set when the first one starts.
inline std::atomic<bool> devices_are_threads{false};

/// Lets other threads run. Yielding the time slice is cheap, but if several threads do nothing else, Linux can delay
/// other woken threads for seconds: a short sleep in between avoids this.
///
/// Where a busy thread shares the processor, a thread that yields gets it back after that one's time slice,
/// milliseconds later, but one that wakes up gets it within microseconds. If devices are threads, each operation takes
/// several such changes: after a slow yield, threads sleep for a while instead.
inline void give_way() {
  constexpr uint32_t yields_per_sleep = 64;
  constexpr uint32_t yields_per_look = 4;  // reading the clock costs a tenth of a yield
  constexpr uint32_t sleeps_after_slow_yield = 1024;
  constexpr int64_t slow_ns = 200000;
  static thread_local uint32_t times = 0;
  static std::atomic<uint32_t> sleeps{0};  // of all threads: what one of them meets, the others meet too
  ++times;
  const uint32_t left = sleeps.load(std::memory_order_relaxed);
  if (left != 0 || times % yields_per_sleep == 0) {
    if (left != 0) sleeps.store(left - 1, std::memory_order_relaxed);
    const timespec moment{0, 1000};
    nanosleep(&moment, nullptr);
    return;
  }
  if (times % yields_per_look != 0 || !devices_are_threads.load(std::memory_order_relaxed)) {
    sched_yield();
    return;
  }
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  sched_yield();
  clock_gettime(CLOCK_MONOTONIC, &after);
  const int64_t took = (after.tv_sec - before.tv_sec) * int64_t{1000000000} + after.tv_nsec - before.tv_nsec;
  if (took > slow_ns) sleeps.store(sleeps_after_slow_yield, std::memory_order_relaxed);
}

/// @}
}  // namespace arch

XIO_NAMESPACE_END
