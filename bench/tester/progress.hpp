// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The progress line of runs that take longer than two seconds.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tester/phase.hpp"

namespace tester {

/// Watches the lanes for as long as it lives. Prints to standard error, if that is a terminal or `always` is set.
class Progress {
 public:
  /// @param total  operations to be done; 0: not known
  Progress(Direction direction, uint64_t total, const std::vector<Lane>& lanes, bool always);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void watch();
  void print(double seconds);

  const Direction direction_;
  const uint64_t total_;
  const std::vector<Lane>& lanes_;
  bool terminal_ = false;
  bool printed_ = false;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tester
