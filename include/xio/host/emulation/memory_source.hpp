// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Where an emulated device's memory comes from: rings and doorbells that something else than the CPU reaches.

#include <cstddef>
#include <cstdlib>
#include <functional>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Where host memory comes from: for example cudaHostAlloc, so that a GPU reaches it too.
struct MemorySource {
  /// Returns at least `bytes` bytes at a multiple of `alignment` (a power of two), or null.
  std::function<void*(size_t bytes, size_t alignment)> allocate;
  std::function<void(void* memory)> release;
};

/// The process's own heap.
inline MemorySource heap_memory() {
  return {[](size_t bytes, size_t alignment) -> void* {
            void* memory = nullptr;
            return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
          },
          [](void* memory) { std::free(memory); }};
}

}  // namespace emulation

XIO_NAMESPACE_END
