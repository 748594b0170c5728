// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Recorded bytes as the compiler reads them: hexadecimal, in memory order.

#include <cstdint>

#include <xio/vendors/endian.hpp>

/// Bytes of an entry as they lay in memory.
class RecordedBytes {
 public:
  explicit constexpr RecordedBytes(const char* hex) : hex_(hex) {}

  /// Little-endian word at byte `offset`.
  template <class Word>
  constexpr Word little(uint64_t offset) const {
    uint64_t value = 0;
    for (uint64_t i = sizeof(Word); i-- > 0;) value = value << 8 | byte(offset + i);
    return static_cast<Word>(value);
  }
  /// Big-endian word at byte `offset`.
  template <class Word>
  constexpr Word big(uint64_t offset) const {
    uint64_t value = 0;
    for (uint64_t i = 0; i < sizeof(Word); ++i) value = value << 8 | byte(offset + i);
    return static_cast<Word>(value);
  }

  /// Whether the bytes at `offset` are those of a field.
  template <class Word>
  constexpr bool holds(uint64_t offset, Word field) const {
    return little<Word>(offset) == field;
  }
  template <class Word>
  constexpr bool holds(uint64_t offset, xio::BigEndian<Word> field) const {
    return big<Word>(offset) == field.value() && little<Word>(offset) == field.raw;
  }

 private:
  constexpr uint64_t byte(uint64_t index) const { return digit(hex_[2 * index]) << 4 | digit(hex_[2 * index + 1]); }
  static constexpr uint64_t digit(char c) { return static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

  const char* hex_;
};
