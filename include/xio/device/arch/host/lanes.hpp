// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Context of a lane on the CPU: its wave, and the counters and observers of its accesses.

#include <xio/device/arch/host/operation_counts.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// A place in a kernel. The source position orders places of one file independently of the optimiser's code layout.
struct CallSite {
  const void* address;  ///< return address of the call
  const void* frame;    ///< frame of the call: shows the call depth
  const char* file;
  uint32_t line;
};

/// Services of a wave for its lanes; implemented by the SIMT executor.
class WaveOps {
 public:
  virtual ~WaveOps() = default;
  /// Lanes that reach the same call site together.
  virtual uint64_t active(const CallSite& site) = 0;
  /// Every lane of `mask` calls; each gets the mask of those that passed true.
  virtual uint64_t ballot(uint64_t mask, bool predicate) = 0;
  /// Every lane of `mask` calls; each gets the value of lane `source`, which is in `mask`.
  virtual uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) = 0;
  /// Every lane of `mask` that has not ended calls; each gets the mask of those that passed its value. For waves of one
  /// lane.
  virtual uint64_t alike(uint64_t mask, uint64_t /*value*/) { return mask; }
  /// Every lane of every wave of the block calls.
  virtual void block_barrier() = 0;
  /// The calling lane cannot continue now: lets other lanes and waves run. `round` counts its unsuccessful polls.
  virtual void yield(uint32_t round) = 0;
  /// Called before each coherent access if XIO_INTERLEAVE is set: others may run here.
  virtual void interleave() {}
  /// Called instead of interleave() with the accessed memory.
  virtual void access(const void* /*where*/, uint32_t /*bytes*/) { interleave(); }
  /// If XIO_INTERLEAVE is set: takes over a store to be performed later, at the latest at the wave's next wait for
  /// stores. Returns true if taken over. Parts of one queue entry are passed consecutively.
  virtual bool store_later(void* /*to*/, const void* /*value*/, uint32_t /*bytes*/, bool /*entry*/) { return false; }
  /// If XIO_INTERLEAVE is set: a wait for stores.
  virtual void perform_stores() {}
  /// If XIO_INTERLEAVE is set: the time; 0: use the clock.
  virtual uint64_t now() { return 0; }

  uint32_t lane = 0;
  uint32_t wave_size = 1;
  uint32_t thread_index = 0;
  uint32_t block_size = 1;
  uint32_t block_index = 0;
  uint32_t grid_size = 1;
};

/// The wave whose lane the calling thread runs; null for a plain thread.
inline thread_local WaveOps* current_wave = nullptr;

/// Counts of the calling thread if XIO_COUNT_OPERATIONS is set.
inline thread_local OperationCounts operation_counts;

/// Purpose of a store.
enum class StoreKind {
  entry,  ///< (part of) a queue entry, or of an accompanying table
  word,   ///< a coherent word: a doorbell record, or the queue's own state
  mmio    ///< a device register
};

/// Guarantee of a fence.
enum class FenceKind { release, store_wait, full };

/// Observer of the calling thread's stores, in program order, if XIO_COUNT_OPERATIONS is 2.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  /// Called before `bytes` bytes at `value` are stored to `to`.
  virtual void on_store(StoreKind kind, const void* to, const void* value, uint32_t bytes) = 0;
  virtual void on_fence(FenceKind kind) = 0;
};
/// Observer of the calling thread; null for none.
inline thread_local StoreObserver* store_observer = nullptr;

/// @}
}  // namespace arch

XIO_NAMESPACE_END
