// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The shape of a launch, and the state that its waves share: kernel, first failure, one barrier per block.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace simt {

/// Launch configuration: a grid of blocks of threads, as on a GPU, and options of the emulation.
struct Grid {
  uint32_t blocks = 1;
  uint32_t threads_per_block = 1;
  uint32_t wave_size = 1;  ///< lanes per wave: 1, 8, 32 or 64; the last wave of a block may have fewer

  /// Stack size of a lane in bytes; 0 selects 128 KiB (512 KiB with ASan or TSan). Unused with one lane per wave.
  size_t stack_bytes = 0;

  /// Not 0: schedules lanes and threads at random in every wave operation, and at every coherent access if
  /// XIO_INTERLEAVE is set. Equal seeds give equal decisions, but the timing of other threads may differ.
  uint64_t jitter_seed = 0;

  /// With jitter: active() may return a subset of the converged lanes, as on an NVIDIA GPU.
  bool split_groups = false;

  /// Number of times that lanes waiting in active() let the spinning lanes of their wave poll again before they
  /// continue without them. UINT32_MAX waits indefinitely, as AMD hardware does in most loops.
  uint32_t patience = 256;

  /// Maximum number of concurrent waves, rounded down to whole blocks, at least one block. Further blocks start when
  /// earlier ones end, as on a GPU that is too small for the grid.
  uint32_t resident_waves = 256;

  /// With one lane per wave: unsuccessful polls of a wait before its thread yields the CPU. Values above 0 pay off if
  /// nothing that is waited for needs this CPU: a drive completes sooner than the scheduler returns.
  uint32_t spin = 0;

  /// Returns a grid with `waves` full waves per block.
  static constexpr Grid of_waves(uint32_t blocks, uint32_t waves, uint32_t wave_size) {
    Grid grid;
    grid.blocks = blocks;
    grid.threads_per_block = waves * wave_size;
    grid.wave_size = wave_size;
    return grid;
  }

  constexpr uint32_t waves_per_block() const { return (threads_per_block + wave_size - 1) / wave_size; }
};

namespace detail {

/// Unwinds a kernel after another lane has failed. Not a std::exception, so that kernels do not catch it.
struct Cancelled {};

class BlockSlot;

/// Shared state of one launch. Thread-safe unless a function states otherwise.
class LaunchState {
 public:
  using Kernel = void (*)(void* context);

  LaunchState(const Grid& launched, Kernel kernel, void* context)
      : grid(launched), kernel_(kernel), context_(context) {}

  /// Adds a slot, so that one more block can run concurrently. To be called before the waves start.
  BlockSlot& add_slot();

  /// Runs the kernel for the current lane of the calling thread's current_wave.
  void run_lane() noexcept {
    try {
      kernel_(context_);
    } catch (const Cancelled&) {
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Cancels the launch. finish() rethrows the first failure.
  void fail(std::exception_ptr error);

  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// Returns false while the launch runs. After its cancellation, throws Cancelled, or returns true if the caller is
  /// being unwound already: the wave operation then returns immediately.
  bool leave() const {
    if (XIO_LIKELY(!cancelled())) return false;
    if (std::uncaught_exceptions() == 0) throw Cancelled{};
    return true;
  }

  /// Number of the next block to run, or `grid.blocks` if none is left.
  uint32_t next_block() {
    if (cancelled()) return grid.blocks;
    const uint64_t block = next_block_.fetch_add(1, std::memory_order_relaxed);
    return block < grid.blocks ? static_cast<uint32_t>(block) : grid.blocks;
  }

  /// Adds a thread's operation counts to the launch's.
  void add_counts(const arch::OperationCounts& counts) {
    const std::lock_guard<std::mutex> hold(mutex_);
    counts_ += counts;
  }

  /// Rethrows the first failure. To be called by the launching thread after all waves have ended.
  void finish() {
    arch::operation_counts += counts_;
    if (error_) std::rethrow_exception(error_);
  }

  const Grid grid;

 private:
  Kernel kernel_;
  void* context_;
  std::deque<BlockSlot> slots_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> next_block_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
  arch::OperationCounts counts_;
};

/// Execution slot of one block at a time: synchronizes the block's waves, one thread each. Thread-safe.
class BlockSlot {
 public:
  explicit BlockSlot(LaunchState& launch)
      : launch_(launch), waves_(launch.grid.waves_per_block()), live_(waves_), first_block_(launch.next_block()) {}

  /// The first block of this slot.
  uint32_t first_block() const { return first_block_; }

  /// Waits until every live wave of the block has arrived. Returns early if the launch has failed.
  void barrier() {
    std::unique_lock<std::mutex> hold(mutex_);
    if (++arrived_ == live_) {
      open();
      return;
    }
    const uint64_t generation = generation_;
    changed_.wait(hold, [&] { return generation_ != generation || launch_.cancelled(); });
    if (generation_ == generation) --arrived_;
  }

  /// Ends the calling wave's part of the block, waits for the other waves, and returns the next block, or
  /// `grid.blocks`.
  uint32_t advance() {
    std::unique_lock<std::mutex> hold(mutex_);
    const uint64_t round = round_;
    end_wave();
    changed_.wait(hold, [&] { return round_ != round; });
    return block_;
  }

  /// Ends the part of a wave that could not be started.
  void abandon_wave() {
    const std::lock_guard<std::mutex> hold(mutex_);
    end_wave();
  }

  /// Wakes the waves that wait in barrier(), after the launch has failed.
  void cancel() {
    const std::lock_guard<std::mutex> hold(mutex_);
    changed_.notify_all();
  }

 private:
  void open() {
    arrived_ = 0;
    ++generation_;
    changed_.notify_all();
  }

  void end_wave() {
    if (--live_ == 0) {
      live_ = waves_;
      block_ = launch_.next_block();
      ++round_;
      changed_.notify_all();
    } else if (arrived_ == live_) {
      open();
    }
  }

  LaunchState& launch_;
  const uint32_t waves_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t live_;
  uint32_t arrived_ = 0;
  uint64_t generation_ = 0;
  uint64_t round_ = 0;
  const uint32_t first_block_;
  uint32_t block_ = 0;
};

inline BlockSlot& LaunchState::add_slot() { return slots_.emplace_back(*this); }

inline void LaunchState::fail(std::exception_ptr error) {
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    if (!error_) error_ = std::move(error);
  }
  cancelled_.store(true, std::memory_order_relaxed);
  for (BlockSlot& slot : slots_) slot.cancel();
}

}  // namespace detail

}  // namespace simt

XIO_NAMESPACE_END
