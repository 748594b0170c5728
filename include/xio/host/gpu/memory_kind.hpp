// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kinds of memory for rings and data.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Location of memory and its cache behaviour. The use of each kind: docs/memory.md.
enum class MemoryKind : uint32_t {
  host_coherent,  ///< host memory that a GPU does not cache: rings, doorbell records, words that both sides poll
  host_pinned,    ///< host memory that a GPU may cache while a kernel runs: data, which kernels fence
  vram_coarse,    ///< GPU memory, coherent with other devices only at kernel boundaries
  vram_fine,      ///< GPU memory that other devices may write while a kernel runs
  vram_uncached   ///< GPU memory that the GPU does not cache
};

/// All kinds, in the order of the enumeration.
constexpr MemoryKind memory_kinds[] = {MemoryKind::host_coherent, MemoryKind::host_pinned, MemoryKind::vram_coarse,
                                       MemoryKind::vram_fine, MemoryKind::vram_uncached};

constexpr bool is_vram(MemoryKind kind) { return kind >= MemoryKind::vram_coarse; }

constexpr const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host_coherent: return "coherent host memory";
    case MemoryKind::host_pinned: return "pinned host memory";
    case MemoryKind::vram_coarse: return "coarse-grained GPU memory";
    case MemoryKind::vram_fine: return "fine-grained GPU memory";
    default: return "uncached GPU memory";
  }
}

}  // namespace host

XIO_NAMESPACE_END
