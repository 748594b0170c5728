// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Stores the segments of an RDMA encoder in the send ring.

#include <xio/device/core/com.hpp>
#include <xio/device/core/policy.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Ring slot of the unit with counter value `index`.
template <class Vendor>
XIO_DEVICE_INLINE uint32_t ring_slot(uint64_t index, uint32_t entries) {
  if constexpr (Vendor::power_of_two) {
    return ring::slot(index, entries - 1);
  } else {
    return static_cast<uint32_t>(index % entries);
  }
}

/// Sink of an encoder: stores one entry of a ring in memory.
template <class Vendor, class Policy>
struct RingSink {
  /// Whether an additional store to a run-time address costs less than a branch around it.
  static constexpr bool avoids_branches = !arch::branches_are_cheap;

  void* ring;
  uint32_t start;  ///< byte offset of the entry
  char* first;     ///< address of the entry
  uint32_t bytes;  ///< size of the ring in bytes
  bool split;      ///< whether the entry can wrap at the ring's end; an entry of one unit cannot

  XIO_HOST_DEVICE RingSink(void* memory, const SendShape& shape, uint64_t index, uint32_t units)
      : ring(memory),
        start(ring_slot<Vendor>(index, shape.entries) << Vendor::unit_shift(shape)),
        first(arch::as_base(static_cast<char*>(memory) + start)),
        bytes(shape.entries << Vendor::unit_shift(shape)),
        split(units != 1) {}

  /// Stores segment `i` of the entry.
  XIO_DEVICE_INLINE void put(uint32_t i, const Segment& value) const {
    const uint32_t distance = i * static_cast<uint32_t>(sizeof(Segment));
    store(address(distance), distance, value);
  }
  /// Stores segment `i` of the entry, with `i` known only at run time.
  XIO_DEVICE_INLINE void put_chosen(uint32_t i, const Segment& value) const {
    const uint32_t distance = i * static_cast<uint32_t>(sizeof(Segment));
    store(static_cast<char*>(ring) + position(distance), distance, value);
  }

  /// Stores 8-byte word `i` of the entry, for vendors whose entries are not made of 16-byte segments.
  XIO_DEVICE_INLINE void put8(uint32_t i, uint64_t value) const {
    arch::store_entry8(reinterpret_cast<uint64_t*>(address(i * static_cast<uint32_t>(sizeof(value)))), value);
  }

 private:
  XIO_DEVICE_INLINE void store(char* address, uint32_t distance, const Segment& value) const {
    const auto chunk = __builtin_bit_cast(arch::Vec16, value);
    if constexpr (Policy::publication == Publication::write_through && !Policy::narrow_slots) {
      xio::detail::store_chunk(store::Through{}, static_cast<arch::Vec16*>(ring), position(distance), chunk);
    } else {
      auto* const to = reinterpret_cast<arch::Vec16*>(address);
      if constexpr (Policy::narrow_slots) {
        xio::detail::store_chunk(store::Narrow{}, to, 0, chunk);
      } else {
        xio::detail::store_chunk(store::Stream{}, to, 0, chunk);
      }
    }
  }
  /// Avoids position() if nothing wraps: an offset added to a pointer becomes part of the store instruction.
  XIO_DEVICE_INLINE char* address(uint32_t distance) const {
    if (!Vendor::wraps || !split) return first + distance;
    return static_cast<char*>(ring) + position(distance);
  }
  XIO_DEVICE_INLINE uint32_t position(uint32_t distance) const {
    const uint32_t offset = start + distance;
    if (!Vendor::wraps || !split) return offset;
    if constexpr (Vendor::power_of_two) {
      return offset & (bytes - 1);
    } else {
      return offset < bytes ? offset : offset - bytes;
    }
  }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
