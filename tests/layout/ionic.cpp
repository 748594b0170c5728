// SPDX-License-Identifier: MIT
// Pensando DSC: entries and doorbells that rdma-core's provider stored or read (recorded from it), field by field, and
// what the encoder refuses. Most of it is checked by the compiler. Golden files hold what the encoder stores.

#include <string>

#include <xio/vendors/ionic/encode.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/ionic/status.hpp>

#include "catch.hpp"
#include "layout/recorded.hpp"

namespace ionic = xio::ionic;
using namespace xio::rdma::work_flag;
using xio::Be16;
using xio::Be32;
using xio::Be64;
using xio::Status;
using xio::rdma::NoPayload;
using xio::rdma::Operation;
using xio::rdma::SendShape;

namespace {

constexpr bool same(RecordedBytes bytes, uint64_t at, const ionic::BaseHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(ionic::BaseHeader, wqe_index), s.wqe_index) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::BaseHeader, opcode), s.opcode) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::BaseHeader, sges_or_key), s.sges_or_key) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::BaseHeader, flags), s.flags) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::BaseHeader, immediate_key), s.immediate_key);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ionic::RdmaHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(ionic::RdmaHeader, remote_address), s.remote_address) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::RdmaHeader, rkey), s.rkey) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::RdmaHeader, length), s.length);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ionic::Sge& s) {
  return bytes.holds(at + XIO_OFFSETOF(ionic::Sge, address), s.address) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::Sge, length), s.length) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::Sge, lkey), s.lkey);
}
constexpr bool same(RecordedBytes bytes, uint64_t at, const ionic::AtomicHeader& s) {
  return bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, remote_address), s.remote_address) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, rkey), s.rkey) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, swap_add_high), s.swap_add_high) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, swap_add_low), s.swap_add_low) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, compare_high), s.compare_high) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, compare_low), s.compare_low) &&
         bytes.holds(at + XIO_OFFSETOF(ionic::AtomicHeader, lkey), s.lkey);
}

constexpr uint32_t qpn = 0x21b2c3;
constexpr uint32_t lkey = 0x00aabb01;
constexpr Be64 remote_address(0x7f12345678a0bc00);
constexpr Be64 local_address(0x7e00a1b2c3d4e000);
constexpr Be32 rkey(0x00c0ffeeu);
constexpr ionic::Sge sge(uint32_t bytes) { return {local_address, Be32(bytes), Be32(lkey)}; }
constexpr ionic::BaseHeader base(uint8_t opcode, uint32_t flags, uint32_t immediate) {
  return {0, opcode, 1, Be16(static_cast<uint16_t>(flags)), Be32(immediate)};
}
constexpr uint32_t first_lap = ionic::flag::signaled | ionic::flag::color;
constexpr ionic::AtomicHeader atomic(uint32_t key) {
  return {remote_address, rkey, Be32(0x11121314u), Be32(0x15161718u), Be32(0x01020304u), Be32(0x05060708u), Be32(key)};
}

// A write of 256 bytes with immediate data, both versions, and its doorbell.
constexpr RecordedBytes write_v1(
    "000000000000000005010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01");
constexpr RecordedBytes write_v2(
    "000000000000000061010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01");
static_assert(same(write_v1, 0,
                   base(static_cast<uint8_t>(ionic::OpcodeV1::rdma_write_immediate), first_lap, 0x11223344)));
static_assert(same(write_v2, 0,
                   base(static_cast<uint8_t>(ionic::OpcodeV2::rdma_write_immediate), first_lap, 0x11223344)));
static_assert(same(write_v1, 16, ionic::RdmaHeader{remote_address, rkey, Be32(256u)}));
static_assert(same(write_v1, ionic::payload_offset, sge(256)));
static_assert(RecordedBytes("010000c3b2210000").holds(0, ionic::doorbell(qpn, 1)));

// Compare-and-swap: version 1 has a pointer, version 2 a local key and address.
constexpr RecordedBytes swap_v1(
    "000000000000000006010018000000007f12345678a0bc0000c0ffee11121314151617180102030405060708000000007e00a1b2c3d4e000"
    "0000000800aabb01");
constexpr RecordedBytes swap_v2(
    "000000000000000004010019000000007f12345678a0bc0000c0ffee1112131415161718010203040506070800aabb017e00a1b2c3d4e000"
    "0000000000000000");
static_assert(same(swap_v1, 0, base(static_cast<uint8_t>(ionic::OpcodeV1::compare_swap), first_lap, 0)));
static_assert(same(swap_v2, 0,
                   base(static_cast<uint8_t>(ionic::OpcodeV2::compare_swap), first_lap | ionic::flag::fence, 0)));
static_assert(same(swap_v1, XIO_OFFSETOF(ionic::AtomicWqeV1, atomic), atomic(0)));
static_assert(same(swap_v2, XIO_OFFSETOF(ionic::AtomicWqeV2, atomic), atomic(lkey)));
static_assert(same(swap_v1, XIO_OFFSETOF(ionic::AtomicWqeV1, sge), sge(8)));
static_assert(swap_v2.holds(XIO_OFFSETOF(ionic::AtomicWqeV2, local_address), local_address));
static_assert(swap_v2.holds(XIO_OFFSETOF(ionic::AtomicWqeV2, express_doorbell), uint64_t{0}));

// The last 8 bytes of an entry in controller memory, send queue type 3.
static_assert(RecordedBytes("010058c3b2210300").holds(0, ionic::express_doorbell(3, qpn, 1)));

// A receive of 128 bytes.
constexpr RecordedBytes receive(
    "00000000000000000001000000000080000000000000000000000000000000007e00a1b2c3d4e0000000008000aabb01");
static_assert(same(receive, 0, base(0, 0, 128)) && same(receive, ionic::payload_offset, sge(128)));

constexpr uint32_t word_of(RecordedBytes cqe) { return cqe.big<uint32_t>(XIO_OFFSETOF(ionic::SendCqe, word)); }
constexpr ionic::CqeType type_of(RecordedBytes cqe) {
  return static_cast<ionic::CqeType>(word_of(cqe) >> ionic::cqe_word::type_shift & ionic::cqe_word::type_mask);
}
constexpr Status status_of(RecordedBytes cqe) {
  return ionic::to_status(word_of(cqe), cqe.big<uint32_t>(XIO_OFFSETOF(ionic::SendCqe, status_length)));
}

// One message done; the first one denied by the remote side; the queue being flushed; an error without a status.
constexpr RecordedBytes done_cqe("0000000000000001000000000000000000000000000000000000000021b2c341");
static_assert(done_cqe.holds(XIO_OFFSETOF(ionic::SendCqe, message_number), Be32(1u)));
static_assert(word_of(done_cqe) >> ionic::cqe_word::qid_shift == qpn && type_of(done_cqe) == ionic::CqeType::send_msn);
static_assert((word_of(done_cqe) & ionic::cqe_word::color) == ionic::expected_color(0) && status_of(done_cqe).is_ok());
constexpr RecordedBytes denied_cqe("0000000000000001000000000000000000000000000000000000000921b2c343");
static_assert(status_of(denied_cqe) == Status(Status::access_denied, 9));
constexpr RecordedBytes flush_cqe("0000000000000000000000000000000000000000000000000000000421b2c363");
static_assert(type_of(flush_cqe) == ionic::CqeType::send_npg && status_of(flush_cqe) == Status(Status::flushed, 4));
constexpr RecordedBytes strange_cqe("0000000000000001000000000000000000000000000000000000000021b2c343");
static_assert(status_of(strange_cqe) == Status(Status::device_error, 0));

// Received: a send with immediate data, and one with source and timestamp.
constexpr RecordedBytes receive_cqe("0000000000000000020000000000000000000000112233440000000c21b2c321");
static_assert(type_of(receive_cqe) == ionic::CqeType::receive);
static_assert(receive_cqe.holds(XIO_OFFSETOF(ionic::ReceiveCqe, immediate_key), Be32(0x11223344u)));
static_assert(receive_cqe.holds(XIO_OFFSETOF(ionic::ReceiveCqe, status_length), Be32(12u)));
static_assert((receive_cqe.big<uint32_t>(XIO_OFFSETOF(ionic::ReceiveCqe, source_operation)) >>
                   ionic::receive_operation_shift &
               ionic::receive_operation_mask) == static_cast<uint32_t>(ionic::ReceiveOperation::send_immediate));
constexpr RecordedBytes source_cqe("0000ab8967452301001234560000000000000000000000000000000921b2c321");
static_assert((source_cqe.big<uint32_t>(XIO_OFFSETOF(ionic::ReceiveCqe, source_operation)) & ionic::receive_qpn_mask) ==
              0x123456);
static_assert(source_cqe.little<uint64_t>(XIO_OFFSETOF(ionic::ReceiveCqe, index_timestamp)) >>
                  ionic::cqe_timestamp_shift ==
              0x0123456789ab);

// A completion queue at index 5 gives entries back, and is armed for solicited completions the fourth time.
static_assert(RecordedBytes("0500005604000000").holds(0, ionic::doorbell(0x456, 5)));
static_assert(RecordedBytes("0400025604000000").holds(0, ionic::doorbell(0x456, 4, ionic::ring_arm_solicited_only)));
static_assert(RecordedBytes("0100015604000000").holds(0, ionic::doorbell(0x456, 1, ionic::ring_arm_any)));

}  // namespace

TEST_CASE("an error is never a success", "[H16]") {
  for (uint32_t value = 0; value < 300; ++value) {
    INFO("status " << value);
    CHECK(ionic::to_status(0, value).is_ok());
    const Status status = ionic::to_status(ionic::cqe_word::error, value);
    CHECK(status.from_device());
    CHECK(status.vendor == value);
    CHECK((status == Status::device_error) == (value == 0 || value >= 13));
    CHECK((std::string(ionic::name(static_cast<ionic::CqeStatus>(value))) == "unknown status") == (value > 13));
  }
  CHECK(ionic::to_status(ionic::cqe_word::error, 0x10004) == Status::device_error);
  CHECK(ionic::to_status(ionic::cqe_word::error, 11) == Status::retry_exceeded);
  CHECK(ionic::to_status(ionic::cqe_word::error, 12) == Status::receiver_not_ready);
  CHECK(std::string(ionic::name(ionic::CqeType::send_msn)) == "send, by message number");
}

namespace {

using First = ionic::SendEncoder<ionic::Version::v1>;
using Spec8 = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::up_to_8>;
using Spec16 = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::up_to_16>;
using Express = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::none, true>;
constexpr SendShape with(uint32_t entries, uint32_t shift, uint32_t max_sges) {
  return {2208451, entries, shift, max_sges, (1u << shift) - 32, 0, 3};
}
constexpr SendShape bytes128 = with(32, 7, 6);
constexpr SendShape bytes256 = with(32, 8, 14);
constexpr SendShape deep = with(65536, 6, 2);
constexpr SendShape express64 = with(64, 6, 1);
constexpr SendShape express128 = with(32, 7, 5);

// Doorbells: the index after the entry.
template <class Encoder>
constexpr uint64_t bell(const SendShape& shape, uint64_t index) {
  xio::rdma::ArraySink<16> sink;
  return Encoder::encode(shape, {}, NoPayload{}, {index}, sink);
}
static_assert(bell<First>(bytes128, 0) == 0x21b2c3'000001 && bell<First>(bytes128, 31) == 0x21b2c3'000000);
static_assert(bell<First>(deep, 65535) == 0x21b2c3'000000);

}  // namespace

TEST_CASE("Pensando: what cannot be posted") {
  CHECK(First::check(bytes128, {Operation::put, solicited}, NoPayload{}) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::put_immediate, solicited}, NoPayload{}) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1, 1, 1, 1, 1, 1).list()) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1, 1, 1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(First::check(bytes128, {}, block(97, 0).data()) == Status::out_of_range);
  CHECK(First::check(bytes128, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::fetch_add}, pieces(16).list()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::fetch_add}, pieces(4, 4).list()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {}, pieces(1u << 30, 1u << 30).list()) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1u << 30, (1u << 30) + 1).list()) == Status::out_of_range);
  CHECK(Express::check(express64, {}, block(24, 0).data()) == Status::ok);
  CHECK(Express::check(express64, {}, block(25, 0).data()) == Status::out_of_range);
  // The doorbell would lie on the pointer's key.
  CHECK(Express::check(express64, {Operation::fetch_add}, pieces(8).list()) == Status::unsupported);
  CHECK(Express::check(express128, {Operation::fetch_add}, pieces(8).list()) == Status::ok);
  CHECK(Spec16::check(bytes256, {}, pieces(65536, 8, 8, 8, 8, 8, 8, 8, 8).list()) == Status::out_of_range);
  CHECK(Spec16::check(bytes256, {}, pieces(65536, 8, 8, 8, 8, 8, 8, 8).list()) == Status::ok);
  CHECK(Spec8::check(bytes256, {}, pieces(8, 8, 8, 8, 8, 8, 8, 8, 8).list()) == Status::out_of_range);
  // Lengths before the pointers take the room of two of them.
  CHECK(Spec8::check(bytes128, {}, pieces(8, 8, 8, 8, 8).list()) == Status::out_of_range);
}
