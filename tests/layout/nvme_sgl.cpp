// SPDX-License-Identifier: MIT
// SGLs: what a controller finds when it follows them is what the source says.

#include <random>
#include <vector>

#include <xio/vendors/nvme/pages.hpp>
#include <xio/vendors/nvme/sgl.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

namespace {

struct Extent {
  uint64_t bus;
  uint64_t bytes;
  bool operator==(const Extent& other) const { return bus == other.bus && bytes == other.bytes; }
};

/// As a controller reads it: one data block in the entry, or a last segment and what it points to.
std::vector<Extent> follow(const nvme::DataPointer& data, uint64_t list_bus, const std::vector<uint64_t>& words) {
  REQUIRE(data.sgl);
  const uint64_t type = data.prp2 >> 56;
  const uint64_t length = data.prp2 & 0xffffffff;
  REQUIRE((data.prp2 >> 32 & 0xffffff) == 0);
  if (type == 0x00) return {{data.prp1, length}};
  REQUIRE(type == 0x30);
  REQUIRE(data.prp1 == list_bus);
  REQUIRE(length % 16 == 0);
  REQUIRE(length >= 32);
  std::vector<Extent> extents;
  for (uint64_t i = 0; i < length / 16; ++i) {
    REQUIRE(2 * i + 1 < words.size());
    REQUIRE(words[2 * i + 1] >> 32 == 0);
    extents.push_back({words[2 * i], words[2 * i + 1]});
  }
  return extents;
}

/// The pieces of a list from `offset` on, joined where they touch.
std::vector<Extent> pieces_of(const std::vector<nvme::Segment>& segments, uint64_t offset, uint64_t bytes) {
  std::vector<Extent> pieces;
  for (const nvme::Segment& segment : segments) {
    if (offset >= segment.bytes) {
      offset -= segment.bytes;
      continue;
    }
    const uint64_t here = std::min(segment.bytes - offset, bytes);
    if (here == 0) break;
    const uint64_t bus = segment.bus + offset;
    if (!pieces.empty() && pieces.back().bus + pieces.back().bytes == bus) {
      pieces.back().bytes += here;
    } else {
      pieces.push_back({bus, here});
    }
    offset = 0;
    bytes -= here;
  }
  return pieces;
}

}  // namespace

TEST_CASE("contiguous data is one descriptor and needs no list") {
  nvme::DataPointer data;
  CHECK(nvme::build_sgl(nvme::ContiguousPages{0x1003}, 5, 123457, 12, nvme::ListMemory{}, data) == xio::Status::ok);
  CHECK(follow(data, 0, {}) == std::vector<Extent>{{0x1008, 123457}});
}

TEST_CASE("random pieces of any length and alignment") {
  std::mt19937_64 random(99);
  for (int round = 0; round < 4000; ++round) {
    std::vector<nvme::Segment> segments(1 + random() % 12);
    uint64_t whole = 0;
    uint64_t end = 0x1000;
    for (nvme::Segment& segment : segments) {
      segment.bus = random() % 4 == 0 ? end : random() % 0x100000;
      segment.bytes = random() % 8 == 0 ? 0 : 1 + random() % 9000;
      end = segment.bus + segment.bytes;
      whole += segment.bytes;
    }
    if (whole == 0) continue;
    const uint64_t offset = random() % whole;
    const auto bytes = static_cast<uint32_t>(1 + random() % (whole - offset));
    const auto expected = pieces_of(segments, offset, bytes);
    const auto room = static_cast<uint32_t>(nvme::needed_sgl_bytes(expected.size()));
    std::vector<uint64_t> words(room / 8 + 2, 0xa5);
    const nvme::SegmentList source{segments.data(), static_cast<uint32_t>(segments.size())};
    nvme::DataPointer data;
    REQUIRE(nvme::build_sgl(source, offset, bytes, 12, nvme::ListMemory{words.data(), 0x88, room}, data) ==
            xio::Status::ok);
    REQUIRE(follow(data, 0x88, words) == expected);
    REQUIRE(words[words.size() - 1] == 0xa5);
    REQUIRE(words[words.size() - 2] == 0xa5);
    if (room != 0) {
      REQUIRE(nvme::build_sgl(source, offset, bytes, 12, nvme::ListMemory{words.data(), 0x88, room - 1}, data) ==
              xio::Status::out_of_range);
    }
  }
}

TEST_CASE("a page map becomes one descriptor for each row of pages") {
  const uint64_t map[] = {0x10000, 0x11000, 0x30000, 0x31000, 0x20000};
  uint64_t words[6];
  nvme::DataPointer data;
  const nvme::PageArray pages{map, 12, 256};
  REQUIRE(nvme::build_sgl(pages, 0, 4 * 4096 + 100, 12, nvme::ListMemory{words, 0x1000, sizeof words}, data) ==
          xio::Status::ok);
  CHECK(follow(data, 0x1000, {words, words + 6}) ==
        std::vector<Extent>{{0x10100, 7936}, {0x30000, 8192}, {0x20000, 356}});
}

TEST_CASE("what the controller or the list cannot take is refused") {
  const nvme::Segment segments[] = {{0x1002, 6}, {0x2000, 8}};
  const nvme::SegmentList source{segments, 2};
  uint64_t words[4];
  const nvme::ListMemory list{words, 0x1000, sizeof words};
  nvme::DataPointer data;
  CHECK(nvme::build_sgl(source, 0, 14, 12, list, data) == xio::Status::ok);
  CHECK(nvme::build_sgl(source, 0, 14, 12, list, data, 4) == xio::Status::misaligned);
  CHECK(nvme::build_sgl(source, 6, 8, 12, list, data, 4) == xio::Status::ok);
  CHECK(nvme::build_sgl(source, 6, 7, 12, list, data, 4) == xio::Status::misaligned);
  CHECK(nvme::build_sgl(nvme::ContiguousPages{0x1002}, 0, 8, 12, list, data, 4) == xio::Status::misaligned);
  CHECK(nvme::build_sgl(source, 0, 15, 12, list, data) == xio::Status::out_of_range);
  CHECK(nvme::build_sgl(source, 0, 14, 12, nvme::ListMemory{words, 0x1004, 32}, data) == xio::Status::misaligned);
  CHECK(nvme::build_sgl(source, 0, 14, 12, nvme::ListMemory{words, 0x1000, 31}, data) == xio::Status::out_of_range);
}

TEST_CASE("keyed data block: fields as in linux/nvme.h -> address, length of 3 bytes, key, type 4h") {
  const nvme::DataPointer data = nvme::sgl_keyed_data_block(0x1122334455667788, 0xabcdef, 0x99aabbcc);
  CHECK(data.prp1 == 0x1122334455667788);
  CHECK(data.prp2 == 0x4099aabbccabcdef);
  CHECK(data.sgl);
}

TEST_CASE("keyed descriptor: contiguous data is named, other data refused") {
  nvme::DataPointer data;
  CHECK(nvme::build_keyed_sgl(nvme::ContiguousPages{0x1003}, 5, 123457, 12, 7, data) == xio::Status::ok);
  CHECK(data.prp1 == 0x1008);
  CHECK(data.prp2 == (0x4000000000000000 | uint64_t{7} << 24 | 123457));
  CHECK(nvme::build_keyed_sgl(nvme::ContiguousPages{0}, 0, 1u << 24, 12, 7, data) == xio::Status::out_of_range);
  const uint64_t pages[] = {0x10000, 0x11000, 0x13000};
  const nvme::PageArray source{pages, 12};
  CHECK(nvme::build_keyed_sgl(source, 0x800, 0x1800, 12, 7, data) == xio::Status::ok);
  CHECK(nvme::build_keyed_sgl(source, 0x800, 0x1801, 12, 7, data) == xio::Status::unsupported);
  const nvme::Segment parts[] = {{0x1000, 512}, {0x1200, 512}, {0x2000, 512}};
  const nvme::SegmentList list{parts, 3};
  CHECK(nvme::build_keyed_sgl(list, 100, 900, 12, 7, data) == xio::Status::ok);
  CHECK(nvme::build_keyed_sgl(list, 100, 1000, 12, 7, data) == xio::Status::unsupported);
}
