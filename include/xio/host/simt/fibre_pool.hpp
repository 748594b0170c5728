// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Keeps idle fibres for the next wave: mapping a stack costs some microseconds, taking one from here does not.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xio/host/simt/fibre.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

using Fibres = std::vector<std::unique_ptr<Fibre>>;

/// The idle fibres of the process. All functions may be called by any thread.
class FibrePool {
 public:
  static FibrePool& instance() {
    static FibrePool pool;
    return pool;
  }

  /// Fibres whose stacks hold `stack_bytes`, idle.
  Fibres take(size_t count, size_t stack_bytes) {
    Fibres taken;
    taken.reserve(count);
    {
      const std::lock_guard<std::mutex> hold(mutex_);
      Fibres& shelf = idle_[stack_bytes];
      while (taken.size() < count && !shelf.empty()) {
        taken.push_back(std::move(shelf.back()));
        shelf.pop_back();
      }
    }
    while (taken.size() < count) taken.push_back(std::make_unique<Fibre>(stack_bytes, taken.size()));
    return taken;
  }

  /// Takes fibres back, idle again; those above `most_kept` are freed.
  void give(Fibres fibres, size_t stack_bytes) {
    const std::lock_guard<std::mutex> hold(mutex_);
    Fibres& shelf = idle_[stack_bytes];
    while (!fibres.empty() && shelf.size() < most_kept) {
      shelf.push_back(std::move(fibres.back()));
      fibres.pop_back();
    }
  }

 private:
  static constexpr size_t most_kept = 4096;

  std::mutex mutex_;
  std::map<size_t, Fibres> idle_;
};

}  // namespace simt::detail

XIO_NAMESPACE_END
