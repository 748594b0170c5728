// SPDX-License-Identifier: MIT
// What emulated NICs make of entries that are written by hand, and what completions they write. No encoder or decoder
// of the device code takes part.

#include "emulation/rdma_wires.hpp"

#include <xio/host/emulation/rdma/bnxt_wire.hpp>

#include "catch.hpp"

namespace {

using namespace wires;

using Fixed = BnxtWire<bnxt::WqeMode::fixed, BnxtSideTable::msn>;
using Variable = BnxtWire<bnxt::WqeMode::variable, BnxtSideTable::psn16>;

constexpr uint64_t bnxt_valid = uint64_t{1} << 58;

uint64_t bnxt_bell(uint64_t type, uint64_t qid, uint64_t epoch, uint64_t index) {
  return type << 60 | bnxt_valid | qid << 32 | epoch << 24 | index;
}

/// Slot `i` of a NetXtreme-E send ring.
uint8_t* slot(Rig& rig, uint32_t i) { return rig.memory.sq + i * 16; }

/// A write of two pieces at slot `at`; whatever follows lies behind it without wrapping.
void put_write(Rig& rig, uint32_t at, uint32_t length = 30) {
  put(slot(rig, at), bnxt::SqHeader{0x04u | 0x01u << 8 | 4u << 16, 0, length});
  put(slot(rig, at + 1), bnxt::RdmaHeader{0x123456789abcdef0, 0x55, 0});
  put(slot(rig, at + 2), bnxt::Sge{0xa000, 0x77, 10});
  put(slot(rig, at + 3), bnxt::Sge{0xb000, 0x78, 20});
}

TEST_CASE("bnxt: entries of fixed size") {
  Rig rig;
  rig.config.sq_units = 12;
  put_write(rig, 8 * 11);
  RdmaWork work = Fixed::read_work(rig.config, rig.memory, 12 * 1000 + 11);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::write);
  CHECK(work.signaled);
  CHECK_FALSE(work.solicited);
  CHECK(work.units == 1);
  CHECK(work.remote == 0x123456789abcdef0);
  CHECK(work.rkey == 0x55);
  REQUIRE(work.pieces.size() == 2);
  CHECK(work.pieces[0].address == 0xa000);
  CHECK(work.pieces[0].lkey == 0x77);
  CHECK(work.pieces[0].length == 10);
  CHECK(work.length() == 30);

  put(slot(rig, 0), bnxt::SqHeader{0x01u | 0x08u << 8 | 2u << 16, 0xfeedf00d, 0});
  work = Fixed::read_work(rig.config, rig.memory, 12);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::send_immediate);
  CHECK(work.solicited);
  CHECK_FALSE(work.signaled);
  CHECK(work.immediate == 0xfeedf00d);
  CHECK(work.pieces.empty());

  put(slot(rig, 8), bnxt::SqHeader{0x08u | 3u << 16, 0x99, 0x7000});
  put(slot(rig, 9), bnxt::AtomicHeader{111, 222});
  put(slot(rig, 10), bnxt::Sge{0xc000, 0x79, 8});
  work = Fixed::read_work(rig.config, rig.memory, 1);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::compare_swap);
  CHECK(work.remote == 0x7000);
  CHECK(work.rkey == 0x99);
  CHECK(work.swap_add == 111);
  CHECK(work.compare == 222);

  put_write(rig, 16, 31);
  CHECK(fault<Fixed>(rig, 2) == "the header's length differs from the SGEs'");
  put(slot(rig, 10), bnxt::Sge{0xc000, 0x79, 4});
  CHECK(fault<Fixed>(rig, 1) == "atomic without one SGE of 8 bytes");
  put(slot(rig, 16), bnxt::SqHeader{0x04u | 9u << 16, 0, 0});
  CHECK(fault<Fixed>(rig, 2) == "entry longer than its slot");
  put(slot(rig, 16), bnxt::SqHeader{0x04u | 1u << 16, 0, 0});
  CHECK(fault<Fixed>(rig, 2) == "entry without headers");
  put(slot(rig, 16), bnxt::SqHeader{0x03u | 2u << 16, 0, 0});
  CHECK(fault<Fixed>(rig, 2) == "unknown opcode");
  put(slot(rig, 16), bnxt::SqHeader{0x04u | 0x20u << 8 | 2u << 16, 0, 0});
  CHECK(fault<Fixed>(rig, 2) == "unknown flags");
  put(slot(rig, 16), bnxt::SqHeader{0x06u | 0x10u << 8 | 2u << 16, 0, 0});
  CHECK(fault<Fixed>(rig, 2) == "inline data of an operation that returns data");
}

TEST_CASE("bnxt: inline data that goes on at the ring's start") {
  Rig rig;
  rig.config.sq_units = 13;
  put(slot(rig, 10), bnxt::SqHeader{0x04u | 0x11u << 8 | 5u << 16, 0, 40});
  put(slot(rig, 11), bnxt::RdmaHeader{0x9000, 0x55, 0});
  for (uint32_t i = 0; i < 40; ++i) slot(rig, i < 16 ? 12 : 0)[i < 16 ? i : i - 16] = static_cast<uint8_t>(i);
  const RdmaWork work = Variable::read_work(rig.config, rig.memory, 13 * 7 + 10);
  CHECK(work.fault.empty());
  CHECK(work.units == 5);
  CHECK(work.is_inline);
  REQUIRE(work.bytes.size() == 40);
  for (uint32_t i = 0; i < 40; ++i) CHECK(work.bytes[i] == i);
  put(slot(rig, 10), bnxt::SqHeader{0x04u | 0x11u << 8 | 5u << 16, 0, 49});
  CHECK(fault<Variable>(rig, 10) == "inline data does not fill the entry's slots");
  put(slot(rig, 10), bnxt::SqHeader{0x04u | 14u << 16, 0, 0});
  CHECK(fault<Variable>(rig, 10) == "entry longer than the ring");
  put(slot(rig, 10), bnxt::SqHeader{0x04u | 1u << 24 | 2u << 16, 0, 0});
  CHECK(fault<Variable>(rig, 10) == "unknown bits of the header are set");
}

TEST_CASE("bnxt: doorbells") {
  Rig rig;
  rig.config.sq_units = 12;
  std::string why;
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 5), 3, why) == 5);
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 1, 2), 24 + 9, why) == 24 + 14);
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 2), 12 + 9, why) == 26);
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 1, 3), 3, why) == 15);
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 1, 5), 3, why) == 0);
  CHECK(why == "doorbell with a wrong epoch, or behind the one before");
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 2), 3, why) == 0);
  CHECK(why == "doorbell with a wrong epoch, or behind the one before");
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 12), 3, why) == 0);
  CHECK(why == "doorbell beyond the ring's end");
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x12, 0, 5), 3, why) == 0);
  CHECK(why == "doorbell names another queue");
  CHECK(rung<Fixed>(rig, bnxt_bell(1, 0x11, 0, 5), 3, why) == 0);
  CHECK(why == "doorbell of another type");
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 5) & ~bnxt_valid, 3, why) == 0);
  CHECK(why == "doorbell without its valid bit");
  CHECK(rung<Fixed>(rig, bnxt_bell(0, 0x11, 0, 5) | 1u << 25, 3, why) == 0);
  CHECK(why == "doorbell with bits that must be zero");
  using PowerOfTwo = BnxtWire<bnxt::WqeMode::fixed, BnxtSideTable::msn, true>;
  CHECK(rung<PowerOfTwo>(rig, bnxt_bell(0, 0x11, 0, 5), 3, why) == 0);
  CHECK(why == "the ring's size is not a power of two");

  CHECK(Fixed::receive_producer(rig.config, rig.memory, bnxt_bell(1, 0x11, 1, 2), 60) == 66);
  CHECK(Fixed::receive_producer(rig.config, rig.memory, bnxt_bell(0, 0x11, 1, 2), 60) == 60);
  CHECK(Fixed::receive_producer(rig.config, rig.memory, doorbell_taken, 60) == 60);
  uint64_t bell = bnxt_bell(4, 0x21, 1, 7);
  CHECK(Fixed::consumer(16, nullptr, &bell, 12) == 23);
  bell = bnxt_bell(4, 0x21, 0, 7);
  CHECK(Fixed::consumer(16, nullptr, &bell, 12) == 12);
  bell = bnxt_bell(5, 0x21, 1, 7);
  CHECK(Fixed::consumer(16, nullptr, &bell, 12) == 12);
  bell = 0;
  CHECK(Fixed::consumer(16, nullptr, &bell, 12) == 12);
}

/// Whether a side table's entry is as a NIC of `Wire` expects for a write of 2049 bytes at slot 3 of message 70.
template <class Wire>
std::string table_fault(const Rig& rig, uint32_t psn) {
  RdmaWork work;
  work.operation = RdmaOperation::write;
  work.index = 12 + 3;
  work.pieces = {{0, 2048, 0}, {0, 1, 0}};
  uint32_t wire_psn = psn;
  const std::string why = Wire::check_side_table(rig.config, rig.memory, work, 70, wire_psn);
  CHECK(wire_psn == ((psn + 3) & 0xffffff));
  return why;
}

TEST_CASE("bnxt: tables behind the ring") {
  Rig rig;
  rig.config.sq_units = 12;
  rig.config.side_entries = 64;
  rig.table[6] = 0xfffffeu | uint64_t{0x000001} << 24 | uint64_t{3} << 48;
  CHECK(table_fault<Fixed>(rig, 0xfffffe).empty());
  CHECK(table_fault<Fixed>(rig, 0xfffffd) == "the table has a wrong PSN");
  rig.table[6] = 0xfffffeu | uint64_t{0x000002} << 24 | uint64_t{3} << 48;
  CHECK(table_fault<Fixed>(rig, 0xfffffe) == "the table has a wrong next PSN");
  rig.table[6] = 0xfffffeu | uint64_t{0x000001} << 24 | uint64_t{15} << 48;
  CHECK(table_fault<Fixed>(rig, 0xfffffe) == "the table has a wrong index");
  rig.config.side_entries = 0;
  CHECK(table_fault<Fixed>(rig, 0xfffffe) == "the table behind the ring is too small");

  rig.config.side_entries = 12;
  auto* const table = reinterpret_cast<uint8_t*>(rig.table.data());
  put(table + 3 * 16, bnxt::ExtendedPsnEntry{0x00123456, 0x00123459, 3, 0, 0});
  CHECK(table_fault<Variable>(rig, 0x123456).empty());
  put(table + 3 * 16, bnxt::ExtendedPsnEntry{0x00123456, 0x00123459, 4, 0, 0});
  CHECK(table_fault<Variable>(rig, 0x123456) == "the table has a wrong index");
  using Short = BnxtWire<bnxt::WqeMode::variable, BnxtSideTable::psn8>;
  put(table + 3 * 8, bnxt::PsnEntry{0x00123456, 0x00123459});
  CHECK(table_fault<Short>(rig, 0x123456).empty());
  put(table + 3 * 8, bnxt::PsnEntry{0x04123456, 0x00123459});
  CHECK(table_fault<Short>(rig, 0x123456) == "the table names another operation");
  RdmaWork empty;
  empty.operation = RdmaOperation::send;
  uint32_t psn = 9;
  put(table, bnxt::PsnEntry{2u << 24 | 9, 10});
  CHECK(Short::check_side_table(rig.config, rig.memory, empty, 0, psn).empty());
  CHECK(psn == 10);
}

TEST_CASE("bnxt: completions") {
  Rig rig;
  rig.config.sq_units = 12;
  rig.config.cq_entries = 16;
  rig.config.receive_cq_entries = 16;
  const auto write = [&](auto wire, uint64_t index, const RdmaSendCompletion& completion) {
    decltype(wire)::write_completion(rig.config, rig.memory.cq, nullptr, index, completion);
  };
  const uint64_t handle = xio::emulation::RdmaQueueConfig().cookie;
  write(Fixed(), 3, sent(RdmaOperation::write, 12 * 5 + 11, 77));
  CHECK(rig.cqe(3, 32) == Bytes(32).le(0, 8, handle).le(8, 4, 0).le(24, 4, 1).value);
  write(Fixed(), 16 + 3, sent(RdmaOperation::write, 4, 77));
  CHECK(rig.cqe(3, 32) == Bytes(32).le(0, 8, handle).le(8, 4, 5).value);
  write(Variable(), 3, sent(RdmaOperation::read, 12 * 5 + 11, 0x1fffe, RdmaOutcome::remote_access));
  CHECK(rig.cqe(3, 32) == Bytes(32).le(0, 8, handle).le(8, 4, 0xfffe).le(24, 4, 0x701).value);
  Variable::write_last(rig.config, rig.memory.cq, nullptr, 4, sent(RdmaOperation::read, 11, 9));
  CHECK(rig.cqe(4, 32) == Bytes(32).le(0, 8, handle).le(8, 4, 9).le(24, 4, 1 | 14 << 1).value);

  const auto receive = [&](uint64_t index, const RdmaReceiveCompletion& completion) {
    Fixed::write_receive_completion(rig.config, rig.memory.receive_cq, nullptr, index, completion);
    return rig.receive_cqe(index % 16, 32);
  };
  Bytes expected(32);
  expected.le(0, 4, 0x345).le(4, 4, 0xcafef00d).le(8, 8, handle).le(28, 4, 0x5a5a5);
  CHECK(receive(5, received(RdmaOperation::write_immediate, 3)) == expected.le(24, 4, 0xa0003).value);
  CHECK(receive(21, received(RdmaOperation::send_immediate, 3)) == expected.le(24, 4, 0x20002).value);
  CHECK(receive(6, received(RdmaOperation::send_invalidate, 3)) == expected.le(24, 4, 0x40003).value);
  CHECK(receive(7, received(RdmaOperation::send, 3, RdmaOutcome::local_length)) ==
        Bytes(32).le(8, 8, handle).le(28, 4, 0x5a5a5).le(24, 4, 0x203).value);
}

TEST_CASE("bnxt: receives") {
  Rig rig;
  put(rig.memory.rq + 128 * 2, bnxt::RqHeader{0x80u | 4u << 16, 0, 0xfff12345, 0});
  put(rig.memory.rq + 128 * 2 + 32, bnxt::Sge{0xa000, 0x77, 10});
  put(rig.memory.rq + 128 * 2 + 48, bnxt::Sge{0xb000, 0x78, 20});
  const RdmaReceive receive = Fixed::read_receive(rig.config, rig.memory, 64 + 2);
  CHECK(receive.fault.empty());
  CHECK(receive.wr_id == 0x12345);
  REQUIRE(receive.pieces.size() == 2);
  CHECK(receive.pieces[1].address == 0xb000);
  CHECK(receive.pieces[1].lkey == 0x78);
  put(rig.memory.rq + 128 * 2, bnxt::RqHeader{0x80u | 2u << 16, 0, 2, 0});
  CHECK(Fixed::read_receive(rig.config, rig.memory, 2).fault == "receive entry without an SGE");
  put(rig.memory.rq + 128 * 2, bnxt::RqHeader{0x80u | 9u << 16, 0, 2, 0});
  CHECK(Fixed::read_receive(rig.config, rig.memory, 2).fault == "entry longer than its slot");
  put(rig.memory.rq + 128 * 2, bnxt::RqHeader{0x00u | 3u << 16, 0, 2, 0});
  CHECK(Fixed::read_receive(rig.config, rig.memory, 2).fault == "no receive entry");
}

TEST_CASE("bnxt: the queue's last completion entry comes after the first failure") {
  Rig rig;
  rig.config.sq_units = 12;
  rig.config.side_entries = 64;
  RdmaFabric fabric;
  RdmaQueuePairModel<Fixed> nic(fabric, rig.config, rig.memory);
  // Nobody is there to answer.
  for (uint32_t i = 0; i < 3; ++i) {
    put(slot(rig, 8 * i), bnxt::SqHeader{0x00u | 0x01u << 8 | 2u << 16, 0, 0});
    rig.table[i] = (0xabc123 + i) | uint64_t{0xabc124 + i} << 24 | uint64_t{i} << 48;
  }
  rig.sq_doorbell = bnxt_bell(0, 0x11, 0, 3);
  while (nic.pass()) {
  }
  CHECK(nic.statistics().violations.empty());
  CHECK(nic.statistics().completions == 1);
  CHECK(rig.cqe(0, 32) == Bytes(32).le(0, 8, rig.config.cookie).le(8, 4, 1).le(24, 4, 0xa01).value);
  CHECK(rig.cqe(1, 32) == Bytes(32).le(0, 8, rig.config.cookie).le(8, 4, 1).le(24, 4, 29).value);
  CHECK(rig.cqe(2, 32) == Bytes(32).value);
}

TEST_CASE("bnxt: an entry that the doorbell does not cover") {
  Rig rig;
  rig.config.sq_units = 13;
  rig.config.side_entries = 13;
  put_write(rig, 0);
  RdmaFabric fabric;
  RdmaQueuePairModel<Variable> nic(fabric, rig.config, rig.memory);
  rig.sq_doorbell = bnxt_bell(0, 0x11, 0, 3);
  nic.pass();
  CHECK(nic.statistics().violations.at(0) == "entry reaches beyond what the doorbell announced");
}

}  // namespace
