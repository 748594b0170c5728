// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Physical region pages: the data pointer of a command, and its list (NVM Express Base Specification 2.0,
/// section 4.1.1).
///
/// Entry 1 points to any dword-aligned address, every later entry to the start of a memory page. Data in one page needs
/// only entry 1; for two pages, entry 2 is the second page; for more, entry 2 points to a list. If a list does not end
/// within its memory page, the last entry of that page points to the next list page.

#include <xio/device/core/status.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/pages.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Placeholder for absent list memory.
struct NoList {
  static constexpr uint64_t bus = 0;
  static constexpr uint32_t bytes = 0;
  XIO_HOST_DEVICE constexpr void put(uint32_t, uint64_t) const {}
};

/// Smallest alignment of data that PRPs can express, in bytes.
constexpr uint32_t prp_alignment = 4;

namespace detail {

/// Qwords of a list of `entries` addresses, including chain pointers, if its first page holds `room` of them.
XIO_DEVICE constexpr uint32_t list_words(uint32_t entries, uint32_t room, uint32_t words_per_page) {
  uint32_t words = 0;
  while (entries > room) {
    words += room;
    entries -= room - 1;
    room = words_per_page;
  }
  return words + entries;
}

/// The most addresses that a list of `words` qwords can hold beside its chain pointers. `skipped`: qwords of its first
/// page before it; a page has 2^shift of them.
XIO_DEVICE constexpr uint32_t list_entries(uint32_t words, uint32_t skipped, uint32_t shift) {
  return words == 0 ? 0 : words - ((skipped + words - 1) >> shift);
}

/// State that build_prps passes to its long path.
struct PrpListPlan {
  uint64_t offset;   ///< offset of the second page in the source
  uint32_t left;     ///< bytes from there on
  uint32_t entries;  ///< pages from there on
  uint32_t page_shift;
};

template <class Pages, class List>
XIO_DEVICE constexpr Status fill_prp_list(const Pages& pages, PrpListPlan plan, const List& list, uint64_t& prp2) {
  const uint32_t page = 1u << plan.page_shift;
  const uint32_t words_per_page = page >> 3;
  const uint32_t room = (page - (static_cast<uint32_t>(list.bus) & (page - 1))) >> 3;
  if constexpr (!known_to_fit<List>) {
    if ((list.bus & 7) != 0) return Status::misaligned;
    const uint32_t most = list_entries(list.bytes / 8, words_per_page - room, plan.page_shift - 3);
    if (plan.entries > most) return Status::out_of_range;
  }

  prp2 = list.bus;
  uint64_t wrong = 0;
  uint32_t at = 0;
  uint32_t page_end = room;
  XIO_ROLLED
  for (uint32_t left = plan.entries; left > 0; --left) {
    if (at + 1 == page_end && left > 1) {
      list.put(at, list.bus + uint64_t{page_end} * 8);
      ++at;
      page_end += words_per_page;
    }
    const uint64_t address = pages.bus(plan.offset);
    if constexpr (has_run<Pages>) {
      const uint32_t here = plan.left < page ? plan.left : page;
      wrong |= (address & (page - 1)) | static_cast<uint64_t>(pages.run(plan.offset, here) < here);
      plan.left -= here;
    }
    list.put(at++, address);
    plan.offset += page;
  }
  return wrong == 0 ? Status::ok : Status::misaligned;
}

template <class Pages>
XIO_DEVICE constexpr Status fill_prp_list(const Pages&, PrpListPlan, const NoList&, uint64_t&) {
  return Status::out_of_range;
}

}  // namespace detail

/// Builds PRP entries 1 and 2 for `bytes` bytes of `pages`, from byte `offset` on; for more than two pages, also the
/// list.
///
/// @param bytes       1 to 2^31
/// @param page_shift  log2 of the controller's memory page size (CC.MPS), 12 to 27
/// @param list        list memory of this command; not used if two pages suffice
/// @param[out] data   set if the result is ok
/// @return ok; misaligned: the data does not start at a multiple of 4, the list not at one of 8, or a piece of the
///         source starts or ends where its page does not; out_of_range: the list does not fit. List memory may be
///         written in every case.
template <class Pages, class List>
XIO_DEVICE_INLINE constexpr Status build_prps(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                                              const List& list, DataPointer& data) {
  const uint32_t page = 1u << page_shift;
  const uint64_t first = pages.bus(offset);
  const uint32_t in_page = static_cast<uint32_t>(first) & (page - 1);
  const uint32_t in_first = page - in_page;
  const uint32_t span = in_page + bytes;
  // No early return: a branch costs a wave more than the few instructions that follow.
  const bool misaligned = (in_page & (prp_alignment - 1)) != 0;
  if constexpr (detail::has_run<Pages>) {
    const uint32_t want = bytes < in_first ? bytes : in_first;
    if (pages.run(offset, want) < want) return Status::misaligned;
  }

  data.prp1 = first;
  data.prp2 = span > page ? pages.bus(offset + in_first) : 0;
  data.sgl = false;
  if (XIO_UNLIKELY(detail::seldom<List>(span > 2 * page))) {
    if (span > 2 * page) {
      const detail::PrpListPlan plan{offset + in_first, bytes - in_first, (span - 1) >> page_shift, page_shift};
      const Status listed = detail::fill_prp_list(pages, plan, list, data.prp2);
      return misaligned ? Status(Status::misaligned) : listed;
    }
  }
  if constexpr (detail::has_run<Pages>) {
    if (span > page) {
      const uint32_t left = bytes - in_first;
      if ((data.prp2 & (page - 1)) != 0 || pages.run(offset + in_first, left) < left) return Status::misaligned;
    }
  }
  return misaligned ? Status::misaligned : Status::ok;
}

/// Bytes of list memory that suffice for every transfer of up to `bytes` bytes (at most 2^31), whatever its start, for
/// a list that starts `list_offset` bytes into a memory page; 0 if no list is ever needed. For the host.
XIO_DEVICE constexpr uint32_t needed_list_bytes(uint32_t bytes, uint32_t page_shift, uint64_t list_offset = 0) {
  const uint32_t page = 1u << page_shift;
  if (bytes == 0) return 0;
  // The worst case starts at the last dword of a page.
  const uint32_t pages = ((page - prp_alignment + bytes - 1) >> page_shift) + 1;
  if (pages <= 2) return 0;
  const uint32_t room = (page - (static_cast<uint32_t>(list_offset) & (page - 1))) >> 3;
  return 8 * detail::list_words(pages - 1, room, page >> 3);
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
