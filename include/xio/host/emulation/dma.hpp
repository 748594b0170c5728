// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How an emulated device moves data: programs may look at the same memory meanwhile.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
namespace detail {
/// @addtogroup emulation_nvme
/// @{

/// Calls `word` for each aligned word of 8 bytes and `byte` for the bytes before and behind these.
template <class Word, class Byte>
void for_each_word(const unsigned char* memory, size_t bytes, Word word, Byte byte) {
  size_t at = 0;
  for (; at < bytes && reinterpret_cast<uintptr_t>(memory + at) % 8 != 0; ++at) byte(at);
  for (; at + 8 <= bytes; at += 8) word(at);
  for (; at < bytes; ++at) byte(at);
}

/// A device's write to `to`. Each aligned word arrives whole, in no order; whoever looks earlier sees old or new words.
inline void dma_write(unsigned char* to, const unsigned char* from, size_t bytes) {
  for_each_word(
      to, bytes,
      [&](size_t at) {
        uint64_t word;
        std::memcpy(&word, from + at, sizeof word);
        __atomic_store_n(reinterpret_cast<uint64_t*>(to + at), word, __ATOMIC_RELAXED);
      },
      [&](size_t at) { __atomic_store_n(to + at, from[at], __ATOMIC_RELAXED); });
}

/// A device's read from `from`, while others may store there.
inline void dma_read(unsigned char* to, const unsigned char* from, size_t bytes) {
  for_each_word(
      from, bytes,
      [&](size_t at) {
        const uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(from + at), __ATOMIC_RELAXED);
        std::memcpy(to + at, &word, sizeof word);
      },
      [&](size_t at) { to[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED); });
}

/// @}
}  // namespace detail
}  // namespace emulation

XIO_NAMESPACE_END
