// SPDX-License-Identifier: MIT
// NetXtreme-E: what the encoder stores, byte for byte, and its tables and doorbells.
// Entries: recorded from rdma-core 65's providers on plain memory. ".." are bytes that the provider left as they were.

#include <xio/vendors/bnxt/decode.hpp>
#include <xio/vendors/bnxt/encode.hpp>

#include "catch.hpp"
#include "layout/recorded_post.hpp"

namespace bnxt = xio::bnxt;
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

using Fixed = bnxt::SendEncoder<bnxt::WqeMode::fixed>;
using Variable = bnxt::SendEncoder<bnxt::WqeMode::variable>;
constexpr SendShape with_entries(uint32_t entries) { return {662316, entries, 0, 4, 96, 10, 0}; }
constexpr SendShape fixed = with_entries(256);
constexpr SendShape variable = with_entries(2048);

static_assert(
    stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "04010300........000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
                  "04010400........c10000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa004000000018e0"
                  "d5c3b2a1007e02bcab0081000000"));
static_assert(
    stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0},
                  "04010500........830100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa004000000018e0"
                  "d5c3b2a1007e02bcab008100000030e0d6c3b2a1007e03bdac00c2000000"));
static_assert(stores<Fixed>(
    fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259), {0},
    "04010600........860200000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa004000000018e0"
    "d5c3b2a1007e02bcab008100000030e0d6c3b2a1007e03bdac00c200000048e0d7c3b2a1007e04bead0003010000"));
static_assert(stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "04010200........000000000000000000bca0785634127feeffc000"));
static_assert(stores<Fixed>(
    fixed, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "0501030044332211000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Fixed>(
    fixed, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(0), {0},
    "0501030044332211000000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Fixed>(fixed, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote},
                            pieces(), {0}, "0501020044332211000000000000000000bca0785634127feeffc000"));
static_assert(
    stores<Fixed>(fixed, {Operation::get, 0, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "06000300........000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                  "06010300........000000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Fixed>(fixed, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "06010200........000000000000000000bca0785634127feeffc000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send, signaled}, pieces(256), {0},
                  "00010300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send, signaled | fence}, pieces(256), {0},
                  "00050300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send, signaled | solicited}, pieces(256), {0},
                  "00090300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send, fence | solicited}, pieces(256), {0},
                  "000c0300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send, signaled}, pieces(0), {0},
                  "00010300........0000000000000000................................00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Fixed>(fixed, {Operation::send, signaled}, pieces(), {0}, "00010200........0000000000000000"));
static_assert(
    stores<Fixed>(fixed, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
                  "01010300443322110001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Fixed>(fixed, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(), {0},
                            "01010200443322110000000000000000"));
static_assert(
    stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(16, 0, 48), {0},
                  "04010500........400000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa001000000018e0"
                  "d5c3b2a1007e02bcab000000000030e0d6c3b2a1007e03bdac0030000000"));
static_assert(
    stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0, 48), {0},
                  "04010400........300000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa000000000018e0"
                  "d5c3b2a1007e02bcab0030000000"));
static_assert(stores<Fixed>(
    fixed,
    {Operation::compare_swap, signaled, recorded::rkey, 0, recorded::remote, 0x1112131415161718, 0x0102030405060708},
    pieces(8), {0},
    "08010300eeffc00000bca0785634127f1817161514131211080706050403020100e0d4c3b2a1007e01bbaa0008000000"));
static_assert(
    stores<Fixed>(fixed,
                  {Operation::compare_swap, signaled | fence, recorded::rkey, 0, recorded::remote, 0x1112131415161718,
                   0x0102030405060708},
                  pieces(8), {0},
                  "08050300eeffc00000bca0785634127f1817161514131211080706050403020100e0d4c3b2a1007e01bbaa0008000000"));
static_assert(stores<Fixed>(
    fixed, {Operation::fetch_add, signaled, recorded::rkey, 0, recorded::remote, 0x2122232425262728}, pieces(8), {0},
    "0b010300eeffc00000bca0785634127f2827262524232221................00e0d4c3b2a1007e01bbaa0008000000"));
static_assert(stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(0, 0x00), {0},
                            "04110200........000000000000000000bca0785634127feeffc000"));
static_assert(stores<Fixed>(fixed, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(1, 0x14), {0},
                            "04110300........010000000000000000bca0785634127feeffc000........14"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
    "04010300........000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
    "04010300........000000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0},
    "04010500........830100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa004000000018e0"
    "d5c3b2a1007e02bcab008100000030e0d6c3b2a1007e03bdac00c2000000"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259), {0},
    "04010600........860200000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa004000000018e0"
    "d5c3b2a1007e02bcab008100000030e0d6c3b2a1007e03bdac00c200000048e0d7c3b2a1007e04bead0003010000"));
static_assert(stores<Variable>(
    variable, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "0501030044332211000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
    "06010300........000100000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
    "06010300........000000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Variable>(variable, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                               "06010200........000000000000000000bca0785634127feeffc000"));
static_assert(stores<Variable>(
    variable, {Operation::send, 0}, pieces(256), {0},
    "00000300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::send, signaled | fence}, pieces(256), {0},
    "00050300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::send, signaled | solicited}, pieces(256), {0},
    "00090300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::send, fence | solicited}, pieces(256), {0},
    "000c0300........0001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::send, signaled}, pieces(0), {0},
    "00010300........0000000000000000................................00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Variable>(
    variable, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
    "01010300443322110001000000000000................................00e0d4c3b2a1007e01bbaa0000010000"));
static_assert(stores<Variable>(
    variable, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(0), {0},
    "01010300443322110000000000000000................................00e0d4c3b2a1007e01bbaa0000000000"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(16, 0, 48), {0},
    "04010500........400000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa001000000018e0"
    "d5c3b2a1007e02bcab000000000030e0d6c3b2a1007e03bdac0030000000"));
static_assert(stores<Variable>(
    variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0, 48), {0},
    "04010400........300000000000000000bca0785634127feeffc000........00e0d4c3b2a1007e01bbaa000000000018e0"
    "d5c3b2a1007e02bcab0030000000"));
static_assert(stores<Variable>(
    variable,
    {Operation::compare_swap, signaled | fence, recorded::rkey, 0, recorded::remote, 0x1112131415161718,
     0x0102030405060708},
    pieces(8), {0},
    "08050300eeffc00000bca0785634127f1817161514131211080706050403020100e0d4c3b2a1007e01bbaa0008000000"));
static_assert(stores<Variable>(
    variable, {Operation::fetch_add, signaled, recorded::rkey, 0, recorded::remote, 0x2122232425262728}, pieces(8), {0},
    "0b010300eeffc00000bca0785634127f2827262524232221................00e0d4c3b2a1007e01bbaa0008000000"));
static_assert(stores<Variable>(
    variable,
    {Operation::compare_swap, signaled, recorded::rkey, 0, recorded::remote, 0x0000000000000000, 0x0000000000000000},
    pieces(8), {0},
    "08010300eeffc00000bca0785634127f0000000000000000000000000000000000e0d4c3b2a1007e01bbaa0008000000"));
static_assert(stores<Variable>(variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote},
                               block(0, 0x00), {0}, "04110200........000000000000000000bca0785634127feeffc000"));
static_assert(stores<Variable>(variable, {Operation::put, signaled, recorded::rkey, 0, recorded::remote},
                               block(2, 0x25), {0},
                               "04110300........020000000000000000bca0785634127feeffc000........252c"));
static_assert(stores<Variable>(variable, {Operation::send, signaled}, block(0, 0x00), {0},
                               "00110200........0000000000000000"));
static_assert(stores<Variable>(variable, {Operation::send, signaled}, block(1, 0x14), {0},
                               "00110300........0100000000000000................................14"));

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
static_assert(recorded::receives<bnxt::ReceiveEncoder>(receives_of, pieces(128, 129), {},
                                                       "80000400........00000000........"
                                                       "................................"
                                                       "00e0d4c3b2a1007e01bbaa0080000000"
                                                       "18e0d5c3b2a1007e02bcab0081000000"));
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
