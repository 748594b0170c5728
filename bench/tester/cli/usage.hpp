// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief CPU time of this process.

#include <sys/resource.h>

namespace tester {

/// Seconds of CPU time of all threads of this process; children (QEMU) are not counted.
struct Usage {
  double user = 0;
  double system = 0;

  static Usage now() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
  }
  Usage since(const Usage& before) const { return {user - before.user, system - before.system}; }

 private:
  static double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
};

}  // namespace tester
