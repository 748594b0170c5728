// SPDX-License-Identifier: MIT

/// @file
/// @brief The verification pattern: misplaced and stale blocks are caught; the shift register has its full period.

#include <xio/device/core/pattern.hpp>

#include <array>
#include <set>
#include <vector>

#include "catch.hpp"

namespace pattern = xio::pattern;

namespace {

using Medium = std::vector<std::array<uint64_t, 64>>;  // blocks of 512 bytes

constexpr uint64_t seed = 4711;

Medium written(uint64_t blocks, uint64_t with_seed = seed) {
  Medium medium(blocks);
  for (uint64_t i = 0; i < blocks; ++i) pattern::fill(medium[i].data(), 512, {with_seed, i});
  return medium;
}

std::set<uint64_t> wrong_blocks(const Medium& medium, uint64_t with_seed = seed) {
  std::set<uint64_t> wrong;
  for (uint64_t i = 0; i < medium.size(); ++i) {
    if (pattern::verify(medium[i].data(), 512, {with_seed, i}).any()) wrong.insert(i);
  }
  return wrong;
}

constexpr bool round_trip_at_compile_time() {
  uint64_t block[8] = {};
  pattern::fill(block, sizeof block, {1, 2});
  const bool right = !pattern::verify(block, sizeof block, {1, 2}).any();
  block[5] ^= 1;
  const pattern::Mismatch mismatch = pattern::verify(block, sizeof block, {1, 2});
  return right && mismatch.words == 1 && mismatch.index == 5 && mismatch.found == block[5] &&
         mismatch.expected == pattern::word(1, 2, 5);
}
static_assert(round_trip_at_compile_time());
static_assert(pattern::unmix(pattern::mix(0x0123456789abcdef)) == 0x0123456789abcdef);
static_assert(pattern::address_of(7, pattern::word(7, 123456789012345, 63), 63) == 123456789012345);

/// A linear map of 32-bit words: the images of the single bits.
using Matrix = std::array<uint32_t, 32>;

uint32_t image_of(const Matrix& matrix, uint32_t value) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    if (value >> i & 1) result ^= matrix[i];
  }
  return result;
}

Matrix power(Matrix base, uint64_t exponent) {
  Matrix result{};
  for (uint32_t i = 0; i < 32; ++i) result[i] = uint32_t{1} << i;
  for (; exponent != 0; exponent >>= 1) {
    Matrix next{};
    if (exponent & 1) {
      for (uint32_t i = 0; i < 32; ++i) next[i] = image_of(base, result[i]);
      result = next;
    }
    for (uint32_t i = 0; i < 32; ++i) next[i] = image_of(base, base[i]);
    base = next;
  }
  return result;
}

}  // namespace

TEST_CASE("mix is the finaliser of SplitMix64") {
  // First outputs of SplitMix64 seeded with 1234567, as published with the generator.
  uint64_t state = 1234567;
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    state += 0x9e3779b97f4a7c15u;
    REQUIRE(pattern::mix(state) == expected);
  }
}

TEST_CASE("Two blocks that changed places are both reported, with the block that each holds", "[H29]") {
  Medium medium = written(1000);
  REQUIRE(wrong_blocks(medium).empty());
  std::swap(medium[17], medium[801]);
  REQUIRE(wrong_blocks(medium) == std::set<uint64_t>{17, 801});
  const pattern::Mismatch mismatch = pattern::verify(medium[17].data(), 512, {seed, 17});
  // Not a single word of the other block is right here.
  REQUIRE(mismatch.words == 64);
  REQUIRE(mismatch.index == 0);
  REQUIRE(mismatch.expected == pattern::word(seed, 17, 0));
  REQUIRE(pattern::address_of(seed, mismatch.found, mismatch.index) == 801);
}

TEST_CASE("A block of an earlier run or version is caught") {
  Medium medium = written(100, pattern::versioned_seed(seed, 2));
  REQUIRE(wrong_blocks(medium, pattern::versioned_seed(seed, 2)).empty());
  medium[40] = written(100, pattern::versioned_seed(seed, 1))[40];
  medium[41] = written(100, seed + 1)[41];
  medium[42].fill(0);
  REQUIRE(wrong_blocks(medium, pattern::versioned_seed(seed, 2)) == std::set<uint64_t>{40, 41, 42});
  REQUIRE(pattern::verify(medium[40].data(), 512, {pattern::versioned_seed(seed, 2), 40}).words == 64);
}

TEST_CASE("A part of a block that is wrong is reported from its first word on") {
  Medium medium = written(2);
  medium[1][20] ^= uint64_t{1} << 63;
  medium[1][63] = 0;
  const pattern::Mismatch mismatch = pattern::verify(medium[1].data(), 512, {seed, 1});
  REQUIRE(mismatch.words == 2);
  REQUIRE(mismatch.index == 20);
  REQUIRE(mismatch.found == medium[1][20]);
  REQUIRE(mismatch.expected == (medium[1][20] ^ uint64_t{1} << 63));
  // Words in each other's place within a block.
  std::swap(medium[0][3], medium[0][4]);
  REQUIRE(pattern::verify(medium[0].data(), 512, {seed, 0}).words == 2);
}

TEST_CASE("Lanes share a block: each word is written once and compared once") {
  const uint64_t lanes = GENERATE(1u, 3u, 32u, 64u, 100u);
  std::array<uint64_t, 64> block{};
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    std::array<uint64_t, 64> own{};
    pattern::fill(own.data(), 512, {seed, 5}, lane, lanes);
    for (uint64_t i = 0; i < 64; ++i) {
      REQUIRE((own[i] != 0) == (i % lanes == lane));
      block[i] += own[i];
    }
  }
  REQUIRE_FALSE(pattern::verify(block.data(), 512, {seed, 5}).any());
  block[37] = 0;
  uint64_t wrong = 0;
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    const pattern::Mismatch mismatch = pattern::verify(block.data(), 512, {seed, 5}, lane, lanes);
    wrong += mismatch.words;
    if (mismatch.any()) {
      REQUIRE(lane == 37 % lanes);
      REQUIRE(mismatch.index == 37);
    }
  }
  REQUIRE(wrong == 1);
}

TEST_CASE("Only whole words inside the given bytes are touched") {
  std::array<uint64_t, 4> block{1, 2, 3, 4};
  pattern::fill(block.data(), 23, {seed, 0});
  REQUIRE(block[1] == pattern::word(seed, 0, 1));
  REQUIRE(block[2] == 3);
  REQUIRE_FALSE(pattern::verify(block.data(), 16, {seed, 0}).any());
  REQUIRE(pattern::verify(block.data(), 32, {seed, 0}).words == 2);
  REQUIRE_FALSE(pattern::verify(block.data(), 7, {seed + 1, 0}).any());
}

TEST_CASE("Every address gives its block back, whatever the seed") {
  for (const uint64_t with_seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffff}, ~uint64_t{0}}) {
      for (const uint64_t index : {uint64_t{0}, uint64_t{511}, ~uint64_t{0}}) {
        REQUIRE(pattern::address_of(with_seed, pattern::word(with_seed, address, index), index) == address);
      }
    }
  }
}

TEST_CASE("The shift register takes every state but 0 before it repeats") {
  Matrix step{};
  for (uint32_t i = 0; i < 32; ++i) step[i] = xio::Lfsr32(uint32_t{1} << i).next();
  constexpr uint64_t period = 0xffffffff;
  REQUIRE(image_of(power(step, period), 1) == 1);
  for (const uint64_t prime : {3u, 5u, 17u, 257u, 65537u}) REQUIRE(image_of(power(step, period / prime), 1) != 1);
}

TEST_CASE("The shift register: first states, seed 0, bounded numbers") {
  xio::Lfsr32 lfsr(1);
  REQUIRE(lfsr.state() == 1);
  REQUIRE(lfsr.next() == 0x80200003u);
  REQUIRE(lfsr.next() == 0xc0300002u);
  REQUIRE(lfsr.next() == 0x60180001u);
  REQUIRE(lfsr.next() == 0xb02c0003u);
  REQUIRE(xio::Lfsr32(0).next() == xio::Lfsr32(1).next());
  xio::Lfsr32 numbers(42);
  std::array<uint32_t, 10> seen{};
  uint32_t alike = 0;
  uint32_t previous = 0;
  for (uint32_t i = 0; i < 10000; ++i) {
    const uint32_t number = numbers.below(10);
    REQUIRE(number < 10);
    ++seen[number];
    alike += number == previous / 2;
    previous = number;
  }
  for (const uint32_t times : seen) {
    REQUIRE(times > 850);
    REQUIRE(times < 1150);
  }
  // Not a bare register, whose numbers halve from one to the next.
  REQUIRE(alike < 2000);
  REQUIRE(numbers.below(1) == 0);
}
