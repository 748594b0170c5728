// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Builder for the 4096-byte data structures of admin commands.

#include <array>
#include <cstddef>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// A 4096-byte data structure, initially zero. Values are stored little-endian.
class PageWriter {
 public:
  void put(size_t offset, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) data_[offset + i] = static_cast<unsigned char>(value >> (8 * i));
  }
  /// Stores text without a terminator, padded with spaces to `bytes`.
  void put_text(size_t offset, const std::string& text, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) data_[offset + i] = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
  }
  /// Stores text; the remaining bytes stay zero.
  void put_string(size_t offset, const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) data_[offset + i] = static_cast<unsigned char>(text[i]);
  }
  const unsigned char* data() const { return data_.data(); }
  static constexpr size_t size() { return 4096; }

 private:
  std::array<unsigned char, 4096> data_{};
};

}  // namespace emulation

XIO_NAMESPACE_END
