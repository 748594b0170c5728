// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A stream on the CPU: runs work and emulated kernels in order, concurrently with the caller.
/// Empty in the GPU passes of a compiler.

#include <xio/config.hpp>

#if XIO_HAS_SIMT

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <xio/host/gpu/wave_budget.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/simt/simt.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_launch
/// @{

/// Runs work items in order on a dedicated thread, like a GPU stream. After a failure, further items are discarded
/// until synchronize() has reported it. Thread-safe.
/// @snippet host.cpp HostStream
class HostStream {
 public:
  /// @param wave_size  lanes per wave: 1, 8, 32 or 64
  explicit HostStream(uint32_t wave_size = 64) : wave_size_(wave_size) {
    thread_ = start_service_thread([this] { run(); });
  }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  /// Completes the queued work first.
  ~HostStream() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  uint32_t wave_size() const { return wave_size_; }  ///< lanes of a wave

  /// Queues `work` after all earlier work; returns immediately.
  /// @snippet host.cpp HostStream
  void enqueue(std::function<void()> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  /// Waits until the queue is empty; rethrows the first exception of the work. Has no timeout: kernels have deadlines.
  /// @snippet host.cpp HostStream
  void synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !waiting_.empty() || ending_; });
      if (waiting_.empty()) return;
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      if (!failure_) {
        busy_ = true;
        lock.unlock();
        std::exception_ptr failure;
        try {
          work();
        } catch (...) {
          failure = std::current_exception();
        }
        lock.lock();
        busy_ = false;
        failure_ = failure;
      }
      changed_.notify_all();
    }
  }

  uint32_t wave_size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::exception_ptr failure_;
  bool busy_ = false;
  bool ending_ = false;
  ServiceThread thread_;
};

/// Launches an I/O kernel into a stream on the CPU; counterpart of launch_io() of gpu/stream.hpp.
template <class... Parameters>
void launch_io(HostStream& stream, const WaveBudget& budget, void (*kernel)(Parameters...),
               const typename detail::SameType<Parameters>::type&... arguments) {
  const uint32_t blocks = detail::blocks_of(budget);
  simt::Grid grid = simt::Grid::of_waves(blocks, budget.waves_per_block, stream.wave_size());
  grid.resident_waves = budget.waves;
  stream.enqueue([=] { simt::launch(grid, kernel, arguments...); });
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
