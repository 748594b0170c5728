// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Data pattern of verified runs: a function of seed, block address and word index, computed on demand.
///
/// Blocks are sequences of 8-byte words in the memory's byte order. Words that agree in two of (seed, address, word
/// index) differ if the third differs: a block at the wrong address, a block of an earlier run and a word at the wrong
/// place in its block are always detected, in every word. Otherwise words agree by chance, with probability 2^-64.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace pattern {

namespace detail {

constexpr uint64_t step = 0x9e3779b97f4a7c15u;  ///< 2^64 divided by the golden ratio; odd
constexpr uint64_t factor_1 = 0xbf58476d1ce4e5b9u;
constexpr uint64_t factor_2 = 0x94d049bb133111ebu;

/// Multiplicative inverse of the odd number `factor`, modulo 2^64.
XIO_DEVICE constexpr uint64_t inverse(uint64_t factor) {
  uint64_t result = factor;  // correct in the lowest 3 bits; each round doubles them
  for (int round = 0; round < 5; ++round) result *= 2 - factor * result;
  return result;
}

/// Inverts `x ^ (x >> shift)` for shifts of at least 22 bits.
XIO_DEVICE constexpr uint64_t unshift(uint64_t value, uint32_t shift) {
  return value ^ (value >> shift) ^ (value >> (2 * shift));
}

}  // namespace detail

/// Mixes the bits of a number, one-to-one (the finaliser of SplitMix64).
XIO_DEVICE constexpr uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * detail::factor_1;
  value = (value ^ (value >> 27)) * detail::factor_2;
  return value ^ (value >> 31);
}

/// Inverse of mix().
XIO_DEVICE constexpr uint64_t unmix(uint64_t mixed) {
  mixed = detail::unshift(mixed, 31) * detail::inverse(detail::factor_2);
  mixed = detail::unshift(mixed, 27) * detail::inverse(detail::factor_1);
  return detail::unshift(mixed, 30);
}

/// Seed for the `version`-th content of the blocks of a run, so that blocks left by an older version are detected.
/// Different versions of one seed give different seeds.
XIO_DEVICE constexpr uint64_t versioned_seed(uint64_t seed, uint64_t version) {
  return mix(mix(seed) + version * detail::step);
}

/// Content of one block; the part common to its words is computed once.
class Block {
 public:
  /// @param address  logical block number, or offset in remote memory; it only has to be unique
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

/// The address whose block has `found` as its word `index`: identifies a misplaced block. Every word maps to some
/// address; a result outside the addresses in use means that the word belongs to no block of this seed.
XIO_DEVICE constexpr uint64_t address_of(uint64_t seed, uint64_t found, uint64_t index) {
  const uint64_t base = unmix(found) - index * detail::step;
  return (unmix(base) ^ mix(seed + detail::step)) * detail::inverse(detail::step);
}

/// Result of a comparison. Trivially copyable.
struct Mismatch {
  uint64_t words = 0;     ///< number of words that differ; 0: the other members are meaningless
  uint64_t index = 0;     ///< index of the first word that differs
  uint64_t expected = 0;  ///< its expected value
  uint64_t found = 0;     ///< its actual value

  XIO_HOST_DEVICE constexpr bool any() const { return words != 0; }
};

/// Writes words first, first + stride, first + 2 stride, … of `block` to `bytes` bytes at `to`.
///
/// Lanes share a block by passing their rank as `first` and their number as `stride`: neighbouring lanes then store
/// neighbouring words. The stores are plain: the caller releases them before a device reads them.
/// @param bytes  a multiple of 8; a remainder is left unchanged
XIO_DEVICE constexpr void fill(uint64_t* to, uint64_t bytes, Block block, uint64_t first = 0, uint64_t stride = 1) {
  for (uint64_t index = first; index < bytes / 8; index += stride) to[index] = block.word(index);
}

/// Compares `bytes` bytes at `from` with `block`, for the words that fill() writes with these arguments.
///
/// The loads are plain: the caller has acquired what a device wrote.
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
/// It visits each of the 2^32 - 1 non-zero numbers once. Successive numbers are correlated (often half of the previous
/// one): use below() for random positions.
class Lfsr32 {
 public:
  static constexpr uint32_t taps = 0x80200003u;

  /// @param seed  initial state; 0, a fixed point of the register, is replaced by 1
  XIO_HOST_DEVICE constexpr explicit Lfsr32(uint32_t seed) : state_(seed == 0 ? 1 : seed) {}

  XIO_HOST_DEVICE constexpr uint32_t state() const { return state_; }

  /// Steps once; returns the new state.
  XIO_HOST_DEVICE constexpr uint32_t next() {
    state_ = (state_ >> 1) ^ ((state_ & 1) != 0 ? taps : 0);
    return state_;
  }

  /// Steps once; returns a number below `limit`, distributed evenly over the range. `limit` is not 0.
  XIO_HOST_DEVICE constexpr uint32_t below(uint32_t limit) {
    const uint64_t scattered = pattern::mix(next()) >> 32;
    return static_cast<uint32_t>((scattered * limit) >> 32);
  }

 private:
  uint32_t state_;
};

XIO_NAMESPACE_END
