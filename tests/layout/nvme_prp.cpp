// SPDX-License-Identifier: MIT
// PRP lists: what a controller finds when it follows them is what the page source says. The walk below is written from
// the specification and shares nothing with the builder.

#include <random>
#include <string>
#include <vector>

#include <xio/vendors/nvme/pages.hpp>
#include <xio/vendors/nvme/prp.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

namespace {

struct Extent {
  uint64_t bus;
  uint64_t bytes;
  bool operator==(const Extent& other) const { return bus == other.bus && bytes == other.bytes; }
};

void append(std::vector<Extent>& extents, uint64_t bus, uint64_t bytes) {
  if (!extents.empty() && extents.back().bus + extents.back().bytes == bus) {
    extents.back().bytes += bytes;
  } else {
    extents.push_back({bus, bytes});
  }
}

/// Bus memory with a PRP list in it.
struct ListArea {
  std::vector<uint64_t> words;
  uint64_t bus;

  ListArea(uint64_t bus_address, uint32_t bytes) : words(bytes / 8 + 1, 0xa5a5a5a5a5a5a5a5u), bus(bus_address) {}
  nvme::ListMemory memory(uint32_t bytes) { return {words.data(), bus, bytes}; }
  uint64_t at(uint64_t address) const {
    REQUIRE(address % 8 == 0);
    REQUIRE(address >= bus);
    REQUIRE((address - bus) / 8 + 1 < words.size());
    return words[(address - bus) / 8];
  }
};

/// As a controller reads a data pointer: entry 1 to the end of its page, then whole pages, lists page by page.
std::vector<Extent> follow(const nvme::DataPointer& data, uint64_t bytes, uint64_t page, const ListArea& area) {
  std::vector<Extent> extents;
  REQUIRE(data.prp1 % 4 == 0);
  const uint64_t first = std::min(bytes, page - data.prp1 % page);
  append(extents, data.prp1, first);
  uint64_t left = bytes - first;
  if (left == 0) {
    REQUIRE(data.prp2 == 0);
    return extents;
  }
  if (left <= page) {
    REQUIRE(data.prp2 % page == 0);
    append(extents, data.prp2, left);
    return extents;
  }
  uint64_t entry = data.prp2;
  while (left > 0) {
    const bool last_of_page = (entry + 8) % page == 0;
    const uint64_t value = area.at(entry);
    if (last_of_page && left > page) {
      entry = value;
      continue;
    }
    REQUIRE(value % page == 0);
    append(extents, value, std::min(left, page));
    left -= std::min(left, page);
    entry += 8;
  }
  return extents;
}

/// What the source says, byte range by byte range.
template <class Pages>
std::vector<Extent> extents_of(const Pages& pages, uint64_t offset, uint64_t bytes, uint64_t page) {
  std::vector<Extent> extents;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t bus = pages.bus(offset + done);
    const uint64_t here = std::min(bytes - done, page - bus % page);
    append(extents, bus, here);
    done += here;
  }
  return extents;
}

template <class Pages>
void check(const Pages& pages, uint64_t offset, uint32_t bytes, uint32_t page_shift, uint64_t list_bus) {
  const uint64_t page = uint64_t{1} << page_shift;
  const uint32_t room = nvme::needed_list_bytes(bytes, page_shift, list_bus % page);
  ListArea area(list_bus, room);
  nvme::DataPointer data;
  INFO("offset " << offset << ", bytes " << bytes << ", page shift " << page_shift << ", list " << list_bus);
  REQUIRE(nvme::build_prps(pages, offset, bytes, page_shift, area.memory(room), data) == xio::Status::ok);
  REQUIRE_FALSE(data.sgl);
  REQUIRE(follow(data, bytes, page, area) == extents_of(pages, offset, bytes, page));
  REQUIRE(area.words.back() == 0xa5a5a5a5a5a5a5a5u);
}

}  // namespace

TEST_CASE("every length by dwords around page boundaries, contiguous") {
  constexpr uint32_t page = 4096;
  for (uint32_t in_page : {0u, 4u, 8u, 512u, page - 8, page - 4}) {
    const nvme::ContiguousPages pages{uint64_t{0x100000000} + in_page};
    for (uint32_t near = page; near <= 4 * page; near += page) {
      for (uint32_t bytes = near - 24; bytes <= near + 24; bytes += 4) check(pages, 0, bytes, 12, 0x200000000);
    }
    for (uint32_t bytes = 4; bytes <= 64; bytes += 4) check(pages, 0, bytes, 12, 0x200000000);
  }
}

TEST_CASE("every length by dwords up to three pages") {
  std::vector<uint64_t> map{0x7000, 0x3000, 0x9000, 0x1000};
  for (uint64_t first : {0u, 4u, 2048u, 4092u}) {
    const nvme::PageArray pages{map.data(), 12, first};
    for (uint32_t bytes = 4; bytes <= 3 * 4096 + 4; bytes += 4) check(pages, 0, bytes, 12, 0x20ff0);
  }
}

TEST_CASE("lists that start anywhere in a page, and their chains") {
  constexpr uint64_t page = 4096;
  for (uint64_t list_offset = 0; list_offset < page; list_offset += 8) {
    const nvme::ContiguousPages pages{0x100000800};
    const auto room = static_cast<uint32_t>((page - list_offset) / 8);
    for (uint32_t entries : {2u, 3u, room - 1, room, room + 1, room + 510, room + 511, room + 512}) {
      if (entries < 2) continue;
      check(pages, 0, static_cast<uint32_t>(entries * page), 12, 0x200000000 + list_offset);
    }
  }
}

TEST_CASE("random maps, offsets, lengths and page sizes") {
  std::mt19937_64 random(20240607);
  for (int round = 0; round < 3000; ++round) {
    const auto page_shift = static_cast<uint32_t>(12 + random() % 3);
    const auto source_shift = static_cast<uint32_t>(page_shift + random() % 3);
    const uint64_t source_page = uint64_t{1} << source_shift;
    std::vector<uint64_t> map(1 + random() % 40);
    for (uint64_t& entry : map) entry = (random() % 0x10000 + 1) << source_shift;
    const uint64_t first = random() % source_page & ~uint64_t{3};
    const uint64_t whole = map.size() * source_page - first;
    const uint64_t offset = random() % whole & ~uint64_t{3};
    const uint64_t longest = std::min<uint64_t>(whole - offset, uint64_t{1} << 20);
    const auto bytes = static_cast<uint32_t>(1 + random() % longest);
    check(nvme::PageArray{map.data(), source_shift, first}, offset, bytes, page_shift, random() % 0x10000 << 3);
  }
}

TEST_CASE("random segments that PRPs can describe") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t page = 4096;
    std::vector<nvme::Segment> segments;
    uint64_t bus = (random() % 1000 + 1) * page * 64 + (random() % 1024) * 4;
    uint64_t whole = 0;
    const uint64_t count = 1 + random() % 6;
    for (uint64_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      const uint64_t to_page_end = (page - bus % page) + random() % 8 * page;
      const uint64_t bytes = last ? 4 * (1 + random() % 8192) : to_page_end;
      segments.push_back({bus, bytes});
      whole += bytes;
      bus = (random() % 1000 + 1) * page * 64;
    }
    const nvme::SegmentList list{segments.data(), static_cast<uint32_t>(segments.size())};
    const uint64_t offset = random() % whole & ~uint64_t{3};
    check(list, offset, static_cast<uint32_t>(whole - offset), 12, 0x300000008);
  }
}

TEST_CASE("pieces that touch on the bus are one page") {
  const nvme::Segment segments[] = {{0x10000, 100}, {0x999, 0}, {0x10064, 3996}, {0x40000, 4096}, {0x80000, 8}};
  check(nvme::SegmentList{segments, 5}, 0, 8200, 12, 0x1000);
}

TEST_CASE("what PRPs cannot describe is refused") {
  nvme::DataPointer data;
  uint64_t words[64];
  const nvme::ListMemory list{words, 0x5000, sizeof words};
  const auto segments = [&](std::vector<nvme::Segment> pieces, uint32_t bytes) {
    const nvme::SegmentList source{pieces.data(), static_cast<uint32_t>(pieces.size())};
    return nvme::build_prps(source, 0, bytes, 12, list, data);
  };

  for (uint64_t odd : {1u, 2u, 3u, 4095u}) {
    CHECK(nvme::build_prps(nvme::ContiguousPages{0x1000 + odd}, 0, 512, 12, list, data) == xio::Status::misaligned);
  }
  CHECK(segments({{0x10000, 512}, {0x20000, 3584}}, 4096) == xio::Status::misaligned);  // ends within page 1
  CHECK(segments({{0x10000, 4096}, {0x20200, 512}}, 4608) == xio::Status::misaligned);  // starts within page 2
  CHECK(segments({{0x10000, 4096}, {0x20000, 512}, {0x30000, 4096}}, 8704) == xio::Status::misaligned);
  CHECK(segments({{0x10000, 8192}, {0x20004, 4096}}, 12288) == xio::Status::misaligned);  // in the list
  CHECK(segments({{0x10000, 8192}, {0x20000, 512}, {0x30000, 9000}}, 16384) == xio::Status::misaligned);
  CHECK(segments({{0x10000, 4096}}, 8192) == xio::Status::misaligned);  // too short
  CHECK(segments({{0x10000, 4096}, {0x20000, 4096}, {0x30000, 16}}, 8208) == xio::Status::ok);

  const nvme::ContiguousPages pages{0x1000};
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{words, 0x5004, 64}, data) == xio::Status::misaligned);
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{words, 0x5000, 15}, data) ==
        xio::Status::out_of_range);
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{words, 0x5000, 16}, data) == xio::Status::ok);
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{}, data) == xio::Status::out_of_range);
  // Two entries behind the last word of a page need a third word, for the chain.
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{words, 0x5ff8, 16}, data) ==
        xio::Status::out_of_range);
  CHECK(nvme::build_prps(pages, 0, 3 * 4096, 12, nvme::ListMemory{words, 0x5ff8, 24}, data) == xio::Status::ok);
  CHECK(words[0] == 0x6000);
}

TEST_CASE("a list is not touched where two pages suffice") {
  nvme::DataPointer data;
  CHECK(nvme::build_prps(nvme::ContiguousPages{0x1ffc}, 0, 4 + 4096, 12, nvme::ListMemory{}, data) == xio::Status::ok);
  CHECK(data.prp1 == 0x1ffc);
  CHECK(data.prp2 == 0x2000);
}

TEST_CASE("list memory that suffices for every start") {
  CHECK(nvme::needed_list_bytes(0, 12) == 0);
  CHECK(nvme::needed_list_bytes(4, 12) == 0);
  CHECK(nvme::needed_list_bytes(4100, 12) == 0);
  CHECK(nvme::needed_list_bytes(4104, 12) == 16);
  CHECK(nvme::needed_list_bytes(1u << 20, 12) == 256 * 8);
  CHECK(nvme::needed_list_bytes(512u * 4096, 12) == 512 * 8);
  CHECK(nvme::needed_list_bytes(512u * 4096 + 8, 12) == (512 + 2) * 8);
  CHECK(nvme::needed_list_bytes(2u * 4096, 12, 0xff8) == 3 * 8);
}

TEST_CASE("what a list holds, by its place in a page and its size") {
  constexpr uint32_t shift = 4;
  constexpr uint32_t page = 1u << shift;  // qwords
  for (uint32_t skipped = 0; skipped < page; ++skipped) {
    for (uint32_t words = 0; words < 5 * page; ++words) {
      const uint32_t most = nvme::detail::list_entries(words, skipped, shift);
      INFO(words << " qwords, " << skipped << " into a page: " << most);
      CHECK(nvme::detail::list_words(most, page - skipped, page) <= words);
      CHECK(nvme::detail::list_words(most + 1, page - skipped, page) > words);
    }
  }
}

namespace {

constexpr bool built_by_the_compiler() {
  uint64_t words[4] = {};
  nvme::DataPointer data;
  const uint64_t map[] = {0x7000, 0x3000, 0x9000, 0x1000};
  const nvme::PageArray pages{map, 12, 512};
  const nvme::ListMemory list{words, 0x4ff0, sizeof words};
  const bool ok = nvme::build_prps(pages, 0, 3 * 4096, 12, list, data) == xio::Status::ok;
  return ok && data.prp1 == 0x7200 && data.prp2 == 0x4ff0 && words[0] == 0x3000 && words[1] == 0x5000 &&
         words[2] == 0x9000 && words[3] == 0x1000;
}
static_assert(built_by_the_compiler(), "lists can be built in constant evaluation");

}  // namespace
