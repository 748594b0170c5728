// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What kernels on the CPU did between two moments.

#include <xio/device/arch.hpp>

namespace tester {

inline xio::arch::OperationCounts difference(const xio::arch::OperationCounts& now,
                                             const xio::arch::OperationCounts& before) {
  xio::arch::OperationCounts counts;
  counts.entry_stores = now.entry_stores - before.entry_stores;
  counts.narrow_entry_stores = now.narrow_entry_stores - before.narrow_entry_stores;
  counts.word_stores = now.word_stores - before.word_stores;
  counts.releases = now.releases - before.releases;
  counts.store_waits = now.store_waits - before.store_waits;
  counts.acquires = now.acquires - before.acquires;
  counts.full_fences = now.full_fences - before.full_fences;
  counts.atomics = now.atomics - before.atomics;
  counts.mmio_stores = now.mmio_stores - before.mmio_stores;
  counts.mmio_bytes = now.mmio_bytes - before.mmio_bytes;
  return counts;
}

}  // namespace tester
