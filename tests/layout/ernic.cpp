// SPDX-License-Identifier: MIT
// ERNIC: entries and doorbells that rdma-core's provider for the same interface stored or read (recorded from it,
// vmw_pvrdma), field by field, and what the encoder refuses. Most of it is checked by the compiler. Golden files hold
// what the encoder stores.

#include <string>

#include <xio/vendors/ernic/decode.hpp>
#include <xio/vendors/ernic/encode.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/ernic/status.hpp>

#include "catch.hpp"
#include "layout/recorded.hpp"

namespace ernic = xio::ernic;
using namespace xio::rdma::work_flag;
using recorded::stores;
using xio::Be32;
using xio::Status;
using xio::rdma::NoPayload;
using xio::rdma::Operation;
using xio::rdma::SendShape;

namespace {

constexpr bool same(RecordedBytes bytes, uint64_t at, const ernic::SqHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(ernic::SqHeader, wr_id), s.wr_id) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::SqHeader, sges), s.sges) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::SqHeader, opcode), s.opcode) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::SqHeader, send_flags), s.send_flags) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::SqHeader, immediate), s.immediate);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ernic::RdmaOperation& s) {
  return bytes.holds(at + XIO_OFFSETOF(ernic::RdmaOperation, remote_address), s.remote_address) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::RdmaOperation, rkey), s.rkey);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ernic::AtomicOperation& s) {
  return bytes.holds(at + XIO_OFFSETOF(ernic::AtomicOperation, remote_address), s.remote_address) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::AtomicOperation, compare_add), s.compare_add) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::AtomicOperation, swap), s.swap) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::AtomicOperation, rkey), s.rkey);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ernic::Sge& s) {
  return bytes.holds(at + XIO_OFFSETOF(ernic::Sge, address), s.address) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::Sge, length), s.length) &&
         bytes.holds(at + XIO_OFFSETOF(ernic::Sge, lkey), s.lkey);
}

constexpr uint64_t wr_id = 0x1122334455667700;
constexpr uint64_t remote_address = 0x7f12345678a0bc00;
constexpr uint32_t rkey = 0x00c0ffee;
constexpr uint32_t handle = 0x321;
constexpr ernic::Sge sge(uint32_t bytes) { return {0x7e00a1b2c3d4e000, bytes, 0x00aabb01}; }
constexpr ernic::SqHeader header(ernic::Opcode opcode, uint32_t immediate) {
  return {wr_id, 1, 0, static_cast<uint32_t>(opcode), ernic::send_flag::signaled, Be32(immediate), 0};
}

// A write of 256 bytes with immediate data, its pointer, and its doorbell.
constexpr RecordedBytes write_immediate(
    "007766554433221101000000000000000100000002000000112233440000000000bca0785634127feeffc00000000000");
static_assert(same(write_immediate, 0, header(ernic::Opcode::rdma_write_immediate, 0x11223344)));
static_assert(same(write_immediate, ernic::sq_operation_offset, ernic::RdmaOperation{remote_address, rkey, 0}));
static_assert(same(RecordedBytes("00e0d4c3b2a1007e0001000001bbaa00"), 0, sge(256)));
static_assert(RecordedBytes("21030040").holds(0, ernic::doorbell(handle, ernic::uar_qp_send)));

// Compare-and-swap, fetch-and-add.
constexpr RecordedBytes compare_swap(
    "007766554433221101000000000000000500000002000000000000000000000000bca0785634127f08070605040302011817161514131211"
    "eeffc00000000000");
static_assert(same(compare_swap, 0, header(ernic::Opcode::compare_swap, 0)));
static_assert(same(compare_swap, ernic::sq_operation_offset,
                   ernic::AtomicOperation{remote_address, 0x0102030405060708, 0x1112131415161718, rkey, 0}));
constexpr RecordedBytes fetch_add(
    "007766554433221101000000000000000600000002000000000000000000000000bca0785634127f28272625242322210000000000000000"
    "eeffc00000000000");
static_assert(same(fetch_add, 0, header(ernic::Opcode::fetch_add, 0)));
static_assert(same(fetch_add, ernic::sq_operation_offset,
                   ernic::AtomicOperation{remote_address, 0x2122232425262728, 0, rkey, 0}));

// A receive of 64 bytes, and its doorbell.
constexpr RecordedBytes receive("0077665544332211010000000000000000e0d4c3b2a1007e4000000001bbaa00");
static_assert(receive.holds(XIO_OFFSETOF(ernic::RqHeader, wr_id), wr_id));
static_assert(receive.holds(XIO_OFFSETOF(ernic::RqHeader, sges), 1u));
static_assert(same(receive, ernic::rq_sge_offset, sge(64)));
static_assert(RecordedBytes("21030080").holds(0, ernic::doorbell(handle, ernic::uar_qp_receive)));

constexpr Status status_of(RecordedBytes cqe) {
  return ernic::to_status(static_cast<ernic::CqeStatus>(cqe.little<uint32_t>(XIO_OFFSETOF(ernic::Cqe, status))));
}

// A received write with immediate data.
constexpr RecordedBytes receive_cqe(
    "a8a7a6a5a4a3a2a1210300000000000081000000000000003412000011223344550000000200000000000000000007000300000000000000"
    "0000000000000000");
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, wr_id), uint64_t{0xa1a2a3a4a5a6a7a8}));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, qp), uint64_t{handle}));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, opcode),
                                static_cast<uint32_t>(ernic::CqeOpcode::receive_rdma_immediate)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, byte_count), 0x1234u));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, immediate), Be32(0x11223344u)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, source_qpn), 0x55u));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, flags), ernic::cqe_flag::immediate));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, slid), uint16_t{7}));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ernic::Cqe, service_level), uint8_t{3}));
static_assert(status_of(receive_cqe).is_ok());

// A write that the remote side denied.
constexpr RecordedBytes denied_cqe(
    "a8a7a6a5a4a3a2a12103000000000000010000000a0000000000000000000000000000000000000099000000000000000000000000000000"
    "0000000000000000");
static_assert(status_of(denied_cqe) == Status(Status::access_denied, 10));
static_assert(denied_cqe.holds(XIO_OFFSETOF(ernic::Cqe, vendor_error), 0x99u));

// A completion queue is polled, and armed.
static_assert(RecordedBytes("c5000080").holds(0, ernic::doorbell(0xc5, ernic::uar_cq_poll)));
static_assert(RecordedBytes("c5000040").holds(0, ernic::doorbell(0xc5, ernic::uar_cq_arm)));
static_assert(RecordedBytes("c5000020").holds(0, ernic::doorbell(0xc5, ernic::uar_cq_arm_solicited)));

}  // namespace

TEST_CASE("a ring's indices run modulo twice its size") {
  for (uint32_t entries = 1; entries <= 64; entries *= 2) {
    uint32_t head = 0;
    uint32_t tail = 0;
    for (uint32_t step = 0; step < 3 * entries; ++step) {
      REQUIRE(ernic::ring_empty(tail, head));
      for (uint32_t i = 0; i < entries; ++i) {
        REQUIRE_FALSE(ernic::ring_full(tail, head, entries));
        tail = ernic::ring_next(tail, entries);
        REQUIRE_FALSE(ernic::ring_empty(tail, head));
      }
      REQUIRE(ernic::ring_full(tail, head, entries));
      tail = head = ernic::ring_next(head, entries);
    }
  }
}

TEST_CASE("the statuses of the verbs") {
  for (uint32_t value = 0; value < 40; ++value) {
    INFO("status " << value);
    const auto status = static_cast<ernic::CqeStatus>(value);
    CHECK(ernic::to_status(status).is_ok() == (value == 0));
    CHECK(ernic::to_status(status).vendor == value);
    CHECK((std::string(ernic::name(status)) == "unknown status") == (value > 21));
  }
  CHECK(ernic::to_status(ernic::CqeStatus::flushed) == Status::flushed);
  CHECK(ernic::to_status(ernic::CqeStatus::transport_retry_exceeded) == Status::retry_exceeded);
  CHECK(ernic::to_status(ernic::CqeStatus::rnr_retry_exceeded) == Status::receiver_not_ready);
  CHECK(ernic::to_status(ernic::CqeStatus::general) == Status::device_error);
  CHECK(std::string(ernic::name(ernic::CqeOpcode::receive)) == "receive");
}

namespace {

using Encoder = ernic::SendEncoder;
constexpr SendShape shape{801, 8, 8, 4, 0, 0, 0};
constexpr SendShape one_sge{801, 8, 7, 1, 0, 0, 0};
constexpr SendShape last_handle{0xffffff, 8, 8, 4, 0, 0, 0};

// The provider passes the number of the verbs, 9, and no key; the kernel's interface has 8.
static_assert(stores<Encoder>(shape, {Operation::send_invalidate, signaled, 0, 0x0badf00d}, pieces(256),
                              {0, recorded::wr_id},
                              "00776655443322110100000000010000"
                              "08000000020000000df0ad0b00000000"
                              "................................"
                              "................................"
                              "................................"
                              "00e0d4c3b2a1007e0001000001bbaa00"));

// The doorbell names the queue pair's handle, and no index.
constexpr uint64_t bell(const SendShape& queue) {
  xio::rdma::ArraySink<8> sink;
  return Encoder::encode(queue, {}, NoPayload{}, {}, sink);
}
static_assert(bell(shape) == 0x40000321 && bell(last_handle) == 0x40ffffff);
static_assert(ernic::ring_index(15, 8) == 15 && ernic::ring_index(16, 8) == 0);

/// What a completion queue entry says.
constexpr xio::rdma::WorkCompletion decoded(ernic::CqeOpcode opcode, uint32_t flags) {
  struct Words {
    uint64_t word[sizeof(ernic::Cqe) / 8];
  };
  ernic::Cqe cqe{};
  cqe.wr_id = 77;
  cqe.qp = 0xabcd0321;
  cqe.opcode = static_cast<uint32_t>(opcode);
  cqe.byte_count = 4096;
  cqe.immediate = xio::Be32(0x11223344u);
  cqe.source_qpn = 18;
  cqe.flags = flags;
  const auto words = __builtin_bit_cast(Words, cqe);
  using Decoder = ernic::CompletionDecoder;
  return Decoder::decode(words.word[Decoder::word_offset / 8], [&](uint32_t offset) { return words.word[offset / 8]; });
}
// Immediate data go as on the wire; a key is an integer.
constexpr auto arrived = decoded(ernic::CqeOpcode::receive_rdma_immediate, ernic::cqe_flag::immediate);
static_assert(arrived.immediate == 0x11223344 && arrived.bytes == 4096 && arrived.source_qpn == 18);
static_assert(arrived.flags == (xio::rdma::receive_flag::immediate | xio::rdma::receive_flag::write));
static_assert(arrived.wr_id == 77 && arrived.qpn == 0x321);
constexpr auto withdrawn = decoded(ernic::CqeOpcode::receive, ernic::cqe_flag::invalidated);
static_assert(withdrawn.immediate == 0x44332211 && withdrawn.flags == xio::rdma::receive_flag::invalidated);

}  // namespace

TEST_CASE("ERNIC: what cannot be posted") {
  CHECK(Encoder::check(shape, {}, pieces(1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(Encoder::check(shape, {}, block(8, 0).data()) == Status::unsupported);
  CHECK(Encoder::check(shape, {}, block(0, 0).data()) == Status::ok);
  CHECK(Encoder::check(shape, {Operation::get}, block(0, 0).data()) == Status::invalid_argument);
  CHECK(Encoder::check(shape, {}, xio::rdma::InlineValue{1}) == Status::unsupported);
  CHECK(Encoder::check(shape, {Operation::local_invalidate}, NoPayload{}) == Status::unsupported);
  CHECK(Encoder::check(shape, {Operation::nop}, NoPayload{}) == Status::unsupported);
  CHECK(Encoder::check(shape, {Operation::compare_swap}, pieces(4).list()) == Status::invalid_argument);
  CHECK(Encoder::check(shape, {}, pieces(0x80000001).list()) == Status::out_of_range);
  // Whatever the queue pair was made with, the entry ends.
  SendShape wide = one_sge;
  wide.max_sges = 4;
  CHECK(Encoder::check(wide, {}, pieces(1, 1, 1).list()) == Status::ok);
  CHECK(Encoder::check(wide, {}, pieces(1, 1, 1, 1).list()) == Status::out_of_range);
}
