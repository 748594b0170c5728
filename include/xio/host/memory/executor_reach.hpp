// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Makes rings, doorbell records and registers of this process accessible to the executor of kernels. Needs no
/// GPU runtime: the caller's small class wraps one.

#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// How a GPU accesses memory of this process: GpuReach (gpu_reach.hpp), or the caller's class.
///
/// All ranges are whole pages, and no page is added twice before it is removed.
class ExecutorReach {
 public:
  virtual ~ExecutorReach() = default;
  /// Makes `bytes` of plain memory accessible to kernels until the result is destroyed, which is their address of it.
  /// Throws Error.
  virtual std::shared_ptr<void> add_memory(void* first, size_t bytes) = 0;
  /// The same for device registers that this process has mapped.
  virtual std::shared_ptr<void> add_registers(void* first, size_t bytes) = 0;
  /// Returns a copy of `bytes` bytes in the executor's own memory, for words that only kernels access: waves that share
  /// a queue poll them. Null: it has none, and kernels use the original.
  virtual std::shared_ptr<void> copy(const void* /*from*/, size_t /*bytes*/) { return nullptr; }
};

/// Reference-counted pages added to an ExecutorReach: rings share pages, and so do the doorbell records and registers
/// of several queue pairs. One object serves all queue pairs of a process. Usable from several threads.
class ReachablePages {
 public:
  explicit ReachablePages(std::shared_ptr<ExecutorReach> reach) : reach_(std::move(reach)) {}
  ReachablePages(const ReachablePages&) = delete;
  ReachablePages& operator=(const ReachablePages&) = delete;

  /// Returns the address of `data` for kernels, valid until remove() with the same arguments. Throws Error if the range
  /// cannot be made accessible, or is not contiguous for kernels.
  void* add(void* data, size_t bytes, bool registers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = pages_of(data, bytes);
    fill_gaps(first, last, registers);
    const Runs::iterator begin = run_of(first);
    const uintptr_t distance = distance_of(*begin);
    for (Runs::iterator run = begin; run != runs_.end() && run->first < last; ++run) {
      if (distance_of(*run) == distance) continue;
      const Error apart("the pages from " + to_hex(run->first) + " on do not follow those from " + to_hex(first) +
                        " on in the kernels' address space; allocate the queue in one piece");
      drop_unused();  // `run` may be one of them
      throw apart;
    }
    for (Runs::iterator run = begin; run != runs_.end() && run->first < last; ++run) ++run->second.users;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) + distance);
  }

  /// ExecutorReach::copy().
  std::shared_ptr<void> copy(const void* from, size_t bytes) { return reach_->copy(from, bytes); }

  void remove(void* data, size_t bytes) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = pages_of(data, bytes);
    for (Runs::iterator run = run_of(first); run != runs_.end() && run->first < last; ++run) --run->second.users;
    drop_unused();
  }

 private:
  struct Run {
    size_t bytes;
    std::shared_ptr<void> executor;  // address of the first byte for kernels
    uint32_t users;
  };
  using Runs = std::map<uintptr_t, Run>;  // keyed by the address of the first page; runs do not overlap

  static std::pair<uintptr_t, uintptr_t> pages_of(void* data, size_t bytes) {
    static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<uintptr_t>(data);
    return {address & ~(page - 1), (address + bytes + page - 1) & ~(page - 1)};
  }

  static uintptr_t distance_of(const Runs::value_type& run) {
    return reinterpret_cast<uintptr_t>(run.second.executor.get()) - run.first;
  }

  /// Returns the run that contains the page.
  Runs::iterator run_of(uintptr_t page) {
    Runs::iterator after = runs_.upper_bound(page);
    return after == runs_.begin() ? after : std::prev(after);
  }

  void fill_gaps(uintptr_t first, uintptr_t last, bool registers) {
    for (uintptr_t at = first; at < last;) {
      const Runs::iterator after = runs_.upper_bound(at);
      if (after != runs_.begin()) {
        const Runs::iterator before = std::prev(after);
        if (at < before->first + before->second.bytes) {
          at = before->first + before->second.bytes;
          continue;
        }
      }
      const uintptr_t end = after != runs_.end() && after->first < last ? after->first : last;
      auto* const pages = reinterpret_cast<void*>(at);
      try {
        runs_[at] = {end - at, registers ? reach_->add_registers(pages, end - at) : reach_->add_memory(pages, end - at),
                     0};
      } catch (...) {
        drop_unused();
        throw;
      }
      at = end;
    }
  }

  void drop_unused() noexcept {
    for (Runs::iterator run = runs_.begin(); run != runs_.end();)
      run = run->second.users != 0 ? std::next(run) : runs_.erase(run);
  }

  std::shared_ptr<ExecutorReach> reach_;
  std::mutex mutex_;
  Runs runs_;
};

/// Memory ranges that kernels can access during the lifetime of this object. Without ReachablePages, kernels run on the
/// CPU and use this process's addresses. Movable.
class ReachedMemory {
 public:
  explicit ReachedMemory(std::shared_ptr<ReachablePages> pages) : pages_(std::move(pages)) {}
  ReachedMemory(ReachedMemory&&) noexcept = default;
  ReachedMemory& operator=(ReachedMemory&&) = delete;
  ~ReachedMemory() {
    for (const auto& [data, bytes] : added_) pages_->remove(data, bytes);
  }

  /// Returns the address for kernels; null if `data` is null.
  template <class T>
  T* memory(T* data, size_t bytes) {
    return static_cast<T*>(add(data, bytes, false));
  }
  template <class T>
  T* registers(T* data, size_t bytes) {
    return static_cast<T*>(add(data, bytes, true));
  }
  /// Returns the address of a copy in the executor's own memory, which the host no longer sees; memory(), if there is
  /// no such memory.
  void* copy(void* data, size_t bytes) {
    if (!pages_) return data;
    copies_.push_back(pages_->copy(data, bytes));
    return copies_.back() ? copies_.back().get() : memory(data, bytes);
  }

 private:
  void* add(const void* data, size_t bytes, bool registers) {
    auto* const first = const_cast<void*>(data);
    if (!pages_ || first == nullptr || bytes == 0) return first;
    added_.reserve(added_.size() + 1);
    void* const executor = pages_->add(first, bytes, registers);
    added_.emplace_back(first, bytes);
    return executor;
  }

  std::shared_ptr<ReachablePages> pages_;
  std::vector<std::pair<void*, size_t>> added_;
  std::vector<std::shared_ptr<void>> copies_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
