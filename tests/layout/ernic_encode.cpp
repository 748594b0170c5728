// SPDX-License-Identifier: MIT
// ERNIC: what the encoder stores, byte for byte.
// Entries: recorded from rdma-core 65's providers on plain memory. ".." are bytes that the provider left as they were.

#include <xio/vendors/ernic/decode.hpp>
#include <xio/vendors/ernic/encode.hpp>

#include "catch.hpp"
#include "layout/recorded_post.hpp"

namespace ernic = xio::ernic;
using namespace xio::rdma::work_flag;
using recorded::stores;
using xio::Status;
using xio::rdma::InlineBytes;
using xio::rdma::NoPayload;
using xio::rdma::OneSge;
using xio::rdma::Operation;
using xio::rdma::SendShape;
using xio::rdma::Work;

namespace {

using Encoder = ernic::SendEncoder;
constexpr SendShape shape{801, 8, 8, 4, 0, 0, 0};
constexpr SendShape one_sge{801, 8, 7, 1, 0, 0, 0};
constexpr SendShape three_sges{801, 8, 7, 3, 0, 0, 0};
constexpr SendShape last_handle{0xffffff, 8, 8, 4, 0, 0, 0};

static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0, recorded::wr_id},
    "007766554433221101000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0000000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0, recorded::wr_id},
    "007766554433221102000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e4000000001bbaa0018e0d5c3"
    "b2a1007e8100000002bcab00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0, recorded::wr_id},
    "007766554433221103000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e4000000001bbaa0018e0d5c3"
    "b2a1007e8100000002bcab0030e0d6c3b2a1007ec200000003bdac00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259),
    {0, recorded::wr_id},
    "007766554433221104000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e4000000001bbaa0018e0d5c3"
    "b2a1007e8100000002bcab0030e0d6c3b2a1007ec200000003bdac0048e0d7c3b2a1007e0301000004bead00"));
static_assert(stores<Encoder>(
    shape, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256),
    {0, recorded::wr_id},
    "007766554433221101000000........010000000200000011223344........00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(0),
    {0, recorded::wr_id},
    "007766554433221101000000........010000000200000011223344........00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0000000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0400000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0, recorded::wr_id},
    "007766554433221101000000........0400000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0000000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send, signaled}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0200000002000000...................................................."
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send, signaled | fence}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0200000003000000...................................................."
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send, signaled | solicited}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0200000006000000...................................................."
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send, fence | solicited}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0200000005000000...................................................."
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send, signaled}, pieces(0), {0, recorded::wr_id},
    "007766554433221101000000........0200000002000000...................................................."
    "............................................................00e0d4c3b2a1007e0000000001bbaa00"));
static_assert(stores<Encoder>(shape, {Operation::send, signaled}, pieces(), {0, recorded::wr_id},
                              "007766554433221100000000........0200000002000000"));
static_assert(stores<Encoder>(
    shape, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........030000000200000011223344............................................"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(0), {0, recorded::wr_id},
    "007766554433221101000000........030000000200000011223344............................................"
    "............................................................00e0d4c3b2a1007e0000000001bbaa00"));
static_assert(stores<Encoder>(shape, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(),
                              {0, recorded::wr_id}, "007766554433221100000000........030000000200000011223344"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(16, 0, 48), {0, recorded::wr_id},
    "007766554433221103000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e1000000001bbaa0018e0d5c3"
    "b2a1007e0000000002bcab0030e0d6c3b2a1007e3000000003bdac00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0, 48), {0, recorded::wr_id},
    "007766554433221102000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0000000001bbaa0018e0d5c3"
    "b2a1007e3000000002bcab00"));
static_assert(stores<Encoder>(
    shape, {Operation::compare_swap, 0, recorded::rkey, 0, recorded::remote, 0x1112131415161718, 0x0102030405060708},
    pieces(8), {0, recorded::wr_id},
    "007766554433221101000000........0500000000000000................00bca0785634127f08070605040302011817"
    "161514131211eeffc000........................................00e0d4c3b2a1007e0800000001bbaa00"));
static_assert(stores<Encoder>(
    shape,
    {Operation::compare_swap, signaled | fence, recorded::rkey, 0, recorded::remote, 0x1112131415161718,
     0x0102030405060708},
    pieces(8), {0, recorded::wr_id},
    "007766554433221101000000........0500000003000000................00bca0785634127f08070605040302011817"
    "161514131211eeffc000........................................00e0d4c3b2a1007e0800000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::fetch_add, signaled, recorded::rkey, 0, recorded::remote, 0x2122232425262728}, pieces(8),
    {0, recorded::wr_id},
    "007766554433221101000000........0600000002000000................00bca0785634127f2827262524232221...."
    "............eeffc000........................................00e0d4c3b2a1007e0800000001bbaa00"));
static_assert(stores<Encoder>(
    shape, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256, 256), {7, recorded::wr_id},
    "007766554433221102000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa0018e0d5c3"
    "b2a1007e0001000002bcab00"));
static_assert(stores<Encoder>(
    one_sge, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    one_sge, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0, recorded::wr_id},
    "007766554433221100000000........0000000002000000................00bca0785634127feeffc000"));
static_assert(stores<Encoder>(
    one_sge, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256),
    {0, recorded::wr_id},
    "007766554433221101000000........010000000200000011223344........00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    three_sges, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    three_sges, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0, recorded::wr_id},
    "007766554433221100000000........0000000002000000................00bca0785634127feeffc000"));
static_assert(stores<Encoder>(
    three_sges, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256),
    {0, recorded::wr_id},
    "007766554433221101000000........010000000200000011223344........00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    last_handle, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0000000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    last_handle, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0, recorded::wr_id},
    "007766554433221100000000........0000000002000000................00bca0785634127feeffc000"));
static_assert(stores<Encoder>(
    last_handle, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........0400000002000000................00bca0785634127feeffc000............"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    last_handle, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0, recorded::wr_id},
    "007766554433221101000000........030000000200000011223344............................................"
    "............................................................00e0d4c3b2a1007e0001000001bbaa00"));
static_assert(stores<Encoder>(
    last_handle,
    {Operation::compare_swap, signaled, recorded::rkey, 0, recorded::remote, 0x1112131415161718, 0x0102030405060708},
    pieces(8), {0, recorded::wr_id},
    "007766554433221101000000........0500000002000000................00bca0785634127f08070605040302011817"
    "161514131211eeffc000........................................00e0d4c3b2a1007e0800000001bbaa00"));
static_assert(stores<Encoder>(
    last_handle, {Operation::fetch_add, signaled, recorded::rkey, 0, recorded::remote, 0x2122232425262728}, pieces(8),
    {0, recorded::wr_id},
    "007766554433221101000000........0600000002000000................00bca0785634127f2827262524232221...."
    "............eeffc000........................................00e0d4c3b2a1007e0800000001bbaa00"));

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

// Receives.
static_assert(recorded::receives<ernic::ReceiveEncoder>({801, 4, 6, 2}, pieces(64, 65), {0, recorded::wr_id},
                                                        "007766554433221102000000........"
                                                        "00e0d4c3b2a1007e4000000001bbaa00"
                                                        "18e0d5c3b2a1007e4100000002bcab00"));

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
