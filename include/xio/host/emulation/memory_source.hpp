// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Allocator for an emulated device's rings and doorbells, for example memory that a GPU can access.

#include <cstddef>
#include <cstdlib>
#include <functional>

#include <xio/device/core/policy.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation
/// @{

/// Allocator of memory that the CPU can access: cudaHostAlloc, for example, makes it accessible to a GPU.
struct MemorySource {
  /// Returns at least `bytes` bytes at a multiple of `alignment` (a power of two), or null.
  std::function<void*(size_t bytes, size_t alignment)> allocate;
  std::function<void(void* memory)> release;
  /// Memory::device: it allocates in the memory of the GPU that runs the kernels. For handles.
  Memory memory = Memory::host;
};

/// Allocates from the process heap.
inline MemorySource heap_memory() {
  return {[](size_t bytes, size_t alignment) -> void* {
            void* memory = nullptr;
            return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
          },
          [](void* memory) { std::free(memory); }};
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
