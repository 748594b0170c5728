// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An element of a cached page as the words in which it is loaded and stored.

#include <xio/device/cache/frames.hpp>

XIO_NAMESPACE_BEGIN

namespace detail {
/// @addtogroup kernel_cache
/// @{

/// The words of an element; one of 1 or 2 bytes is part of a word. Coherent with devices: a page may be theirs again
/// before an access has ended, which is then in vain.
template <class T>
struct Element {
  using Word = typename Choose<sizeof(T) % 8 == 0, uint64_t, uint32_t>::type;
  static constexpr bool is_part = sizeof(T) < sizeof(Word);
  static constexpr uint32_t count = is_part ? 1 : sizeof(T) / sizeof(Word);
  static_assert(__is_trivially_copyable(T), "an element is copied byte by byte");
  static_assert(is_part || sizeof(T) % sizeof(Word) == 0, "an element has 1, 2 or 4 n bytes");
  static_assert((sizeof(T) & (sizeof(T) - 1)) == 0, "an element's size is a power of two, so that none crosses a page");
  static_assert(sizeof(T) <= 512, "an element is not longer than the shortest page");

  Word word[count];

  /// Where the words of the element at `offset` begin.
  XIO_DEVICE_INLINE static constexpr uint32_t begin(uint32_t offset) {
    return is_part ? offset & ~uint32_t{3} : offset;
  }
  XIO_DEVICE_INLINE static Element load(const char* begin) {
    Element got;
    const auto* const from = reinterpret_cast<const Word*>(begin);
    for (uint32_t i = 0; i < count; ++i) got.word[i] = Frames::look<arch::Scope::system>(from + i);
    return got;
  }
  XIO_DEVICE_INLINE T value(uint32_t offset) const {
    T result;
    Word first = word[0];
    if constexpr (is_part) first >>= (offset & 3) * 8;
    if constexpr (count == 1) {
      __builtin_memcpy(&result, &first, sizeof(T));
    } else {
      __builtin_memcpy(&result, word, sizeof(T));
    }
    return result;
  }
  XIO_DEVICE_INLINE static void store(char* page, uint32_t offset, const T& value) {
    static_assert(!is_part, "elements of less than 4 bytes share a word with others: get() only");
    Element words;
    __builtin_memcpy(words.word, &value, sizeof(T));
    auto* const to = reinterpret_cast<Word*>(page + offset);
    for (uint32_t i = 0; i < count; ++i) arch::store<arch::Scope::system>(to + i, words.word[i]);
  }
};

/// @}
}  // namespace detail

XIO_NAMESPACE_END
