// SPDX-License-Identifier: MIT
// Soft-RoCE: what no header of the system says, and what the encoder stores, field by field at the offsets of the
// kernel's interface. Nothing was recorded. Offsets and numbers are compared in rdma_parity.

#include <cstring>
#include <string>

#include <xio/vendors/rxe/decode.hpp>
#include <xio/vendors/rxe/encode.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

#include "catch.hpp"
#include "layout/recorded.hpp"

namespace rxe = xio::rxe;
using namespace xio::rdma::work_flag;
using xio::Be32;
using xio::Status;
using xio::rdma::NoPayload;
using xio::rdma::OneSge;
using xio::rdma::Operation;
using xio::rdma::SendShape;
using xio::rdma::Work;

// In C, the pointers follow the 24 bytes of the state: entry 208, receive 40. H35: in C++ the UAPI's list is 8 bytes
// off.
static_assert(XIO_OFFSETOF(rxe::SendWqe, dma) + sizeof(rxe::DmaState) == 208 && sizeof(rxe::SendWqe) == 208);
static_assert(XIO_OFFSETOF(rxe::ReceiveWqe, dma) + sizeof(rxe::DmaState) == 40 && sizeof(rxe::ReceiveWqe) == 40);

TEST_CASE("pointers follow an entry at once", "[H35]") {
  struct {
    rxe::SendWqe wqe;
    rxe::Sge sges[2];
  } entry{};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&entry);
  entry.wqe.header.immediate = Be32(0x11223344u);
  entry.sges[0].lkey = 0x01020304;
  CHECK((bytes[20] == 0x11 && bytes[23] == 0x44));
  uint32_t lkey = 0;
  std::memcpy(&lkey, bytes + 208 + 12, sizeof lkey);
  CHECK(lkey == 0x01020304);
}

TEST_CASE("the statuses of the verbs mean the same to the caller") {
  for (uint32_t value = 0; value < 40; ++value) {
    INFO("status " << value);
    const auto status = static_cast<rxe::CqeStatus>(value);
    CHECK(rxe::to_status(status).is_ok() == (value == 0));
    CHECK(rxe::to_status(status).vendor == value);
    CHECK((std::string(rxe::name(status)) == "unknown status") == (value > 21));
  }
  CHECK(rxe::to_status(rxe::CqeStatus::remote_access) == Status::access_denied);
  CHECK(rxe::to_status(rxe::CqeStatus::flushed) == Status::flushed);
  CHECK(rxe::to_status(rxe::CqeStatus::transport_retry_exceeded) == Status::retry_exceeded);
  CHECK(rxe::to_status(rxe::CqeStatus::local_protection) == Status::bad_address);
  CHECK(std::string(rxe::name(rxe::CqeOpcode::local_invalidate)) == "local invalidate");
}

namespace {

using Encoder = rxe::SendEncoder;
constexpr SendShape shape{17, 64, 9, 4, 64, 0, 0};

/// Sink of the encoder: records which words were stored.
struct WordSink {
  uint64_t word[64]{};
  bool stored[64]{};

  constexpr void put8(uint32_t i, uint64_t value) {
    word[i] = value;
    stored[i] = true;
  }
};

/// An entry as it lies in memory.
struct Entry {
  WordSink sink;

  constexpr uint8_t byte(uint32_t at) const { return static_cast<uint8_t>(sink.word[at / 8] >> at % 8 * 8); }
  template <class Word>
  constexpr Word little(uint32_t at) const {
    uint64_t value = 0;
    for (uint32_t i = sizeof(Word); i-- > 0;) value = value << 8 | byte(at + i);
    return static_cast<Word>(value);
  }
  /// Whether exactly the words of `from` to `to` (bytes) were stored.
  constexpr bool stored(uint32_t from, uint32_t to) const {
    for (uint32_t i = from / 8; i < to / 8; ++i) {
      if (!sink.stored[i]) return false;
    }
    return true;
  }
  constexpr bool zero(uint32_t from, uint32_t to) const {
    for (uint32_t i = from; i < to; ++i) {
      if (byte(i) != 0) return false;
    }
    return stored(from, to);
  }
};

template <class Payload>
constexpr Entry entry(const Work& work, const Payload& payload, uint64_t index = 0) {
  Entry result;
  Encoder::encode(shape, work, payload, {index, recorded::wr_id}, result.sink);
  return result;
}
constexpr Work remote(Operation operation, uint32_t flags = 0) {
  return {operation, flags, recorded::rkey, 0, recorded::remote};
}

// A write of two pieces.
constexpr RecordedPieces two = pieces(256, 100);
constexpr Entry write = entry(remote(Operation::put, signaled), two.list(), 0x1'0000'0005);
static_assert(write.little<uint64_t>(0) == recorded::wr_id && write.little<uint32_t>(12) == 0);
static_assert(write.little<uint32_t>(16) == 2 && write.little<uint32_t>(20) == 0);
static_assert(write.little<uint64_t>(24) == recorded::remote && write.little<uint32_t>(32) == recorded::rkey);
static_assert(write.zero(144, 152) && write.little<uint64_t>(152) == recorded::remote);
static_assert(write.zero(160, 176) && write.little<uint32_t>(176) == 5 && write.little<uint32_t>(180) == 0);
static_assert(write.little<uint32_t>(184) == 356 && write.little<uint32_t>(188) == 356);
static_assert(write.little<uint32_t>(192) == 0 && write.little<uint32_t>(196) == 2 && write.zero(200, 208));
static_assert(write.little<uint64_t>(208) == two.sge[0].address && write.little<uint32_t>(216) == 256 &&
              write.little<uint32_t>(220) == two.sge[0].lkey);
static_assert(write.little<uint64_t>(224) == two.sge[1].address && write.little<uint32_t>(232) == 100 &&
              write.little<uint32_t>(236) == two.sge[1].lkey);
static_assert(!write.sink.stored[240 / 8], "the entry ends with its last pointer");

// Operations and flags have the numbers of the verbs.
constexpr uint32_t opcode(Operation operation) { return entry(remote(operation), two.list()).little<uint32_t>(12); }
static_assert(opcode(Operation::put) == 0 && opcode(Operation::put_immediate) == 1 && opcode(Operation::send) == 2);
static_assert(opcode(Operation::send_immediate) == 3 && opcode(Operation::get) == 4);
static_assert(opcode(Operation::compare_swap) == 5 && opcode(Operation::fetch_add) == 6);
static_assert(opcode(Operation::local_invalidate) == 7 && opcode(Operation::send_invalidate) == 9);
static_assert(entry({Operation::send, fence | solicited}, NoPayload{}).little<uint32_t>(16) == 5);

// Immediate data go as on the wire; a key is an integer.
constexpr Entry immediate = entry({Operation::send_immediate, 0, 0, 0x11223344}, NoPayload{});
static_assert(immediate.byte(20) == 0x11 && immediate.byte(23) == 0x44);
constexpr Entry invalidate = entry({Operation::send_invalidate, 0, 0, 0x0badf00d}, NoPayload{});
static_assert(invalidate.little<uint32_t>(20) == 0x0badf00d);
static_assert(invalidate.little<uint32_t>(184) == 0 && invalidate.little<uint32_t>(196) == 0);

// Atomics: compare-and-swap compares before it swaps, fetch-and-add has its operand in the place of the comparison.
constexpr OneSge result{{0x7e0000001000, 8, 0x77}};
constexpr Entry swap = entry({Operation::compare_swap, 0, recorded::rkey, 0, recorded::remote, 22, 11}, result);
static_assert(swap.little<uint64_t>(24) == recorded::remote && swap.little<uint64_t>(32) == 11);
static_assert(swap.little<uint64_t>(40) == 22 && swap.little<uint32_t>(48) == recorded::rkey);
static_assert(swap.little<uint64_t>(152) == recorded::remote && swap.little<uint32_t>(184) == 8);
constexpr Entry add = entry({Operation::fetch_add, 0, recorded::rkey, 0, recorded::remote, 5, 9}, result);
static_assert(add.little<uint64_t>(32) == 5 && add.little<uint64_t>(40) == 0);

// Inline data stand in the place of the pointers.
constexpr RecordedBlock data = block(13, 0x10);
constexpr Entry inlined = entry(remote(Operation::put), data.data());
static_assert(inlined.little<uint32_t>(16) == 8 && inlined.little<uint32_t>(184) == 13);
static_assert(inlined.byte(208) == 0x10 && inlined.byte(220) == 0x10 + 12 * 7 && inlined.stored(208, 224));
static_assert(inlined.little<uint32_t>(196) == 0);
constexpr Entry value = entry(remote(Operation::put), xio::rdma::InlineValue{0x0123456789abcdef});
static_assert(value.little<uint64_t>(208) == 0x0123456789abcdef && !value.sink.stored[216 / 8]);

// Receives.
constexpr Entry receive(const RecordedPieces& data_of) {
  Entry made;
  rxe::ReceiveEncoder::encode({17, 64, 7, 4}, data_of.list(), {0, recorded::wr_id}, made.sink);
  return made;
}
constexpr Entry received = receive(pieces(64, 65));
static_assert(received.little<uint64_t>(0) == recorded::wr_id && received.zero(8, 16));
static_assert(received.little<uint32_t>(16) == 129 && received.little<uint32_t>(20) == 129);
static_assert(received.little<uint32_t>(24) == 0 && received.little<uint32_t>(28) == 2 && received.zero(32, 40));
static_assert(received.little<uint64_t>(40) == two.sge[0].address && received.little<uint32_t>(64) == 65);

/// What a completion queue entry says.
constexpr xio::rdma::WorkCompletion decoded(const rxe::Cqe& cqe) {
  struct Words {
    uint64_t word[sizeof(rxe::Cqe) / 8];
  };
  const auto words = __builtin_bit_cast(Words, cqe);
  using Decoder = rxe::CompletionDecoder<>;
  return Decoder::decode(words.word[Decoder::word_offset / 8], [&](uint32_t offset) { return words.word[offset / 8]; });
}
constexpr rxe::Cqe cqe(rxe::CqeOpcode what, uint32_t flags) {
  rxe::Cqe made{};
  made.wr_id = 77;
  made.opcode = static_cast<uint32_t>(what);
  made.byte_count = 4096;
  made.immediate = xio::Be32(0x11223344u);
  made.qpn = 17;
  made.source_qpn = 18;
  made.flags = flags;
  return made;
}
constexpr auto arrived = decoded(cqe(rxe::CqeOpcode::receive_rdma_immediate, rxe::cqe_flag::immediate));
static_assert(arrived.kind == xio::rdma::CompletionKind::receive && arrived.wr_id == 77 && arrived.bytes == 4096);
static_assert(arrived.immediate == 0x11223344 && arrived.qpn == 17 && arrived.source_qpn == 18);
static_assert(arrived.flags == (xio::rdma::receive_flag::immediate | xio::rdma::receive_flag::write));
constexpr auto withdrawn = decoded(cqe(rxe::CqeOpcode::receive, rxe::cqe_flag::invalidated));
static_assert(withdrawn.immediate == 0x44332211 && withdrawn.flags == xio::rdma::receive_flag::invalidated);
constexpr auto ended = decoded(cqe(rxe::CqeOpcode::rdma_read, 0));
static_assert(ended.kind == xio::rdma::CompletionKind::send && ended.wr_id == 77 && ended.status.is_ok());
static_assert(!rxe::CompletionDecoder<>::is_new(3, 67, 64) && rxe::CompletionDecoder<>::is_new(4, 67, 64));

}  // namespace

TEST_CASE("Soft-RoCE: what cannot be posted") {
  CHECK(Encoder::check(shape, {}, pieces(1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(Encoder::check(shape, {}, block(65, 0).data()) == Status::out_of_range);
  CHECK(Encoder::check(shape, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(Encoder::check(shape, {Operation::compare_swap}, pieces(4).list()) == Status::invalid_argument);
  CHECK(Encoder::check(shape, {Operation::compare_swap, 0, 0, 0, 0x1004}, result) == Status::invalid_argument);
  CHECK(Encoder::check(shape, {Operation::compare_swap, 0, 0, 0, 0x1008}, result) == Status::ok);
  CHECK(Encoder::check(shape, {Operation::local_invalidate}, NoPayload{}) == Status::ok);
  // Whatever the queue pair was made with, the entry ends.
  const SendShape small{17, 64, 8, 8, 512, 0, 0};
  CHECK(Encoder::check(small, {}, pieces(1, 1, 1).list()) == Status::ok);
  CHECK(Encoder::check(small, {}, pieces(1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(Encoder::check(small, {}, block(49, 0).data()) == Status::out_of_range);
}
