// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The shape of a launch, and what its waves share: the kernel, the first failure, one barrier for each block.

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

/// How a kernel is launched: a grid of blocks of threads, as on a GPU, and how the CPU plays it.
struct Grid {
  uint32_t blocks = 1;
  uint32_t threads_per_block = 1;
  uint32_t wave_size = 1;  ///< lanes of a wave: 1, 8, 32 or 64; the last wave of a block may have fewer

  /// Stack of a lane in bytes; 0: 128 KiB, four times as much under a sanitizer. Not used with one lane per wave.
  size_t stack_bytes = 0;

  /// Not 0: lanes and threads change places at random in every wave operation, and at every coherent access where
  /// XIO_INTERLEAVE is set. The same seed gives the same choices; what other threads do meanwhile may differ.
  uint64_t jitter_seed = 0;

  /// With jitter: active() may give a part of the lanes that are there together, as an NVIDIA GPU may.
  bool split_groups = false;

  /// How often lanes that wait in active() let the spinning lanes of their wave look again before they go on without
  /// them. AMD hardware waits for ever in most loops: with UINT32_MAX this does so too.
  uint32_t patience = 256;

  /// Waves that run at the same time, rounded to whole blocks, at least one block. Blocks beyond that wait for others
  /// to end, as they do on a GPU that is too small for the grid.
  uint32_t resident_waves = 256;

  /// With one lane per wave: fruitless looks of a wait before its thread gives the processor away. More than 0 pays
  /// where nothing that is waited for needs this processor: a drive answers sooner than the scheduler comes back.
  uint32_t spin = 0;

  /// `waves` full waves in each block.
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

/// Thrown through a kernel that has to end because another lane failed. Not a std::exception: kernels do not catch it.
struct Cancelled {};

class BlockSlot;

/// The kernel of one launch and how it fares. All functions may be called by any thread, except where they say more.
class LaunchState {
 public:
  using Kernel = void (*)(void* context);

  LaunchState(const Grid& launched, Kernel kernel, void* context)
      : grid(launched), kernel_(kernel), context_(context) {}

  /// Makes room for one more block at a time; called before the waves start.
  BlockSlot& add_slot();

  /// Runs the kernel for one lane; the calling thread's current_wave says which one.
  void run_lane() noexcept {
    try {
      kernel_(context_);
    } catch (const Cancelled&) {
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Ends the launch; the launcher gets the first failure.
  void fail(std::exception_ptr error);

  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// For wave operations: whether to return at once because the launch is over. Throws Cancelled instead where the
  /// caller is not itself being unwound.
  bool leave() const {
    if (XIO_LIKELY(!cancelled())) return false;
    if (std::uncaught_exceptions() == 0) throw Cancelled{};
    return true;
  }

  /// Number of a block that nobody ran yet, or `grid.blocks` where none is left.
  uint32_t next_block() {
    if (cancelled()) return grid.blocks;
    const uint64_t block = next_block_.fetch_add(1, std::memory_order_relaxed);
    return block < grid.blocks ? static_cast<uint32_t>(block) : grid.blocks;
  }

  /// Adds what a thread counted on behalf of the launcher.
  void add_counts(const arch::OperationCounts& counts) {
    const std::lock_guard<std::mutex> hold(mutex_);
    counts_ += counts;
  }

  /// To be called by the launcher when all waves have ended: rethrows the first failure.
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

/// Room for one block at a time: its waves, one thread each, meet here. All functions may be called by any thread.
class BlockSlot {
 public:
  explicit BlockSlot(LaunchState& launch)
      : launch_(launch), waves_(launch.grid.waves_per_block()), live_(waves_), first_block_(launch.next_block()) {}

  /// The block that runs here first.
  uint32_t first_block() const { return first_block_; }

  /// Waits for every wave of the block that has not ended. Returns early when the launch has failed.
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

  /// To be called by a wave that has run the block: waits for the others, and returns the next block, or `grid.blocks`.
  uint32_t advance() {
    std::unique_lock<std::mutex> hold(mutex_);
    const uint64_t round = round_;
    end_wave();
    changed_.wait(hold, [&] { return round_ != round; });
    return block_;
  }

  /// Stands in for a wave whose thread could not be started.
  void abandon_wave() {
    const std::lock_guard<std::mutex> hold(mutex_);
    end_wave();
  }

  /// Wakes the waves that wait in barrier(): the launch has failed.
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
