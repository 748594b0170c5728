// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Page sources: the bus addresses of a buffer, as input to the PRP and SGL builders.
///
/// A page source is a trivially copyable type with
///
/// | member                                               | meaning                                              |
/// |------------------------------------------------------|------------------------------------------------------|
/// | `uint64_t bus(uint64_t offset) const`                | bus address of byte `offset` of the buffer; required |
/// | `uint64_t run(uint64_t offset, uint64_t want) const` | contiguous bytes from there on; exact below `want`   |
///
/// A source may say `static constexpr bool contiguous = true`: all of it is contiguous. One without `run` guarantees
/// that each of the controller's memory pages is contiguous and aligned; lists are built unchecked. With `run`, the
/// builders check contiguity and alignment.

#include <xio/config.hpp>
#include <xio/vendors/member.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// One contiguous buffer.
struct ContiguousPages {
  static constexpr bool contiguous = true;
  uint64_t base;  ///< bus address of byte 0

  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const { return base + offset; }
};

/// Pages of equal size, each aligned to its size and no smaller than the controller's. Unchecked.
struct PageArray {
  const uint64_t* pages;      ///< bus address of each page
  uint32_t page_shift;        ///< log2 of the page size in bytes; at least the controller's page size
  uint64_t first_offset = 0;  ///< start of the buffer in the first page, bytes

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

/// A sequence of memory segments. A lookup takes time proportional to the segment's position in the list.
struct SegmentList {
  const Segment* segments;
  uint32_t count;

  /// Bus address of byte `offset` of the buffer; 0 beyond the end.
  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (offset < segments[i].bytes) return segments[i].bus + offset;
      offset -= segments[i].bytes;
    }
    return 0;
  }

  /// Contiguous bytes from `offset` on; segments that are adjacent on the bus count as one.
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

template <class List, class = void>
constexpr bool has_seldom = false;
template <class List>
constexpr bool has_seldom<List, decltype(void(List::seldom(true)))> = true;

/// List::seldom(condition) if List has it, otherwise `condition`.
template <class List>
XIO_DEVICE_INLINE constexpr bool seldom(bool condition) {
  if constexpr (has_seldom<List>) {
    return List::seldom(condition);
  } else {
    return condition;
  }
}

/// Whether a list of type List was compared with its size before: List::known_to_fit, if List has it.
template <class List, class = void>
constexpr bool known_to_fit = false;
template <class List>
constexpr bool known_to_fit<List, decltype(void(List::known_to_fit))> = List::known_to_fit;

/// Whether every piece of a source is known to be contiguous: Source::contiguous, if it has it.
template <class Source, class = void>
constexpr bool is_contiguous = false;
template <class Source>
constexpr bool is_contiguous<Source, decltype(void(Source::contiguous))> = Source::contiguous;

template <class Source, class = void>
constexpr bool has_run = false;
template <class Source>
constexpr bool has_run<Source, decltype(void(member::made<const Source&>().run(0, 0)))> = true;

}  // namespace detail

/// Plain memory for a PRP or SGL list: contiguous on the bus, 8-byte aligned, accessible to the device that builds it.
///
/// The builders accept any type with these members; if the cache is not written back before the doorbell, `put` must
/// store write-through. An optional static `bool seldom(bool)` is evaluated before a branch that few lanes take: with
/// arch::seldom() a wave skips the branch.
struct ListMemory {
  uint64_t* words = nullptr;
  uint64_t bus = 0;    ///< bus address of `words`
  uint32_t bytes = 0;  ///< size

  XIO_HOST_DEVICE constexpr void put(uint32_t index, uint64_t value) const { words[index] = value; }
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
