// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Page sources: where the bytes of a buffer lie for the controller. PRP and SGL builders take any of them.
///
/// A page source is a trivially copyable type with
///
/// | member                                                | meaning |
/// |-------------------------------------------------------|--------------------------------------------------------------|
/// | `uint64_t bus(uint64_t offset) const`                 | bus address of byte `offset` of the buffer; required | |
/// `uint64_t run(uint64_t offset, uint64_t want) const`  | bytes that lie contiguous from there; exact below `want` |
///
/// Without `run`, the source promises that each of the controller's memory pages lies in one piece and aligned, and
/// lists are built unchecked. With `run`, the builders check what they are given.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// One contiguous buffer.
struct ContiguousPages {
  uint64_t base;  ///< bus address of byte 0

  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const { return base + offset; }
};

/// A map of equal pages, each aligned to its size and no smaller than the controller's. Unchecked.
struct PageArray {
  const uint64_t* pages;      ///< bus address of each page
  uint32_t page_shift;        ///< log2 of the page size in bytes; at least that of the controller
  uint64_t first_offset = 0;  ///< where in the first page the buffer starts, bytes

  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const {
    const uint64_t at = first_offset + offset;
    return pages[at >> page_shift] + (at & ((uint64_t{1} << page_shift) - 1));
  }
};

/// One contiguous piece of memory.
struct Segment {
  uint64_t bus;
  uint64_t bytes;
};

/// Any pieces of memory, one after the other. Looking one up takes time proportional to its number.
struct SegmentList {
  const Segment* segments;
  uint32_t count;

  /// 0 beyond the end.
  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (offset < segments[i].bytes) return segments[i].bus + offset;
      offset -= segments[i].bytes;
    }
    return 0;
  }

  /// Pieces that touch on the bus count as one.
  XIO_HOST_DEVICE constexpr uint64_t run(uint64_t offset, uint64_t want) const {
    uint32_t i = 0;
    while (i < count && offset >= segments[i].bytes) offset -= segments[i++].bytes;
    if (i == count) return 0;
    uint64_t bytes = segments[i].bytes - offset;
    uint64_t end = segments[i].bus + segments[i].bytes;
    while (bytes < want && ++i < count && (segments[i].bytes == 0 || segments[i].bus == end)) {
      bytes += segments[i].bytes;
      if (segments[i].bytes != 0) end = segments[i].bus + segments[i].bytes;
    }
    return bytes;
  }
};

namespace detail {

template <class... T>
struct MakeVoid {
  using type = void;
};

template <class T>
XIO_HOST_DEVICE const T& declared();

template <class List, class = void>
struct HasSeldom {
  static constexpr bool value = false;
};
template <class List>
struct HasSeldom<List, typename MakeVoid<decltype(List::seldom(true))>::type> {
  static constexpr bool value = true;
};

/// `condition`, or more: what List::seldom() makes of it, where there is one.
template <class List>
XIO_DEVICE_INLINE constexpr bool seldom(bool condition) {
  if constexpr (HasSeldom<List>::value) {
    return List::seldom(condition);
  } else {
    return condition;
  }
}

template <class Source, class = void>
struct HasRun {
  static constexpr bool value = false;
};
template <class Source>
struct HasRun<Source, typename MakeVoid<decltype(declared<Source>().run(0, 0))>::type> {
  static constexpr bool value = true;
};

}  // namespace detail

/// Plain memory for a PRP or SGL list: contiguous on the bus, 8-byte aligned, in reach of the device that builds it.
///
/// The builders take any type with these members; one whose `put` stores write-through serves where the cache is not
/// written back before the doorbell. A static `bool seldom(bool)` in it is asked before a branch that few lanes take:
/// arch::seldom() lets a wave pass by it.
struct ListMemory {
  uint64_t* words = nullptr;
  uint64_t bus = 0;    ///< bus address of `words`
  uint32_t bytes = 0;  ///< room

  XIO_HOST_DEVICE constexpr void put(uint32_t index, uint64_t value) const { words[index] = value; }
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
