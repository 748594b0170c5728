// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Stops a run when its controller is removed.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <xio/host/linux/service_thread.hpp>

#include "tester/cli/interrupt.hpp"

namespace tester {

/// Polls from its own thread, for the lifetime of the object, whether the controller is alive. When it is not,
/// submissions stop, and operations still in flight after a grace period are abandoned.
class LossWatch {
 public:
  /// @param grace  grace period; together with the poll interval, a run ends within a second
  explicit LossWatch(std::function<bool()> alive, std::chrono::milliseconds grace = std::chrono::milliseconds(500))
      : alive_(std::move(alive)), grace_(grace) {
    thread_ = xio::host::start_service_thread([this] { watch(); });
  }
  LossWatch(const LossWatch&) = delete;
  LossWatch& operator=(const LossWatch&) = delete;
  ~LossWatch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Whether the controller was lost and kernels were therefore stopped.
  bool lost() const { return lost_.load(); }

 private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return stop_; })) {
      if (alive_()) continue;
      lost_.store(true);
      Interrupt::request();
      if (!changed_.wait_for(lock, grace_, [this] { return stop_; })) Interrupt::abandon();
      return;
    }
  }

  const std::function<bool()> alive_;
  const std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::atomic<bool> lost_{false};
  std::thread thread_;
};

}  // namespace tester
