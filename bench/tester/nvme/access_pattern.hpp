// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Mapping of a run's operations to blocks: sequential, or in a reproducible random order.

#include <xio/device/core/pattern.hpp>

namespace tester {

/// A random permutation of the numbers 0 to `count - 1`, without a table.
///
/// A Feistel network over the smallest even number of bits that holds them; results out of range are passed through
/// again.
struct Shuffle {
  static constexpr uint32_t rounds = 4;

  uint64_t count = 1;
  uint64_t keys[rounds] = {};
  uint64_t mask = 1;  ///< mask of half the bits
  uint32_t half_bits = 1;

  XIO_HOST_DEVICE static constexpr Shuffle of(uint64_t count, uint64_t seed) {
    Shuffle shuffle;
    shuffle.count = count;
    for (uint32_t round = 0; round < rounds; ++round) {
      seed += 0x9e3779b97f4a7c15u;
      shuffle.keys[round] = xio::pattern::mix(seed);
    }
    while (shuffle.half_bits < 32 && (uint64_t{1} << (2 * shuffle.half_bits)) < count) ++shuffle.half_bits;
    shuffle.mask = (uint64_t{1} << shuffle.half_bits) - 1;
    return shuffle;
  }

  /// Number at position `index`, which is less than `count`.
  XIO_HOST_DEVICE constexpr uint64_t operator()(uint64_t index) const {
    // Odd and large: the upper half of a product with it depends on all bits of the other factor's lower half.
    constexpr uint64_t factor = 0xd6e8feb86659fd93u;
    do {
      uint64_t left = index >> half_bits;
      uint64_t right = index & mask;
      for (uint32_t round = 0; round < rounds; ++round) {
        const uint64_t next = left ^ (((right ^ keys[round]) * factor >> 32) & mask);
        left = right;
        right = next;
      }
      index = left << half_bits | right;
    } while (index >= count);
    return index;
  }
};

/// Maps operation numbers to logical blocks. The namespace is divided into places of `blocks` blocks from `base_lba`
/// on; operation numbers wrap modulo the number of places.
struct AccessPattern {
  uint64_t base_lba = 0;
  uint64_t places = 1;   ///< whole operations that fit between `base_lba` and the end
  uint64_t covered = 1;  ///< operations use only this many first places of the order; at most `places`
  uint32_t blocks = 1;   ///< blocks of one operation
  bool random = false;
  bool second_order = false;  ///< random: the covered places in a second order (reads of written blocks)
  Shuffle order;              ///< order of all places
  Shuffle again;              ///< order of the covered places

  XIO_HOST_DEVICE static constexpr AccessPattern of(uint64_t base_lba, uint64_t places, uint32_t blocks, bool random,
                                                    uint64_t seed) {
    AccessPattern pattern;
    pattern.base_lba = base_lba;
    pattern.places = places;
    pattern.covered = places;
    pattern.blocks = blocks;
    pattern.random = random;
    pattern.order = Shuffle::of(places, seed);
    return pattern;
  }

  /// Pattern over the places of the first `operations` operations of this pattern, in another order if it is random.
  XIO_HOST_DEVICE constexpr AccessPattern revisiting(uint64_t operations, uint64_t seed) const {
    AccessPattern pattern = *this;
    pattern.covered = operations < places ? operations : places;
    pattern.second_order = random;
    pattern.again = Shuffle::of(pattern.covered, seed + 1);
    return pattern;
  }

  /// First logical block of operation `index`.
  XIO_HOST_DEVICE constexpr uint64_t lba(uint64_t index) const {
    // A division is expensive, and usually not needed.
    uint64_t item = index < covered ? index : index % covered;
    if (second_order) item = again(item);
    return base_lba + (random ? order(item) : item) * blocks;
  }
};

}  // namespace tester
