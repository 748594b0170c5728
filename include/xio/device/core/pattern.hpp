// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What verified runs write into blocks: a function of seed, block address and word, computed where it is
/// needed.
///
/// Blocks are sequences of 8-byte words in the memory's byte order. With two of (seed, address, word index) equal, the
/// words differ wherever the third differs: a block in the wrong place, a block of an earlier run and a word in the
/// wrong place of its block are wrong in every word, with certainty. Otherwise words agree by chance, once in 2^64.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace pattern {

namespace detail {

constexpr uint64_t step = 0x9e3779b97f4a7c15u;  ///< 2^64 divided by the golden ratio; odd
constexpr uint64_t factor_1 = 0xbf58476d1ce4e5b9u;
constexpr uint64_t factor_2 = 0x94d049bb133111ebu;

/// The number that undoes a multiplication by the odd number `factor`.
XIO_DEVICE constexpr uint64_t inverse(uint64_t factor) {
  uint64_t result = factor;  // right in the lowest 3 bits; each round doubles them
  for (int round = 0; round < 5; ++round) result *= 2 - factor * result;
  return result;
}

/// Undoes `x ^ (x >> shift)` for shifts of at least 22 bits.
XIO_DEVICE constexpr uint64_t unshift(uint64_t value, uint32_t shift) {
  return value ^ (value >> shift) ^ (value >> (2 * shift));
}

}  // namespace detail

/// Scatters the bits of a number; no two numbers give the same result (the finaliser of SplitMix64).
XIO_DEVICE constexpr uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * detail::factor_1;
  value = (value ^ (value >> 27)) * detail::factor_2;
  return value ^ (value >> 31);
}

/// The number that mix() makes `mixed` of.
XIO_DEVICE constexpr uint64_t unmix(uint64_t mixed) {
  mixed = detail::unshift(mixed, 31) * detail::inverse(detail::factor_2);
  mixed = detail::unshift(mixed, 27) * detail::inverse(detail::factor_1);
  return detail::unshift(mixed, 30);
}

/// A seed for the `version`-th content of the blocks of a run: blocks that an older version left behind are caught.
/// Versions of one seed give different seeds.
XIO_DEVICE constexpr uint64_t versioned_seed(uint64_t seed, uint64_t version) {
  return mix(mix(seed) + version * detail::step);
}

/// Content of one block: what its words have in common is computed once.
class Block {
 public:
  /// @param address  logical block number, or offset in remote memory; only its being different from others matters
  XIO_HOST_DEVICE constexpr Block(uint64_t seed, uint64_t address)
      : base_(mix(mix(seed + detail::step) ^ (address * detail::step))) {}

  /// Word `index` of the block.
  XIO_HOST_DEVICE constexpr uint64_t word(uint64_t index) const { return mix(base_ + index * detail::step); }

 private:
  uint64_t base_;
};

/// Word `index` of the block at `address`.
XIO_DEVICE constexpr uint64_t word(uint64_t seed, uint64_t address, uint64_t index) {
  return Block(seed, address).word(index);
}

/// The address whose block has `found` as its word `index`: tells which block lies in a wrong place. Any word has such
/// an address, so a result outside of the addresses in use means that the word is from no block of this seed.
XIO_DEVICE constexpr uint64_t address_of(uint64_t seed, uint64_t found, uint64_t index) {
  const uint64_t base = unmix(found) - index * detail::step;
  return (unmix(base) ^ mix(seed + detail::step)) * detail::inverse(detail::step);
}

/// What a comparison found. Trivially copyable.
struct Mismatch {
  uint64_t words = 0;     ///< words that differ; 0: none, and the rest says nothing
  uint64_t index = 0;     ///< of the first one that differs
  uint64_t expected = 0;  ///< what it should be
  uint64_t found = 0;     ///< what it is

  XIO_HOST_DEVICE constexpr bool any() const { return words != 0; }
};

/// Writes the content of `block` to `bytes` bytes at `to`: of the words the first, first + stride, first + 2 stride, …
///
/// Lanes share a block by passing their rank as `first` and their number as `stride`: neighbours then store
/// neighbouring words. Plain stores: the caller releases them before a device reads them.
/// @param bytes  a multiple of 8; a rest is left as it is
XIO_DEVICE constexpr void fill(uint64_t* to, uint64_t bytes, Block block, uint64_t first = 0, uint64_t stride = 1) {
  for (uint64_t index = first; index < bytes / 8; index += stride) to[index] = block.word(index);
}

/// Compares `bytes` bytes at `from` with the content of `block`, the same words that fill() with these arguments
/// writes.
///
/// Plain loads: the caller has acquired what a device wrote.
XIO_DEVICE constexpr Mismatch verify(const uint64_t* from, uint64_t bytes, Block block, uint64_t first = 0,
                                     uint64_t stride = 1) {
  Mismatch result;
  for (uint64_t index = first; index < bytes / 8; index += stride) {
    const uint64_t expected = block.word(index);
    const uint64_t found = from[index];
    if (XIO_UNLIKELY(found != expected)) {
      if (result.words == 0) {
        result.index = index;
        result.expected = expected;
        result.found = found;
      }
      ++result.words;
    }
  }
  return result;
}

}  // namespace pattern

/// A 32-bit linear feedback shift register in Galois form, shifted right; taps 32, 22, 2, 1 (mask 0x80200003).
///
/// It goes through all 2^32 - 1 numbers that are not 0, each once. Numbers that follow each other are much alike (half
/// of the former, or so): use below() for random positions.
class Lfsr32 {
 public:
  static constexpr uint32_t taps = 0x80200003u;

  /// @param seed  first state; 0, from which the register would never move, stands for 1
  XIO_HOST_DEVICE constexpr explicit Lfsr32(uint32_t seed) : state_(seed == 0 ? 1 : seed) {}

  XIO_HOST_DEVICE constexpr uint32_t state() const { return state_; }

  /// Steps once; returns the new state.
  XIO_HOST_DEVICE constexpr uint32_t next() {
    state_ = (state_ >> 1) ^ ((state_ & 1) != 0 ? taps : 0);
    return state_;
  }

  /// Steps once; returns a number below `limit`, scattered evenly over the range. `limit` is not 0.
  XIO_HOST_DEVICE constexpr uint32_t below(uint32_t limit) {
    const uint64_t scattered = pattern::mix(next()) >> 32;
    return static_cast<uint32_t>((scattered * limit) >> 32);
  }

 private:
  uint32_t state_;
};

XIO_NAMESPACE_END
