// SPDX-License-Identifier: MIT
// NetXtreme-E: entries, tables and doorbells that rdma-core's provider stored or read (recorded from it), field by
// field, and what the encoder refuses. Most of it is checked by the compiler. Golden files hold what the encoder
// stores.

#include <string>

#include <xio/vendors/bnxt/decode.hpp>
#include <xio/vendors/bnxt/encode.hpp>
#include <xio/vendors/bnxt/layout.hpp>
#include <xio/vendors/bnxt/status.hpp>

#include "catch.hpp"
#include "layout/recorded.hpp"

namespace bnxt = xio::bnxt;
using namespace xio::rdma::work_flag;
using recorded::stores;
using xio::Status;
using xio::rdma::NoPayload;
using xio::rdma::Operation;
using xio::rdma::SendShape;

namespace {

constexpr bool same(RecordedBytes bytes, uint64_t at, const bnxt::SqHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(bnxt::SqHeader, type_flags_slots), s.type_flags_slots) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::SqHeader, immediate_key), s.immediate_key) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::SqHeader, lower), s.lower);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const bnxt::RdmaHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(bnxt::RdmaHeader, remote_address), s.remote_address) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::RdmaHeader, rkey), s.rkey);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const bnxt::AtomicHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(bnxt::AtomicHeader, swap_add), s.swap_add) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::AtomicHeader, compare), s.compare);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const bnxt::Sge& s) {
  return bytes.holds(at + XIO_OFFSETOF(bnxt::Sge, address), s.address) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::Sge, lkey), s.lkey) &&
         bytes.holds(at + XIO_OFFSETOF(bnxt::Sge, length), s.length);
}

constexpr uint32_t qpn = 662316;
constexpr uint32_t cqn = 0x34567;
constexpr uint64_t remote_address = 0x7f12345678a0bc00;
constexpr uint32_t rkey = 0x00c0ffee;
constexpr bnxt::Sge sge(uint32_t bytes) { return {0x7e00a1b2c3d4e000, 0x00aabb01, bytes}; }
constexpr uint32_t first_psn = 11256099;

// A write of 256 bytes with immediate data: two headers and one pointer; 8 slots later comes the next entry.
constexpr RecordedBytes write_immediate(
    "0501030044332211000100000000000000bca0785634127feeffc0000000000000e0d4c3b2a1007e01bbaa0000010000");
static_assert(same(write_immediate, 0,
                   bnxt::SqHeader{bnxt::header_word(bnxt::WqeType::rdma_write_immediate, bnxt::wqe_flag::signaled, 3),
                                  0x11223344, 256}));
static_assert(same(write_immediate, 16, bnxt::RdmaHeader{remote_address, rkey, 0}));
static_assert(same(write_immediate, bnxt::header_slots* bnxt::slot_bytes, sge(256)));
// Its entries in the three kinds of table, and its doorbell.
constexpr RecordedBytes psn_entry("23c1ab0024c1ab000000");
static_assert(RecordedBytes("23c1ab24c1ab0000").holds(0, bnxt::msn_entry(first_psn, first_psn + 1, 0)));
static_assert(RecordedBytes("24c1ab25c1ab0100").holds(0, bnxt::msn_entry(first_psn + 1, first_psn + 2, 1)));
static_assert(psn_entry.holds(XIO_OFFSETOF(bnxt::PsnEntry, opcode_start), first_psn));
static_assert(psn_entry.holds(XIO_OFFSETOF(bnxt::PsnEntry, flags_next), first_psn + 1));
static_assert(psn_entry.holds(XIO_OFFSETOF(bnxt::ExtendedPsnEntry, start_slot), uint16_t{0}));
static_assert(RecordedBytes("010000002c1b0a04").holds(0, bnxt::doorbell(bnxt::DoorbellType::sq, qpn, 1, 0)));

// Compare-and-swap: the remote address stands in the first header.
constexpr RecordedBytes compare_swap(
    "08010300eeffc00000bca0785634127f1817161514131211080706050403020100e0d4c3b2a1007e01bbaa0008000000");
static_assert(same(compare_swap, 0,
                   bnxt::SqHeader{bnxt::header_word(bnxt::WqeType::compare_swap, bnxt::wqe_flag::signaled, 3), rkey,
                                  remote_address}));
static_assert(same(compare_swap, 16, bnxt::AtomicHeader{0x1112131415161718, 0x0102030405060708}));
static_assert(same(compare_swap, 32, sge(8)));

// A receive of 128 bytes.
constexpr RecordedBytes receive("80000300000000000000000000000000");
static_assert(receive.holds(XIO_OFFSETOF(bnxt::RqHeader, type_flags_slots),
                            bnxt::header_word(bnxt::WqeType::receive, 0, 3)));
static_assert(receive.holds(XIO_OFFSETOF(bnxt::RqHeader, wr_id), 0u));
static_assert(same(RecordedBytes("00e0d4c3b2a1007e01bbaa0080000000"), 0, sge(128)));
static_assert(RecordedBytes("010000002c1b0a14").holds(0, bnxt::doorbell(bnxt::DoorbellType::rq, qpn, 1, 0)));

// What a completion queue entry's word says.
constexpr uint32_t word_of(RecordedBytes cqe) { return cqe.little<uint32_t>(XIO_OFFSETOF(bnxt::RequesterCqe, word)); }
constexpr bnxt::CqeType type_of(RecordedBytes cqe) {
  return static_cast<bnxt::CqeType>(word_of(cqe) >> bnxt::cqe_word::type_shift & bnxt::cqe_word::type_mask);
}
constexpr uint32_t status_of(RecordedBytes cqe) {
  return word_of(cqe) >> bnxt::cqe_word::status_shift & bnxt::cqe_word::status_mask;
}
constexpr uint32_t phase_of(RecordedBytes cqe) { return word_of(cqe) & bnxt::cqe_word::phase; }

// A write that the remote side denied; the queue's doorbell after it.
constexpr RecordedBytes error_cqe("901db2e5ff7f0000010000000000000000000000000000000107000000000000");
static_assert(error_cqe.holds(XIO_OFFSETOF(bnxt::RequesterCqe, qp_handle), uint64_t{0x00007fffe5b21d90}));
static_assert(error_cqe.holds(XIO_OFFSETOF(bnxt::RequesterCqe, consumer_index), 1u));
static_assert(type_of(error_cqe) == bnxt::CqeType::requester && phase_of(error_cqe) == bnxt::expected_phase(0));
static_assert(bnxt::to_status(static_cast<bnxt::RequesterStatus>(status_of(error_cqe))) ==
              Status(Status::access_denied, 7));
static_assert(RecordedBytes("0100000067450344").holds(0, bnxt::doorbell(bnxt::DoorbellType::cq, cqn, 1, 0)));

// The second lap: phase 0, epoch 1.
constexpr RecordedBytes second_lap("906d9be5ff7f0000010000000000000000000000000000000000000000000000");
static_assert(phase_of(second_lap) == bnxt::expected_phase(1) && status_of(second_lap) == 0);
static_assert(RecordedBytes("0600000167450344").holds(0, bnxt::doorbell(bnxt::DoorbellType::cq, cqn, 6, 1)));

// A received send with immediate data, and a receive that failed.
constexpr RecordedBytes receive_cqe("0c00000044332211903d95e5ff7f000000000000000000000300020000000000");
static_assert(receive_cqe.holds(XIO_OFFSETOF(bnxt::ResponderCqe, length), 12u));
static_assert(receive_cqe.holds(XIO_OFFSETOF(bnxt::ResponderCqe, immediate_key), 0x11223344u));
static_assert(receive_cqe.holds(XIO_OFFSETOF(bnxt::ResponderCqe, qp_handle), uint64_t{0x00007fffe5953d90}));
static_assert(type_of(receive_cqe) == bnxt::CqeType::responder_rc && status_of(receive_cqe) == 0);
static_assert(word_of(receive_cqe) >> bnxt::cqe_word::flags_shift == bnxt::response_flag::immediate);
constexpr RecordedBytes receive_error("000000000000000090fd8ce5ff7f000000000000000000000301000000000000");
static_assert(bnxt::to_status(static_cast<bnxt::ResponderStatus>(status_of(receive_error))) ==
              Status(Status::access_denied, 1));

// Arming for any completion at index 17 of the second lap, toggle 1.
static_assert(
    RecordedBytes("1100000367450364").holds(0, bnxt::doorbell(bnxt::DoorbellType::cq_arm_all, cqn, 17, 1, 1)));

// H12: the largest inline message fills an entry of static mode.
static_assert(bnxt::max_inline_bytes == (bnxt::static_wqe_slots - bnxt::header_slots) * bnxt::slot_bytes);

}  // namespace

TEST_CASE("requester and responder number their statuses differently") {
  for (uint32_t value = 0; value < 256; ++value) {
    INFO("status " << value);
    const auto requester = static_cast<bnxt::RequesterStatus>(value);
    const auto responder = static_cast<bnxt::ResponderStatus>(value);
    CHECK(bnxt::to_status(requester).is_ok() == (value == 0));
    CHECK(bnxt::to_status(responder).is_ok() == (value == 0));
    CHECK(bnxt::to_status(requester).vendor == value);
    CHECK(bnxt::to_status(responder).vendor == value);
    CHECK((bnxt::to_status(requester) == Status::device_error) == (value > 0x0b));
    CHECK((bnxt::to_status(responder) == Status::device_error) == (value > 0x08));
    CHECK((std::string(bnxt::name(requester)) == "unknown status") == (value > 0x0b));
    CHECK((std::string(bnxt::name(responder)) == "unknown status") == (value > 0x08));
  }
  CHECK(bnxt::to_status(static_cast<bnxt::RequesterStatus>(7)) == Status::access_denied);
  CHECK(bnxt::to_status(static_cast<bnxt::ResponderStatus>(7)) == Status::flushed);
  CHECK(bnxt::to_status(bnxt::RequesterStatus::flushed) == Status::flushed);
  CHECK(bnxt::to_status(bnxt::RequesterStatus::rnr_retry_exceeded) == Status::receiver_not_ready);
  CHECK(bnxt::to_status(bnxt::RequesterStatus::transport_retry_exceeded) == Status::retry_exceeded);
  CHECK(bnxt::to_status(bnxt::ResponderStatus::hardware_flush) == Status::flushed);
  CHECK(std::string(bnxt::name(bnxt::CqeType::terminal)) == "terminal");
}

namespace {

using Fixed = bnxt::SendEncoder<bnxt::WqeMode::fixed>;
using Variable = bnxt::SendEncoder<bnxt::WqeMode::variable>;
constexpr SendShape with_entries(uint32_t entries) { return {662316, entries, 0, 4, 96, 10, 0}; }
constexpr SendShape fixed = with_entries(256);
constexpr SendShape variable = with_entries(2048);

// rdma-core has no number for it, and stores 0xff; the device's is 2.
static_assert(stores<Fixed>(fixed, {Operation::send_invalidate, signaled, 0, 0x0badf00d}, pieces(256), {},
                            "020103000df0ad0b0001000000000000................................"
                            "00e0d4c3b2a1007e01bbaa0000010000"));

// Tables: a read of three packets after 23 c1 ab.
template <bnxt::SideTableKind Kind>
constexpr uint64_t table_word(uint32_t i, Operation operation, uint32_t psn, uint32_t packets, uint32_t index) {
  using Table = bnxt::SideTable<Kind>;
  return Table::word(i, operation, psn, Table::next_psn(psn, packets), index);
}
static_assert(table_word<bnxt::SideTableKind::psn8>(0, Operation::get, 0xabc127, 1, 9) == 0x00abc128'04abc127);
static_assert(table_word<bnxt::SideTableKind::psn16>(0, Operation::fetch_add, 0xabc128, 1, 2) == 0x00abc129'06abc128);
static_assert(table_word<bnxt::SideTableKind::psn16>(1, Operation::fetch_add, 0xabc128, 1, 2) == 2);
static_assert(table_word<bnxt::SideTableKind::psn8>(0, Operation::send_invalidate, 0xffffff, 2, 0) ==
              0x00000001'09ffffff);
static_assert(table_word<bnxt::SideTableKind::msn>(0, Operation::put, 0xabc123, 1, 255) == 0x00ff'abc124'abc123);
using Table = bnxt::SideTable<bnxt::SideTableKind::msn>;
static_assert(Table::packets(0, 10) == 1 && Table::packets(1, 10) == 1 && Table::packets(1024, 10) == 1);
static_assert(Table::packets(1025, 10) == 2 && Table::packets(0x7fffffff, 8) == 0x800000);
static_assert(Table::index(77, 257, 256) == 1 && bnxt::SideTable<bnxt::SideTableKind::psn8>::index(77, 257, 0) == 77);

// Positions, in rings of powers of two and others.
constexpr bool at(uint64_t counter, uint32_t entries, uint32_t index, uint32_t epoch) {
  const bnxt::RingPosition position = bnxt::ring_position(counter, entries);
  return position.index == index && position.epoch == epoch;
}
static_assert(at(255, 256, 255, 0) && at(256, 256, 0, 1) && at(512, 256, 0, 0) && at(0x1'0000'0100, 256, 0, 1));
static_assert(at(138, 139, 138, 0) && at(139, 139, 0, 1) && at(2 * 139, 139, 0, 0) && at(769, 768, 1, 1));

// Doorbells: entry 255 is the last of a lap; the recorded ones around the copy of an inline entry.
template <class Encoder>
constexpr uint64_t bell(const SendShape& shape, uint64_t index) {
  xio::rdma::ArraySink<8> sink;
  return Encoder::encode(shape, {}, NoPayload{}, {index}, sink);
}
static_assert(bell<Fixed>(fixed, 0) == 0x040a1b2c'00000001 && bell<Fixed>(fixed, 255) == 0x040a1b2c'01000000);
static_assert(bell<Variable>(variable, 4) == 0x040a1b2c'00000006 &&
              bell<Variable>(variable, 2047) == 0x040a1b2c'01000001);
static_assert(bnxt::push_doorbell(bnxt::DoorbellType::push_start, 662316, 3, 291) == 0xc41a1b2c'23000003);
static_assert(bnxt::push_doorbell(bnxt::DoorbellType::push_end, 662316, 6, 291) == 0xd41a1b2c'23000006);
static_assert(bnxt::doorbell_at(bnxt::DoorbellType::cq, 0x34567, 258, 256) == 0x44034567'01000002);

// A received key, which rdma-core does not report: its CPU's order is the entry's.
constexpr uint64_t key_cqe[4] = {0x0000c0de'00000005, 0x00007fff'e5911d90, 0, 0x00000000'00040003};
constexpr auto key = bnxt::CompletionDecoder::decode(key_cqe[3], [](uint32_t offset) { return key_cqe[offset / 8]; });
static_assert(bnxt::CompletionDecoder::is_new(key_cqe[3], 0, 256) &&
              !bnxt::CompletionDecoder::is_new(key_cqe[3], 256, 256));
static_assert(key.kind == xio::rdma::CompletionKind::receive && key.bytes == 5 && key.queue == 0x7fffe5911d90);
static_assert(key.flags == xio::rdma::receive_flag::invalidated && key.immediate == 0xc0de);

// Receives: without a piece of memory, the entry has one of length 0.
constexpr xio::rdma::ReceiveShape receives_of{662316, 16, 7, 4};
static_assert(recorded::receives<bnxt::ReceiveEncoder>(receives_of, pieces(), {17},
                                                       "80000300........01000000........"
                                                       "................................"
                                                       "........................00000000"));

}  // namespace

TEST_CASE("NetXtreme-E: what cannot be posted") {
  CHECK(Fixed::check(fixed, {}, pieces(1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(Fixed::check(fixed, {}, block(97, 0).data()) == Status::out_of_range);
  CHECK(Fixed::check(fixed, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(Fixed::check(fixed, {Operation::local_invalidate}, NoPayload{}) == Status::unsupported);
  CHECK(Fixed::check(fixed, {Operation::fetch_add}, pieces(16).list()) == Status::invalid_argument);
  CHECK(Fixed::check(fixed, {}, pieces(0x80000000).list()) == Status::out_of_range);
  CHECK(Fixed::check(fixed, {}, pieces(0x7fffffff).list()) == Status::ok);
  // An entry of static mode has six slots for data, whatever the queue pair was made with.
  SendShape wide = fixed;
  wide.max_sges = 12;
  wide.max_inline = 200;
  CHECK(Fixed::check(wide, {}, pieces(1, 1, 1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(Fixed::check(wide, {}, block(97, 0).data()) == Status::out_of_range);
  CHECK(Variable::check(wide, {}, block(97, 0).data()) == Status::ok);
}

TEST_CASE("NetXtreme-E: units") {
  CHECK(Fixed::units(fixed, {}, pieces(1, 1).list()) == 1);
  CHECK(Variable::units(variable, {}, pieces(1, 1).list()) == 4);
  CHECK(Variable::units(variable, {}, block(17, 0).data()) == 4);
  CHECK(Variable::units(variable, {}, NoPayload{}) == 2);
}
