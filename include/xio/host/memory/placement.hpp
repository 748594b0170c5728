// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Maps a memory mode to the kind of memory for each part of a queue pair.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/core/placement.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/memory_kind.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Kind of memory for one part (one bit of memory_mode) of a queue pair under a mode.
///
/// Memory that a device writes while a kernel polls it, or the reverse, must not stay in a GPU cache: rings are
/// uncached, data is fine-grained.
constexpr MemoryKind kind_for(uint32_t part, uint32_t mode) {
  const bool data = part == memory_mode::data;
  if ((mode & part) == 0) return data ? MemoryKind::host_pinned : MemoryKind::host_coherent;
  return data ? MemoryKind::vram_fine : MemoryKind::vram_uncached;
}

/// Names the parts that `mode` includes, for instance "SQ and data"; empty for 0.
inline std::string parts_text(uint32_t mode) {
  constexpr std::pair<uint32_t, const char*> names[] = {{memory_mode::sq, "SQ"},
                                                        {memory_mode::cq, "CQ"},
                                                        {memory_mode::doorbell_record, "doorbell record"},
                                                        {memory_mode::data, "data"}};
  std::string text;
  for (const auto& [bit, name] : names) {
    if ((mode & bit) == 0) continue;
    mode &= ~bit;
    text += (text.empty() ? "" : mode == 0 ? " and " : ", ") + std::string(name);
  }
  return text;
}

/// Describes a mode, for instance "SQ and data in GPU memory, CQ and doorbell record in host memory".
inline std::string placement_text(uint32_t mode) {
  const uint32_t host = memory_mode::all & ~mode;
  const std::string there = parts_text(mode & memory_mode::all);
  const std::string here = parts_text(host);
  if (there.empty()) return here + " in host memory";
  return there + " in GPU memory" + (here.empty() ? "" : ", " + here + " in host memory");
}

/// Allocates memory for rings, of the best kind that the runtime supports: uncached, else fine-grained.
inline MemoryBuffer allocate_for(const MemoryAllocator& allocator, uint32_t part, uint32_t mode, size_t bytes,
                                 size_t alignment = 0) {
  const MemoryKind kind = kind_for(part, mode);
  if (kind != MemoryKind::vram_uncached) return allocator.allocate(kind, bytes, alignment);
  try {
    return allocator.allocate(kind, bytes, alignment);
  } catch (const Error&) {
    return allocator.allocate(MemoryKind::vram_fine, bytes, alignment);
  }
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
