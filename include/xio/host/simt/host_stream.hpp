// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A stream of the CPU: work that is done in order, beside the caller, with kernels that the CPU plays.
/// The passes of a compiler that are for a GPU find nothing here.

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

/// Does what it is given one after the other, on a thread of its own, as a GPU's stream does. After a failure the rest
/// is left out, until synchronize() has told of it. Usable from several threads at once.
class HostStream {
 public:
  /// @param wave_size  lanes of a wave: 1, 8, 32 or 64
  explicit HostStream(uint32_t wave_size = 64) : wave_size_(wave_size) {
    thread_ = start_service_thread([this] { run(); });
  }
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  /// Does what is left first.
  ~HostStream() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  uint32_t wave_size() const { return wave_size_; }

  /// Does `work` after what was put here before; returns at once.
  void enqueue(std::function<void()> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  /// Waits until everything is done; throws what some of it threw first. Kernels have deadlines of their own.
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
  std::thread thread_;
};

/// Launches an I/O kernel into a stream of the CPU, as launch_io() of gpu/stream.hpp does on a GPU.
template <class... Parameters>
void launch_io(HostStream& stream, const WaveBudget& budget, void (*kernel)(Parameters...),
               const typename detail::SameType<Parameters>::type&... arguments) {
  const uint32_t blocks = detail::blocks_of(budget);
  simt::Grid grid = simt::Grid::of_waves(blocks, budget.waves_per_block, stream.wave_size());
  grid.resident_waves = budget.waves;
  stream.enqueue([=] { simt::launch(grid, kernel, arguments...); });
}

}  // namespace host

XIO_NAMESPACE_END

#endif
