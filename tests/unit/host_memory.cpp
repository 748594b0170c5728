// SPDX-License-Identifier: MIT

/// @file
/// @brief DMA memory: ranges are given out once, come back, and are zeroed again.

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/memory.hpp>
#include <xio/host/memory/dma_arena.hpp>
#include <xio/host/memory/range_allocator.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

DmaArena small_arena(size_t bytes, uint64_t reserved = 0) {
  DmaArena::Options options;
  options.bytes = bytes;
  options.reserved = reserved;
  options.advice = "raise dma=";
  return DmaArena(options);
}

}  // namespace

TEST_CASE("ranges never overlap, and everything comes back", "[host][memory]") {
  constexpr uint64_t first = 4096 + 64;
  constexpr uint64_t last = 1 << 20;
  RangeAllocator ranges(first, last);
  std::map<uint64_t, uint64_t> used;
  std::mt19937 random(1);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    if (random() % 5 < 3) {
      const uint64_t length = 1 + random() % (round % 7 == 0 ? 100000u : 3000u);
      const uint64_t alignment = uint64_t{1} << random() % 14;
      const auto start = ranges.allocate(length, alignment);
      if (!start) {
        ++refused;
        continue;
      }
      REQUIRE(*start % alignment == 0);
      REQUIRE(*start >= first);
      REQUIRE(*start + length <= last);
      const auto next = used.lower_bound(*start);
      if (next != used.end()) REQUIRE(*start + length <= next->first);
      if (next != used.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= *start);
      used[*start] = length;
    } else if (!used.empty()) {
      auto victim = used.begin();
      std::advance(victim, static_cast<long>(random() % used.size()));
      REQUIRE(ranges.release(victim->first) == victim->second);
      used.erase(victim);
    }
  }
  CHECK(refused > 0);
  uint64_t total = 0;
  for (const auto& range : used) total += range.second;
  CHECK(ranges.total_free() == last - first - total);
  CHECK(ranges.used_ranges() == used.size());
  for (const auto& range : used) ranges.release(range.first);
  CHECK(ranges.largest_free() == last - first);
}

TEST_CASE("a range that is not allocated cannot be released", "[host][memory]") {
  RangeAllocator ranges(0, 1000);
  const auto start = ranges.allocate(100, 1);
  REQUIRE(start);
  ranges.release(*start);
  CHECK(contains(error_of([&] { ranges.release(*start); }), "no range"));
}

TEST_CASE("buffers are zeroed, aligned, and apart from each other", "[host][memory]") {
  DmaArena arena = small_arena(1 << 20, 4096);
  arena.set_bus_base(uint64_t{1} << 40);
  {
    std::vector<DmaBuffer> buffers;
    for (size_t i = 0; i < 20; ++i) buffers.push_back(arena.allocate(100 + i * 333, i % 2 == 0 ? 64 : 4096));
    for (const DmaBuffer& buffer : buffers) {
      CHECK(buffer.bus() - arena.bus_base() >= 4096);
      CHECK(buffer.bus() - arena.bus_base() ==
            static_cast<uint64_t>(static_cast<unsigned char*>(buffer.data()) - arena.data()));
      for (const unsigned char byte : buffer.span<unsigned char>()) REQUIRE(byte == 0);
      std::memset(buffer.data(), 0xa5, buffer.size());
    }
    for (size_t i = 1; i < buffers.size(); i += 2) {
      CHECK(buffers[i].bus() % 4096 == 0);
      CHECK(reinterpret_cast<uintptr_t>(buffers[i].data()) % 4096 == 0);
    }
  }
  // H5: what was used before must look like new.
  const DmaBuffer again = arena.allocate(1000000, 64);
  size_t dirty = 0;
  for (const unsigned char byte : again.span<unsigned char>()) dirty += byte != 0;
  CHECK(dirty == 0);
}

TEST_CASE("copies of an arena allocate from one region, each for a bus of its own", "[host][memory]") {
  DmaArena arena = small_arena(64 << 10, 4096);
  DmaArena other = arena;
  arena.set_bus_base(0x10000000);
  other.set_bus_base(0x50000000);
  const DmaBuffer one = arena.allocate(4096, 4096);
  const DmaBuffer two = other.allocate(4096, 4096);
  CHECK(one.bus() == 0x10001000);
  CHECK(two.bus() == 0x50002000);
  CHECK(static_cast<unsigned char*>(two.data()) - static_cast<unsigned char*>(one.data()) == 4096);
  CHECK(other.reserved() == 4096);
  CHECK(arena.buffers() == 2);
  CHECK(arena.contains(other.data(), 64 << 10));
  CHECK(arena.contains(two.data(), two.size()));
  CHECK_FALSE(arena.contains(two.data(), 64 << 10));
  CHECK_FALSE(arena.contains(arena.data() - 1, 1));
}

TEST_CASE("a full region says how to make it larger; freed memory is used again", "[host][memory]") {
  DmaArena arena = small_arena(64 << 10);
  const uint64_t all = arena.free_bytes();
  CHECK(all == 64 << 10);
  {
    const DmaBuffer most = arena.allocate(60 << 10, 4096);
    const std::string message = error_of([&] { arena.allocate(8 << 10, 64); });
    CHECK(contains(message, "DMA memory is full: 8192 bytes wanted, 4096 of 65536 free"));
    CHECK(contains(message, "raise dma="));
    CHECK(arena.buffers() == 1);
  }
  CHECK(arena.free_bytes() == all);
  for (int i = 0; i < 1000; ++i) arena.allocate(60 << 10, 4096);
  CHECK(arena.free_bytes() == all);
  CHECK(contains(error_of([&] { arena.allocate(size_t{1} << 62, 64); }), "DMA memory is full"));
  CHECK_THROWS_AS(arena.allocate(0, 64), Error);
  CHECK_THROWS_AS(arena.allocate(64, 3), Error);
  CHECK_THROWS_AS(arena.allocate(64, size_t{1} << 40), Error);
}

TEST_CASE("a buffer keeps its memory alive", "[host][memory]") {
  DmaBuffer kept;
  {
    DmaArena arena = small_arena(1 << 20);
    kept = arena.allocate(4096, 64);
  }
  std::memset(kept.data(), 1, kept.size());
  CHECK(*kept.as<unsigned char>(4095) == 1);
}

TEST_CASE("buffers move, and check what lies inside of them", "[host][memory]") {
  DmaArena arena = small_arena(1 << 20);
  arena.set_bus_base(0x1000);
  DmaBuffer one = arena.allocate(256, 64);
  void* const data = one.data();
  DmaBuffer two = std::move(one);
  CHECK(two.data() == data);
  CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move)
  CHECK(one.size() == 0);
  CHECK(arena.buffers() == 1);
  two = arena.allocate(512, 64);
  CHECK(arena.buffers() == 1);

  CHECK(two.bus_of(two.as<char>(17)) == two.bus() + 17);
  CHECK_THROWS_AS(two.bus_of(two.as<char>() - 1), Error);
  CHECK(two.as<uint64_t>(504) != nullptr);
  CHECK_THROWS_AS(two.as<uint64_t>(505), Error);
  CHECK_THROWS_AS(two.as<char>(size_t{0} - 1), Error);
  CHECK(two.span<uint32_t>().size() == 128);
}

TEST_CASE("threads share an arena", "[host][memory]") {
  DmaArena arena = small_arena(4 << 20);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&arena, &wrong, t] {
      for (int i = 0; i < 300; ++i) {
        const DmaBuffer buffer = arena.allocate(1 + static_cast<size_t>(i) * 37, 64);
        for (const unsigned char byte : buffer.span<unsigned char>()) wrong[t] += byte != 0;
        std::memset(buffer.data(), static_cast<int>(t) + 1, buffer.size());
        for (const unsigned char byte : buffer.span<unsigned char>()) wrong[t] += byte != t + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(arena.buffers() == 0);
}
