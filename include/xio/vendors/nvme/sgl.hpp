// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Scatter gather lists: the data pointer of a command as an SGL (NVM Express Base Specification 2.0, section
/// 4.1.2).
///
/// Contiguous data is one data block descriptor in the entry itself. Otherwise the entry holds a last segment
/// descriptor, which points to a list of data block descriptors. Neither depends on memory pages.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/pages.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Data pointer for `bytes` bytes of contiguous memory at bus address `address`.
XIO_DEVICE constexpr DataPointer sgl_data_block(uint64_t address, uint32_t bytes) {
  return DataPointer{address, sgl_upper(SglType::data_block, bytes), true};
}

/// Data pointer to a list of `descriptors` descriptors at bus address `list`, 8-byte aligned.
XIO_DEVICE constexpr DataPointer sgl_last_segment(uint64_t list, uint32_t descriptors) {
  return DataPointer{list, sgl_upper(SglType::last_segment, descriptors * 16), true};
}

/// Data pointer for `bytes` bytes of contiguous memory at `address`, which a peer accesses by the remote key `key`
/// (NVMe over RDMA: NVM Express RDMA Transport Specification 1.0, keyed SGL data block descriptor).
/// @param bytes below 2^24
XIO_DEVICE constexpr DataPointer sgl_keyed_data_block(uint64_t address, uint32_t bytes, uint32_t key) {
  return DataPointer{address, sgl_upper(SglType::keyed_data_block, bytes) | uint64_t{key} << 24, true};
}

/// Builds the SGL for `bytes` bytes of `pages`, from byte `offset` on. Pieces that are adjacent on the bus become one
/// descriptor.
///
/// @param bytes       1 to 2^31
/// @param page_shift  log2 of the page size by which a source without `run` is traversed
/// @param list        list memory of this command, two words per descriptor; not used if the data is contiguous
/// @param alignment   required alignment of addresses and lengths (SGLS): 1 or 4 bytes
/// @param[out] data   set if the result is ok
/// @return ok; misaligned: a piece or the list; out_of_range: the list does not fit, or the source ends before.
///         List memory may be written in every case.
template <class Pages, class List>
XIO_DEVICE constexpr Status build_sgl(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                                      const List& list, DataPointer& data, uint32_t alignment = 1) {
  const uint64_t page = uint64_t{1} << page_shift;
  uint64_t start = pages.bus(offset);  // The current piece.
  uint64_t length = 0;
  uint32_t left = bytes;
  uint32_t descriptors = 0;
  uint64_t wrong = 0;
  while (true) {
    const uint64_t address = pages.bus(offset);
    uint64_t here = page - (address & (page - 1));
    if constexpr (detail::has_run<Pages>) here = pages.run(offset, left);
    if (here == 0) return Status::out_of_range;
    if (here > left) here = left;
    if (address != start + length) {
      if (list.bytes / 16 < descriptors + 2) return Status::out_of_range;
      wrong |= start | length;
      list.put(2 * descriptors, start);
      list.put(2 * descriptors + 1, sgl_upper(SglType::data_block, static_cast<uint32_t>(length)));
      ++descriptors;
      start = address;
      length = 0;
    }
    length += here;
    offset += here;
    left -= static_cast<uint32_t>(here);
    if (left == 0) break;
  }
  wrong |= start | length;
  if ((wrong & (alignment - 1)) != 0) return Status::misaligned;
  const uint32_t last = static_cast<uint32_t>(length);
  if (descriptors == 0) {
    data = sgl_data_block(start, last);
    return Status::ok;
  }
  if ((list.bus & 7) != 0) return Status::misaligned;
  list.put(2 * descriptors, start);
  list.put(2 * descriptors + 1, sgl_upper(SglType::data_block, last));
  data = sgl_last_segment(list.bus, descriptors + 1);
  return Status::ok;
}

/// SGL for contiguous memory, which needs no list.
template <class List>
XIO_DEVICE constexpr Status build_sgl(const ContiguousPages& pages, uint64_t offset, uint32_t bytes, uint32_t,
                                      const List&, DataPointer& data, uint32_t alignment = 1) {
  data = sgl_data_block(pages.bus(offset), bytes);
  return ((pages.bus(offset) | bytes) & (alignment - 1)) != 0 ? Status::misaligned : Status::ok;
}

/// Builds the keyed descriptor for `bytes` bytes of `pages`, from byte `offset` on; parameters as of build_sgl().
/// @return ok; out_of_range: 2^24 bytes or more; unsupported: the data is not contiguous, for which one descriptor is
///         not enough.
template <class Pages>
XIO_DEVICE constexpr Status build_keyed_sgl(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift,
                                            uint32_t key, DataPointer& data) {
  const uint64_t first = pages.bus(offset);
  if (bytes >= 1u << 24) return Status::out_of_range;
  data = sgl_keyed_data_block(first, bytes, key);
  if constexpr (detail::has_run<Pages>) {
    return pages.run(offset, bytes) < bytes ? Status::unsupported : Status::ok;
  } else if constexpr (!detail::is_contiguous<Pages>) {
    const uint32_t page = 1u << page_shift;
    uint64_t at = page - (first & (page - 1));
    for (; at < bytes; at += page) {
      if (pages.bus(offset + at) != first + at) return Status::unsupported;
    }
  }
  return Status::ok;
}

/// Bytes of list memory for an SGL of `pieces` pieces; 0 if it fits into the entry.
XIO_DEVICE constexpr uint64_t needed_sgl_bytes(uint64_t pieces) { return pieces <= 1 ? 0 : 16 * pieces; }

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
