// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Recorded bytes (hexadecimal, in memory order) as the compiler reads them, and recorded posts as it compares
/// them with an encoder's.

#include <cstdint>

#include <xio/vendors/endian.hpp>
#include <xio/vendors/rdma/work.hpp>

namespace recorded {
constexpr uint8_t digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }
}  // namespace recorded

/// Bytes of an entry as they lay in memory.
class RecordedBytes {
 public:
  explicit constexpr RecordedBytes(const char* hex) : hex_(hex) {}

  /// Little-endian word at byte `offset`.
  template <class Word>
  constexpr Word little(uint64_t offset) const {
    uint64_t value = 0;
    for (uint64_t i = sizeof(Word); i-- > 0;) value = value << 8 | byte(offset + i);
    return static_cast<Word>(value);
  }
  /// Big-endian word at byte `offset`.
  template <class Word>
  constexpr Word big(uint64_t offset) const {
    uint64_t value = 0;
    for (uint64_t i = 0; i < sizeof(Word); ++i) value = value << 8 | byte(offset + i);
    return static_cast<Word>(value);
  }

  /// Whether the bytes at `offset` are those of a field.
  template <class Word>
  constexpr bool holds(uint64_t offset, Word field) const {
    return little<Word>(offset) == field;
  }
  template <class Word>
  constexpr bool holds(uint64_t offset, xio::BigEndian<Word> field) const {
    return big<Word>(offset) == field.value() && little<Word>(offset) == field.raw;
  }

 private:
  constexpr uint64_t byte(uint64_t index) const {
    return uint64_t{recorded::digit(hex_[2 * index])} << 4 | recorded::digit(hex_[2 * index + 1]);
  }

  const char* hex_;
};

/// Where the recorded posts point: pieces of memory as the recording driver's test spread them.
struct RecordedPieces {
  xio::rdma::Sge sge[12]{};
  uint32_t count = 0;

  constexpr xio::rdma::SgeList list() const { return {sge, count}; }
};

/// Pieces of the given lengths.
template <class... Lengths>
constexpr RecordedPieces pieces(Lengths... lengths) {
  RecordedPieces result;
  for (const uint32_t length : {static_cast<uint32_t>(lengths)..., 0u}) {
    if (result.count == sizeof...(lengths)) break;
    const uint32_t i = result.count++;
    result.sge[i] = {0x7e00a1b2c3d4e000 + uint64_t{i} * 0x10018, length, 0x00aabb01 + i * 0x010101};
  }
  return result;
}

/// Inline data of a recorded post: each byte is seven more than the one before.
struct RecordedBlock {
  uint8_t bytes[256]{};
  uint32_t length = 0;

  constexpr xio::rdma::InlineBytes data() const { return {bytes, length}; }
};
constexpr RecordedBlock block(uint32_t length, uint8_t first) {
  RecordedBlock result;
  result.length = length;
  for (uint32_t i = 0; i < length; ++i) result.bytes[i] = static_cast<uint8_t>(first + 7 * i);
  return result;
}

namespace recorded {

constexpr uint64_t remote = 0x7f12345678a0bc00;
constexpr uint32_t rkey = 0x00c0ffee;
constexpr uint64_t wr_id = 0x1122334455667700;

/// Whether exactly the bytes of `hex` were stored, or more where it has ".."
template <uint32_t Segments>
constexpr bool equal(const char* hex, const xio::rdma::ArraySink<Segments>& sink) {
  uint32_t i = 0;
  for (; hex[2 * i] != 0; ++i) {
    if (hex[2 * i] == '.') continue;
    if (i >= Segments * 16 || !sink.stored[i / 16]) return false;
    const auto byte = static_cast<uint8_t>(sink.segment[i / 16].word[i / 4 % 4] >> i % 4 * 8);
    if (byte != (digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]))) return false;
  }
  // The last byte that counts may be followed by the rest of its segment.
  for (uint32_t segment = (i + 15) / 16; segment < Segments; ++segment) {
    if (sink.stored[segment]) return false;
  }
  return true;
}

/// Whether an encoder takes the operation and stores the recorded bytes.
template <class Encoder>
constexpr bool stores(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const RecordedPieces& data,
                      const xio::rdma::Place& place, const char* hex) {
  if (!Encoder::check(shape, work, data.list()).is_ok()) return false;
  xio::rdma::ArraySink<20> sink;
  Encoder::encode(shape, work, data.list(), place, sink);
  return equal(hex, sink);
}

/// Whether an encoder stores the recorded bytes of a receive.
template <class Encoder>
constexpr bool receives(const xio::rdma::ReceiveShape& shape, const RecordedPieces& data, const xio::rdma::Place& place,
                        const char* hex) {
  xio::rdma::ArraySink<20> sink;
  Encoder::encode(shape, data.list(), place, sink);
  return equal(hex, sink);
}

}  // namespace recorded
