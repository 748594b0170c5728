// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Recorded posts as the compiler compares them with an encoder's.

#include <cstdint>

#include <xio/vendors/rdma/work.hpp>

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

constexpr uint8_t digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// Whether exactly the recorded bytes were stored, or more where the recording driver left ".." as it was.
/// `stored(i)`: whether a store reached byte i; `byte(i)`: what lies there.
template <class Stored, class Byte>
constexpr bool equal(const char* hex, uint32_t bytes, Stored stored, Byte byte) {
  uint32_t i = 0;
  for (; hex[2 * i] != 0; ++i) {
    if (hex[2 * i] == '.') continue;
    if (i >= bytes || !stored(i)) return false;
    if (byte(i) != (digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]))) return false;
  }
  for (; i < bytes; ++i) {
    // The recording ends with the last byte that counts; its segment may go on.
    if (stored(i) && i % 16 == 0) return false;
  }
  return true;
}

/// The same for segments.
template <uint32_t Segments>
constexpr bool equal(const char* hex, const xio::rdma::ArraySink<Segments>& sink) {
  return equal(
      hex, Segments * 16, [&](uint32_t i) { return sink.stored[i / 16]; },
      [&](uint32_t i) { return static_cast<uint8_t>(sink.segment[i / 16].word[i / 4 % 4] >> i % 4 * 8); });
}

/// Whether an encoder takes the operation and stores the recorded bytes.
template <class Encoder, class Payload>
constexpr bool stores(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const Payload& payload,
                      const xio::rdma::Place& place, const char* hex) {
  if (!Encoder::check(shape, work, payload).is_ok()) return false;
  xio::rdma::ArraySink<20> sink;
  Encoder::encode(shape, work, payload, place, sink);
  return equal(hex, sink);
}

/// The same for entries that are stored up to the end: what the recording left out there are zeros.
template <class Encoder, class Payload>
constexpr bool fills(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const Payload& payload,
                     const xio::rdma::Place& place, const char* hex) {
  if (!Encoder::check(shape, work, payload).is_ok()) return false;
  xio::rdma::ArraySink<20> sink;
  Encoder::encode(shape, work, payload, place, sink);
  uint32_t recorded = 0;
  while (hex[2 * recorded] != 0) ++recorded;
  for (uint32_t i = 0; i < 20 * 16; ++i) {
    if (sink.stored[i / 16] != (i < 1u << shape.entry_shift)) return false;
    const auto byte = static_cast<uint8_t>(sink.segment[i / 16].word[i / 4 % 4] >> i % 4 * 8);
    if (byte != (i < recorded ? digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]) : 0)) return false;
  }
  return true;
}

/// The same for pieces of memory; a payload that knows there is one, or none, must do the same.
template <class Encoder>
constexpr bool stores(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const RecordedPieces& data,
                      const xio::rdma::Place& place, const char* hex) {
  if (data.count == 0 && !stores<Encoder>(shape, work, xio::rdma::NoPayload{}, place, hex)) return false;
  if (data.count == 1 && !stores<Encoder>(shape, work, xio::rdma::OneSge{data.sge[0]}, place, hex)) return false;
  return stores<Encoder>(shape, work, data.list(), place, hex);
}

/// The same for inline data; eight bytes may come from a register.
template <class Encoder>
constexpr bool stores(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const RecordedBlock& data,
                      const xio::rdma::Place& place, const char* hex) {
  if (data.length == 8) {
    uint64_t value = 0;
    for (uint32_t i = 8; i-- > 0;) value = value << 8 | data.bytes[i];
    if (!stores<Encoder>(shape, work, xio::rdma::InlineValue{value}, place, hex)) return false;
  }
  return stores<Encoder>(shape, work, data.data(), place, hex);
}

template <class Encoder>
constexpr bool fills(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const RecordedPieces& data,
                     const xio::rdma::Place& place, const char* hex) {
  if (data.count == 1 && !fills<Encoder>(shape, work, xio::rdma::OneSge{data.sge[0]}, place, hex)) return false;
  return fills<Encoder>(shape, work, data.list(), place, hex);
}
template <class Encoder>
constexpr bool fills(const xio::rdma::SendShape& shape, const xio::rdma::Work& work, const RecordedBlock& data,
                     const xio::rdma::Place& place, const char* hex) {
  return fills<Encoder>(shape, work, data.data(), place, hex);
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
