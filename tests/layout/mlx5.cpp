// SPDX-License-Identifier: MIT
// ConnectX: entries and doorbells that rdma-core's provider stored or read (recorded from it), field by field, and what
// encoder and decoder refuse. Most of it is checked by the compiler. Golden files hold what the encoder stores.

#include <string>

#include <xio/vendors/mlx5/decode.hpp>
#include <xio/vendors/mlx5/encode.hpp>
#include <xio/vendors/mlx5/layout.hpp>
#include <xio/vendors/mlx5/status.hpp>

#include "catch.hpp"
#include "layout/recorded.hpp"

namespace mlx5 = xio::mlx5;
using namespace xio::rdma::work_flag;
using recorded::stores;
using xio::Be16;
using xio::Be32;
using xio::Be64;
using xio::Status;
using xio::rdma::NoPayload;
using xio::rdma::OneSge;
using xio::rdma::Operation;
using xio::rdma::SendShape;

namespace {

constexpr bool same(RecordedBytes bytes, uint64_t at, const mlx5::ControlSegment& s) {
  return bytes.holds(at + XIO_OFFSETOF(mlx5::ControlSegment, opmod_index_opcode), s.opmod_index_opcode) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::ControlSegment, qpn_ds), s.qpn_ds) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::ControlSegment, signature_flags), s.signature_flags) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::ControlSegment, immediate), s.immediate);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const mlx5::RemoteAddressSegment& s) {
  return bytes.holds(at + XIO_OFFSETOF(mlx5::RemoteAddressSegment, address), s.address) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::RemoteAddressSegment, rkey), s.rkey) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::RemoteAddressSegment, reserved), s.reserved);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const mlx5::AtomicSegment& s) {
  return bytes.holds(at + XIO_OFFSETOF(mlx5::AtomicSegment, swap_add), s.swap_add) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::AtomicSegment, compare), s.compare);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const mlx5::DataSegment& s) {
  return bytes.holds(at + XIO_OFFSETOF(mlx5::DataSegment, byte_count), s.byte_count) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::DataSegment, lkey), s.lkey) &&
         bytes.holds(at + XIO_OFFSETOF(mlx5::DataSegment, address), s.address);
}

constexpr uint32_t qpn = 109517;
constexpr uint32_t completion = mlx5::control_flag::completion;
constexpr mlx5::RemoteAddressSegment remote{Be64(0x7f12345678a0bc00), Be32(0x00c0ffeeu), Be32(0u)};
constexpr mlx5::DataSegment data(uint32_t bytes) { return {Be32(bytes), Be32(0x00aabb01u), Be64(0x7e00a1b2c3d4e000)}; }
constexpr mlx5::ControlSegment control(mlx5::Opcode opcode, uint64_t index, uint32_t segments, uint32_t flags,
                                       uint32_t immediate) {
  return {mlx5::control_word0(opcode, index), mlx5::control_word1(qpn, segments), Be32(flags), Be32(immediate)};
}

// A write of 256 bytes with immediate data.
constexpr RecordedBytes write_immediate(
    "0000000901abcd0300000008112233447f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000");
constexpr mlx5::ControlSegment write_control =
    control(mlx5::Opcode::rdma_write_immediate, 0, 3, completion, 0x11223344);
static_assert(same(write_immediate, 0, write_control));
static_assert(same(write_immediate, 16, remote) && same(write_immediate, 32, data(256)));
// Its doorbell.
static_assert(RecordedBytes("0000000901abcd03").holds(0, mlx5::send_doorbell(write_control)));

// Compare-and-swap behind a fence.
constexpr RecordedBytes compare_swap(
    "0000001101abcd0400000088000000007f12345678a0bc0000c0ffee0000000011121314151617180102030405060708"
    "0000000800aabb017e00a1b2c3d4e000");
static_assert(same(compare_swap, 0,
                   control(mlx5::Opcode::compare_swap, 0, 4, completion | mlx5::control_flag::fence, 0)));
static_assert(same(compare_swap, 16, remote));
static_assert(same(compare_swap, 32, mlx5::AtomicSegment{Be64(0x1112131415161718), Be64(0x0102030405060708)}));
static_assert(same(compare_swap, 48, data(mlx5::atomic_bytes)));

// 17 bytes inline: the length stands in the first word of the segment, the bytes behind it.
constexpr RecordedBytes send_inline("0000000a01abcd03000000080000000080000011141b222930373e454c535a61686f767d84");
static_assert(same(send_inline, 0, control(mlx5::Opcode::send, 0, 3, completion, 0)));
static_assert(send_inline.holds(16, Be32(mlx5::inline_bit | 17)) && send_inline.little<uint8_t>(20) == 0x14);

// Local invalidate: a memory registration that says which key is free.
constexpr RecordedBytes local_invalidate(
    "0000002501abcd08000000080000551298000000000000000000000020006000000000000000000000000000000000000000000000000000"
    "000000000000000040000000ffffff000000000000000000");
static_assert(same(local_invalidate, 0, control(mlx5::Opcode::umr, 0, 8, completion, 0x5512)));
static_assert(local_invalidate.little<uint8_t>(16 + XIO_OFFSETOF(mlx5::UmrControlSegment, flags)) == 0x98);
static_assert(local_invalidate.holds(16 + XIO_OFFSETOF(mlx5::UmrControlSegment, mkey_mask),
                                     Be64(mlx5::umr_mask_free | mlx5::umr_mask_mkey | mlx5::umr_mask_qpn)));
static_assert(local_invalidate.holds(64 + XIO_OFFSETOF(mlx5::MkeySegment, free), mlx5::mkey_free));
static_assert(local_invalidate.holds(64 + XIO_OFFSETOF(mlx5::MkeySegment, qpn_mkey), Be32(0xffffff00u)));

// A receive with room for more: the list is ended.
constexpr RecordedBytes receive("0000008000aabb017e00a1b2c3d4e00000000000000001000000000000000000");
static_assert(same(receive, 0, data(128)));
static_assert(same(receive, 16, mlx5::DataSegment{Be32(0u), Be32(mlx5::invalid_lkey), Be64(0)}));

// A failed write: remote access error of the entry that started at WQEBB 9.
constexpr RecordedBytes error_cqe(
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005113"
    "0801abcd000900d0");
static_assert(error_cqe.holds(XIO_OFFSETOF(mlx5::ErrorCqe, wqe_counter), Be16(uint16_t{9})));
static_assert(error_cqe.holds(XIO_OFFSETOF(mlx5::ErrorCqe, opcode_qpn),
                              Be32(static_cast<uint32_t>(mlx5::Opcode::rdma_write) << 24 | qpn)));
constexpr uint8_t error_owner = error_cqe.little<uint8_t>(XIO_OFFSETOF(mlx5::ErrorCqe, opcode_owner));
static_assert(mlx5::is_error(mlx5::cqe_opcode(error_owner)) &&
              mlx5::cqe_opcode(error_owner) == mlx5::CqeOpcode::request_error);
static_assert((error_owner & mlx5::owner_bit) == mlx5::expected_owner(0, 16));
static_assert(mlx5::to_status(static_cast<mlx5::Syndrome>(error_cqe.little<uint8_t>(XIO_OFFSETOF(mlx5::ErrorCqe,
                                                                                                 syndrome))),
                              error_cqe.little<uint8_t>(XIO_OFFSETOF(mlx5::ErrorCqe, vendor_syndrome))) ==
              Status(Status::access_denied, 0x5113));

// A received send of 4096 bytes with immediate data.
constexpr RecordedBytes receive_cqe(
    "000000000000000000000000000000000000000000000000001234560000000000000000a1b2c3d4000000000000100001020304050607"
    "080801abcd00030030");
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, flags_source_qpn), Be32(0x123456u)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, immediate), Be32(0xa1b2c3d4u)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, byte_count), Be32(4096u)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, timestamp), Be64(0x0102030405060708)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, opcode_qpn), Be32(0x08u << 24 | qpn)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(mlx5::Cqe, wqe_counter), Be16(uint16_t{3})));
static_assert(mlx5::cqe_opcode(receive_cqe.little<uint8_t>(XIO_OFFSETOF(mlx5::Cqe, opcode_owner))) ==
              mlx5::CqeOpcode::response_send_immediate);

// Arming for solicited completions, after one arm, at consumer index 5: record and doorbell.
static_assert(RecordedBytes("11000005").holds(0, Be32(mlx5::cq_arm_word(1, 5, true))));
static_assert(RecordedBytes("11000005000012f3").holds(0, Be64(uint64_t{mlx5::cq_arm_word(1, 5, true)} << 32 | 4851)));

// H5: what set-up writes is never taken for an entry, on the first lap or later.
static_assert(mlx5::cqe_opcode(mlx5::initial_opcode_owner) == mlx5::CqeOpcode::invalid);
static_assert((mlx5::initial_opcode_owner & mlx5::owner_bit) == mlx5::expected_owner(0, 16));
static_assert(mlx5::expected_owner(15, 16) == 0 && mlx5::expected_owner(16, 16) == 1 &&
              mlx5::expected_owner(32, 16) == 0);

}  // namespace

TEST_CASE("words turn round and back") {
  for (uint32_t bit = 0; bit < 64; ++bit) {
    const uint64_t value = 1ull << bit;
    CHECK(Be64(value).value() == value);
    CHECK(Be64(value).raw == 1ull << ((7 - bit / 8) * 8 + bit % 8));
    if (bit < 32) CHECK(Be32(static_cast<uint32_t>(value)).raw == 1u << ((3 - bit / 8) * 8 + bit % 8));
    if (bit < 16) CHECK(Be16(static_cast<uint16_t>(value)).raw == 1u << ((1 - bit / 8) * 8 + bit % 8));
  }
  const Be32 word(0x11223344u);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&word);
  CHECK((bytes[0] == 0x11 && bytes[1] == 0x22 && bytes[2] == 0x33 && bytes[3] == 0x44));
}

TEST_CASE("every syndrome is an error with a name", "[H16]") {
  for (uint32_t value = 0; value < 256; ++value) {
    const auto syndrome = static_cast<mlx5::Syndrome>(value);
    const Status status = mlx5::to_status(syndrome);
    INFO("syndrome " << value);
    CHECK(status.from_device());
    CHECK(status.vendor == value);
    const bool known = (value >= 1 && value <= 6 && value != 3) || (value >= 0x10 && value <= 0x16) || value == 0x22;
    CHECK((std::string(mlx5::name(syndrome)) != "unknown status") == known);
    CHECK((status != Status::device_error) == known);
  }
  CHECK(mlx5::to_status(mlx5::Syndrome::flushed) == Status::flushed);
  CHECK(mlx5::to_status(mlx5::Syndrome::local_protection) == Status::bad_address);
  CHECK(mlx5::to_status(mlx5::Syndrome::transport_retry_exceeded) == Status::retry_exceeded);
  CHECK(mlx5::to_status(mlx5::Syndrome::rnr_retry_exceeded) == Status::receiver_not_ready);
  CHECK(mlx5::to_status(mlx5::Syndrome::remote_operation) == Status::remote_error);
  CHECK(std::string(mlx5::name(mlx5::CqeOpcode::request_error)) == "request error");
}

namespace {

using Plain = mlx5::SendEncoder<false>;
constexpr SendShape shape{qpn, 128, 6, 4, 124, 0, 0};

// The doorbell repeats the first 8 bytes of the entry.
constexpr uint64_t bell() {
  xio::rdma::ArraySink<4> sink;
  return Plain::encode(shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, OneSge{{0, 1, 0}}, {3},
                       sink);
}
static_assert(bell() == 0x03cdab0108030000);

}  // namespace

TEST_CASE("ConnectX: what cannot be posted") {
  const RecordedPieces many = pieces(1, 1, 1, 1, 1);
  CHECK(Plain::check(shape, {}, many.list()) == Status::out_of_range);
  CHECK(Plain::check(shape, {}, block(125, 0).data()) == Status::out_of_range);
  CHECK(Plain::check(shape, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(Plain::check(shape, {Operation::fetch_add}, pieces(4, 4).list()) == Status::invalid_argument);
}

TEST_CASE("ConnectX: a message that is stored in its completion is no success") {
  const auto decode = [](uint8_t last) {
    return mlx5::CompletionDecoder<64>::decode(uint64_t{last} << 56, [](uint32_t) { return uint64_t{0}; }).status;
  };
  CHECK(decode(0x20) == Status::ok);
  CHECK(decode(0x20 | mlx5::inline_scatter_32) == Status::unsupported);
  CHECK(decode(0x30 | mlx5::inline_scatter_64) == Status::unsupported);
}
