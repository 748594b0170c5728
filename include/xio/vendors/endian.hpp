// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Words stored in network byte order on every target. Little-endian fields are plain integers: all targets are
/// little-endian.

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup vendors
/// @{

/// The bytes of a word in reverse order.
XIO_DEVICE_INLINE constexpr uint16_t byte_swap(uint16_t value) {
  return static_cast<uint16_t>(value << 8 | value >> 8);
}
/// Overload for 32 bits. Compilers turn the shifts into one instruction, but g++ first estimates them as expensive and
/// inlines less; hence the builtin.
XIO_DEVICE_INLINE constexpr uint32_t byte_swap(uint32_t value) {
#if XIO_HAS_BYTE_SWAP
  return __builtin_bswap32(value);
#else
  if (!__builtin_is_constant_evaluated()) return arch::reverse_bytes(value);
  return value << 24 | (value & 0xff00u) << 8 | (value >> 8 & 0xff00u) | value >> 24;
#endif
}
/// Overload for 64 bits.
XIO_DEVICE_INLINE constexpr uint64_t byte_swap(uint64_t value) {
#if XIO_HAS_BYTE_SWAP
  return __builtin_bswap64(value);
#else
  return uint64_t{byte_swap(static_cast<uint32_t>(value))} << 32 | byte_swap(static_cast<uint32_t>(value >> 32));
#endif
}

/// An unsigned word in network byte order (most significant byte first). Trivial, and as large and as aligned as
/// `Word`.
template <class Word>
struct BigEndian {
  Word raw;  ///< the word in memory byte order, ready to store to a queue or a doorbell

  BigEndian() = default;
  /// Converts from native byte order.
  XIO_HOST_DEVICE explicit constexpr BigEndian(Word value) : raw(byte_swap(value)) {}

  /// The value in native byte order.
  XIO_HOST_DEVICE constexpr Word value() const { return byte_swap(raw); }

  /// Equality of values.
  XIO_HOST_DEVICE friend constexpr bool operator==(BigEndian a, BigEndian b) { return a.raw == b.raw; }
  /// Inequality of values.
  XIO_HOST_DEVICE friend constexpr bool operator!=(BigEndian a, BigEndian b) { return a.raw != b.raw; }
};

using Be16 = BigEndian<uint16_t>;  ///< 16 bits in network byte order
using Be32 = BigEndian<uint32_t>;  ///< 32 bits in network byte order
using Be64 = BigEndian<uint64_t>;  ///< 64 bits in network byte order
using Le16 = uint16_t;             ///< 16 bits, little-endian
using Le32 = uint32_t;             ///< 32 bits, little-endian
using Le64 = uint64_t;             ///< 64 bits, little-endian

static_assert(sizeof(Be16) == 2 && alignof(Be16) == alignof(uint16_t),
              "must have the size and alignment of the integer");
static_assert(sizeof(Be32) == 4 && alignof(Be32) == alignof(uint32_t),
              "must have the size and alignment of the integer");
static_assert(sizeof(Be64) == 8 && alignof(Be64) == alignof(uint64_t),
              "must have the size and alignment of the integer");
static_assert(Be32(0x01020304u).raw == 0x04030201u && Be32(0x01020304u).value() == 0x01020304u,
              "the bytes must be swapped");

/// @}
XIO_NAMESPACE_END
