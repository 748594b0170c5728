// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Contents of blocks written by the tester: a function of the block's address and a seed, so that misplaced
/// blocks and blocks of an earlier run are detected.

#include <xio/device/core/pattern.hpp>

namespace tester {

class BlockContent {
 public:
  /// Hashed words (xio::pattern).
  XIO_HOST_DEVICE static constexpr BlockContent hashed(uint64_t seed) { return {seed, false}; }
  /// A 32-bit linear feedback shift register that starts from the seed and the block's address.
  XIO_HOST_DEVICE static constexpr BlockContent lfsr(uint32_t seed) { return {seed, true}; }

  constexpr BlockContent() = default;

  /// @param bytes  a multiple of 8
  XIO_DEVICE void fill(uint8_t* to, uint64_t lba, uint32_t bytes) const {
    auto* const words = reinterpret_cast<uint64_t*>(to);
    if (!lfsr_) return xio::pattern::fill(words, bytes, xio::pattern::Block(seed_, lba));
    xio::Lfsr32 state = start(lba);
    for (uint32_t i = 0; i < bytes / 8; ++i) words[i] = next(state);
  }

  /// Offset of the first 8 bytes that differ; `bytes` if none do.
  XIO_DEVICE uint32_t first_difference(const uint8_t* data, uint64_t lba, uint32_t bytes) const {
    const auto* const words = reinterpret_cast<const uint64_t*>(data);
    if (!lfsr_) {
      const xio::pattern::Mismatch found = xio::pattern::verify(words, bytes, xio::pattern::Block(seed_, lba));
      return found.any() ? static_cast<uint32_t>(found.index) * 8 : bytes;
    }
    xio::Lfsr32 state = start(lba);
    for (uint32_t i = 0; i < bytes / 8; ++i)
      if (words[i] != next(state)) return i * 8;
    return bytes;
  }

  /// Word `index` of a block.
  XIO_DEVICE uint64_t word(uint64_t lba, uint64_t index) const {
    if (!lfsr_) return xio::pattern::word(seed_, lba, index);
    xio::Lfsr32 state = start(lba);
    for (uint64_t i = 0; i < index; ++i) next(state);
    return next(state);
  }

  XIO_DEVICE void first_words(uint64_t lba, uint64_t (&to)[2]) const {
    fill(reinterpret_cast<uint8_t*>(to), lba, sizeof to);
  }

  XIO_HOST_DEVICE constexpr bool is_lfsr() const { return lfsr_; }
  XIO_HOST_DEVICE constexpr uint64_t seed() const { return seed_; }

 private:
  XIO_HOST_DEVICE constexpr BlockContent(uint64_t seed, bool lfsr) : seed_(seed), lfsr_(lfsr) {}

  XIO_DEVICE xio::Lfsr32 start(uint64_t lba) const {
    return xio::Lfsr32(static_cast<uint32_t>(seed_) ^ static_cast<uint32_t>(xio::pattern::mix(lba)));
  }
  XIO_DEVICE static uint64_t next(xio::Lfsr32& state) {
    const uint64_t low = state.next();
    return low | uint64_t{state.next()} << 32;
  }

  uint64_t seed_ = 0;
  bool lfsr_ = false;
};

}  // namespace tester
