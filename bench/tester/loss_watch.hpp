// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Stops a run when its controller is taken away.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <xio/host/nvme/transport.hpp>
#include <xio/host/service_thread.hpp>

#include "tester/interrupt.hpp"

namespace tester {

/// Looks at a transport from a thread of its own, as long as it lives; the transport outlives it.
class LossWatch {
 public:
  explicit LossWatch(const xio::host::NvmeTransport& transport) : transport_(transport) {
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

  /// Whether the controller was lost and kernels were stopped for it.
  bool lost() const { return lost_.load(); }

 private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return stop_; })) {
      if (transport_.alive()) continue;
      lost_.store(true);
      Interrupt::request();
      return;
    }
  }

  const xio::host::NvmeTransport& transport_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::atomic<bool> lost_{false};
  std::thread thread_;
};

}  // namespace tester
