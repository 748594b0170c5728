// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The progress line of runs that take longer than two seconds.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tester {

/// Reports a run's progress for the lifetime of the object, to standard error if that is a terminal or `always` is set.
class Progress {
 public:
  /// @param what   noun for operations
  /// @param total  number of operations; 0: unknown
  /// @param done   returns the number of completed operations; called by another thread
  Progress(std::string what, uint64_t total, std::function<uint64_t()> done, bool always);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void watch();
  void print(double seconds);

  const std::string what_;
  const uint64_t total_;
  const std::function<uint64_t()> done_;
  bool terminal_ = false;
  bool printed_ = false;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tester
