// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Who stands behind a lane on the CPU: the wave that it belongs to, and those who count or watch what it does.

#include <xio/device/arch/host/operation_counts.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// A place in a kernel. The source position orders places of one file whatever order the optimiser gave to the code.
struct CallSite {
  const void* address;  ///< where the call returns to
  const void* frame;    ///< of the call: tells how deep in calls it is
  const char* file;
  uint32_t line;
};

/// What a lane can ask of the wave that it belongs to; implemented by the SIMT executor.
class WaveOps {
 public:
  virtual ~WaveOps() = default;
  /// Lanes that reach the same call site together.
  virtual uint64_t active(const CallSite& site) = 0;
  /// Every lane of `mask` calls; each gets the mask of those that passed true.
  virtual uint64_t ballot(uint64_t mask, bool predicate) = 0;
  /// Every lane of `mask` calls; each gets the value of lane `source`, which is in `mask`.
  virtual uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) = 0;
  /// Every lane of every wave of the block calls.
  virtual void block_barrier() = 0;
  /// The calling lane cannot go on now: let the other lanes and waves run. `round` counts its fruitless looks.
  virtual void yield(uint32_t round) = 0;
  /// Before each coherent access, where XIO_INTERLEAVE is set: others may run here.
  virtual void interleave() {}
  /// The same, for who wants to know what is accessed.
  virtual void access(const void* /*where*/, uint32_t /*bytes*/) { interleave(); }
  /// There, too: a store that may be performed later, up to the wave's next wait for stores; true where that is taken
  /// over. Parts of one queue entry follow each other.
  virtual bool store_later(void* /*to*/, const void* /*value*/, uint32_t /*bytes*/, bool /*entry*/) { return false; }
  /// There, too: a wait for stores.
  virtual void perform_stores() {}
  /// There, too: what time it is; 0: what the clock says.
  virtual uint64_t now() { return 0; }

  uint32_t lane = 0;
  uint32_t wave_size = 1;
  uint32_t thread_index = 0;
  uint32_t block_size = 1;
  uint32_t block_index = 0;
  uint32_t grid_size = 1;
};

/// The wave that the calling thread runs a lane of; null for a plain thread.
inline thread_local WaveOps* current_wave = nullptr;

/// Where XIO_COUNT_OPERATIONS is set.
inline thread_local OperationCounts operation_counts;

/// What a store is for.
enum class StoreKind {
  entry,  ///< (part of) a queue entry, or of a table that goes with it
  word,   ///< a coherent word: a doorbell record, or the queue's own state
  mmio    ///< a device register
};

/// What a fence promises.
enum class FenceKind { release, store_wait, full };

/// Is told what the calling thread stores, in program order, where XIO_COUNT_OPERATIONS is set.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  /// Before `bytes` bytes at `value` are stored to `to`.
  virtual void on_store(StoreKind kind, const void* to, const void* value, uint32_t bytes) = 0;
  virtual void on_fence(FenceKind kind) = 0;
};
/// Of the calling thread; null for none.
inline thread_local StoreObserver* store_observer = nullptr;

}  // namespace arch

XIO_NAMESPACE_END
