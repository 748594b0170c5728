// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a controller reads: where the data of a command lies, by its data pointer and the lists that this leads
/// to. Knows the specification, and nothing of the library's builders.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace fuzz {

/// A piece of memory on the bus.
struct Extent {
  uint64_t bus;
  uint64_t bytes;
  bool operator==(const Extent& other) const { return bus == other.bus && bytes == other.bytes; }
};
using Extents = std::vector<Extent>;

/// Adds a piece; one that touches the last one makes that longer.
inline void append(Extents& extents, uint64_t bus, uint64_t bytes) {
  if (bytes == 0) return;
  if (!extents.empty() && extents.back().bus + extents.back().bytes == bus) {
    extents.back().bytes += bytes;
  } else {
    extents.push_back({bus, bytes});
  }
}

/// The part of some pieces from byte `offset` on; empty where they end before.
inline std::optional<Extents> part_of(const Extents& pieces, uint64_t offset, uint64_t bytes) {
  Extents part;
  for (const Extent& piece : pieces) {
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const uint64_t here = piece.bytes - offset < bytes ? piece.bytes - offset : bytes;
    append(part, piece.bus + offset, here);
    bytes -= here;
    offset = 0;
    if (bytes == 0) return part;
  }
  return std::nullopt;
}

/// Reads 8 bytes at a bus address; fails the input where nothing is there.
using ReadWord = std::function<uint64_t(uint64_t bus)>;

/// Follows PRPs (NVM Express Base Specification 2.0, section 4.1.1). `bytes` is at least 1.
inline Extents follow_prps(uint64_t prp1, uint64_t prp2, uint64_t bytes, uint64_t page, const ReadWord& read) {
  Extents found;
  expect(prp1 % 4 == 0, "PRP entry 1 is dword aligned");
  const uint64_t first = page - prp1 % page;
  append(found, prp1, bytes < first ? bytes : first);
  if (bytes <= first) {
    expect_same(0, prp2, "PRP entry 2 where it is reserved");
    return found;
  }
  bytes -= first;
  const auto take_page = [&](uint64_t entry) {
    expect(entry % page == 0, "a later PRP entry is page aligned");
    const uint64_t here = bytes < page ? bytes : page;
    append(found, entry, here);
    bytes -= here;
  };
  if (bytes <= page) {
    take_page(prp2);
    return found;
  }
  expect(prp2 % 8 == 0, "a PRP list is qword aligned");
  uint64_t at = prp2;
  while (bytes != 0) {
    const uint64_t entry = read(at);
    const bool is_last_of_page = (at + 8) % page == 0;
    if (is_last_of_page && bytes > page) {
      expect(entry % page == 0, "a pointer to the next list page is page aligned");
      at = entry;
      continue;
    }
    take_page(entry);
    at += 8;
  }
  return found;
}

/// Follows an SGL (section 4.1.2). `low` and `high`: the data pointer's two halves.
inline Extents follow_sgl(uint64_t low, uint64_t high, uint64_t bytes, const ReadWord& read) {
  Extents found;
  const auto type = [](uint64_t upper) { return upper >> 60; };
  const auto length = [](uint64_t upper) { return upper & 0xffffffff; };
  const auto take_block = [&](uint64_t address, uint64_t upper) {
    expect_same(0, upper >> 32, "type, subtype and reserved bits of a data block");
    append(found, address, length(upper));
    expect(length(upper) <= bytes, "no descriptor reaches beyond the data");
    bytes -= length(upper);
  };
  if (type(high) == 0) {
    take_block(low, high);
  } else {
    expect_same(3, type(high), "type of the descriptor in the command");
    expect_same(0, high >> 32 & 0x0fffffff, "subtype and reserved bits of a last segment");
    expect(length(high) % 16 == 0 && length(high) != 0, "a segment holds whole descriptors");
    expect(low % 8 == 0, "a segment is qword aligned");
    for (uint64_t at = low; at < low + length(high); at += 16) take_block(read(at), read(at + 8));
  }
  expect_same(0, bytes, "bytes that no descriptor names");
  return found;
}

/// List memory of a command on the bus, of exactly so many bytes.
class ListOnBus {
 public:
  ListOnBus(uint64_t bus, uint32_t bytes) : bus_(bus), words_(new uint64_t[bytes / 8]), count_(bytes / 8) {
    for (uint32_t i = 0; i < count_; ++i) words_[i] = 0xa5a5a5a5a5a5a5a5;
  }
  uint64_t* words() const { return words_.get(); }
  uint64_t read(uint64_t at) const {
    expect(at >= bus_ && at % 8 == bus_ % 8 && (at - bus_) / 8 < count_, "the controller reads list memory alone");
    return words_[(at - bus_) / 8];
  }

 private:
  uint64_t bus_;
  std::unique_ptr<uint64_t[]> words_;
  uint32_t count_;
};

}  // namespace fuzz
