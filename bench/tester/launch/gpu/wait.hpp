// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waits for kernels that have their own deadlines, and aborts if a kernel misses them.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include <xio/host/gpu/module.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

/// Waits for everything in `work`. A kernel must make progress within three times the deadline of one operation plus
/// two seconds. A kernel that does not may still use all its memory, and runtimes wait for it before they free any: the
/// process then ends here, with exit_bad_input.
inline void wait_for(xio::host::GpuWork& work, std::chrono::milliseconds deadline,
                     const std::function<uint64_t()>& done, const std::function<void()>& ask) {
  using Clock = std::chrono::steady_clock;
  const auto patience = 3 * deadline + std::chrono::seconds(2);
  uint64_t seen = done();
  auto since = Clock::now();
  for (uint32_t round = 0; !work.finished(); ++round) {
    ask();
    std::this_thread::sleep_for(round < 100 ? std::chrono::microseconds(100) : std::chrono::milliseconds(2));
    const uint64_t now = done();
    if (now != seen) {
      seen = now;
      since = Clock::now();
    } else if (Clock::now() - since > patience) {
      std::fprintf(stderr,
                   "xio-tester: the kernel on the GPU neither ends nor makes progress, although the deadline of each "
                   "operation has passed; the GPU may be hung (see dmesg)\n");
      std::fflush(nullptr);
      std::_Exit(exit_bad_input);
    }
  }
}

}  // namespace tester
