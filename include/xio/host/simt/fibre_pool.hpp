// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pool of idle fibres. Reuse saves the microseconds that mapping a stack costs.

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

/// The idle fibres of the process. Thread-safe.
class FibrePool {
 public:
  static FibrePool& instance() {
    static FibrePool pool;
    return pool;
  }

  /// Takes `count` idle fibres with stacks of `stack_bytes` bytes; creates those that the pool lacks.
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

  /// Returns idle fibres to the pool; fibres in excess of `most_kept` per stack size are freed.
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
