// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ring arithmetic: 64-bit counters in software, short wrapping ones on the wire.
///
/// A counter counts entries since the queue was created and never wraps in practice. The size of a ring is a power of
/// two; `mask` is the size minus one.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace ring {
/// @addtogroup kernel_core
/// @{

/// Ring entry of counter value `index`.
XIO_DEVICE constexpr uint32_t slot(uint64_t index, uint32_t mask) { return static_cast<uint32_t>(index) & mask; }

/// Valid bit that a device writes on the lap of `index`: true on the first lap, then alternating. This is NVMe's phase
/// tag; the owner and colour bits of other vendors equal it or its complement.
XIO_DEVICE constexpr bool phase(uint64_t index, uint32_t mask) {
  return (static_cast<uint32_t>(index) & (mask + 1)) == 0;
}

/// The counter value at or after `known` whose low bits, selected by `mask`, are `wire`.
///
/// Correct if the true value is less than `mask + 1` ahead of `known`, which the caller read earlier.
XIO_DEVICE constexpr uint64_t widen(uint64_t known, uint32_t wire, uint32_t mask) {
  return known + ((wire - static_cast<uint32_t>(known)) & mask);
}

/// `To` with the constness of `From`.
template <class From, class To>
struct Matching {
  using type = To;
};
/// `To` with the constness of `From`, which is const.
template <class From, class To>
struct Matching<const From, To> {
  using type = const To;
};

/// The element of a ring of any type for counter value `index`. A base shared by all lanes plus a 32-bit offset is a
/// single addressing mode of the hardware.
template <class Element>
XIO_DEVICE_INLINE Element& element(Element* ring, uint32_t mask, uint64_t index) {
  using Byte = typename Matching<Element, char>::type;
  const uint32_t distance = slot(index, mask) * static_cast<uint32_t>(sizeof(Element));
  return *reinterpret_cast<Element*>(reinterpret_cast<Byte*>(ring) + distance);
}

/// @}
}  // namespace ring

XIO_NAMESPACE_END
