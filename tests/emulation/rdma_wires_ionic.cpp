// SPDX-License-Identifier: MIT
// As rdma_wires.cpp, for Pensando DSC.

#include "emulation/rdma_wires.hpp"

#include <xio/host/emulation/rdma/ionic_wire.hpp>

#include "catch.hpp"

namespace {

using namespace wires;

/// The beginning of a Pensando entry at index 5 of a ring of 8 strides of 128 bytes.
uint8_t* ionic_entry(Rig& rig, uint8_t opcode, uint8_t sges, uint16_t flags, uint32_t immediate, uint64_t index = 5) {
  rig.config.sq_units = 8;
  rig.config.sq_unit_shift = 7;
  uint8_t* const entry = rig.memory.sq + 5 * 128;
  std::memset(entry, 0, 128);
  put(entry, ionic::BaseHeader{index, opcode, sges, Be16(flags), Be32(immediate)});
  return entry;
}

TEST_CASE("ionic: entries") {
  Rig rig;
  uint8_t* entry = ionic_entry(rig, 4, 2, 0x18, 0);
  put(entry + 16, ionic::RdmaHeader{Be64(0x123456789abcdef0), Be32(0x55), Be32(30)});
  put(entry + 32, ionic::Sge{Be64(0xa000), Be32(10), Be32(0x77)});
  put(entry + 48, ionic::Sge{Be64(0xb000), Be32(20), Be32(0x78)});
  RdmaWork work = IonicWire<>::read_work(rig.config, rig.memory, 5);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::write);
  CHECK(work.signaled);
  CHECK(work.remote == 0x123456789abcdef0);
  CHECK(work.rkey == 0x55);
  REQUIRE(work.pieces.size() == 2);
  CHECK(work.pieces[1].address == 0xb000);
  CHECK(work.pieces[1].length == 20);
  CHECK(work.pieces[1].lkey == 0x78);
  CHECK(fault<IonicWire<>>(rig, 8 + 5) == "entry has a wrong color");
  // Version 2 numbers compare-and-swap so.
  CHECK(fault<IonicWire<2>>(rig, 5) == "atomic without one SGE of 8 bytes");
  put(entry + 28, Be32(31));
  CHECK(fault<IonicWire<>>(rig, 5) == "the header's length differs from the SGEs'");

  entry = ionic_entry(rig, 2, 0, 0x02 | 0x04, 0xfeedf00d);
  put(entry + 28, Be32(96));
  for (uint32_t i = 0; i < 96; ++i) entry[32 + i] = static_cast<uint8_t>(i);
  work = IonicWire<>::read_work(rig.config, rig.memory, 8 + 5);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::send_immediate);
  CHECK(work.immediate == 0xfeedf00d);
  CHECK(work.solicited);
  CHECK_FALSE(work.signaled);
  REQUIRE(work.bytes.size() == 96);
  CHECK(work.bytes[95] == 95);
  put(entry + 28, Be32(97));
  CHECK(fault<IonicWire<>>(rig, 13) == "inline data longer than its entry");

  ionic_entry(rig, 9, 0, 0x08, 0x1234);
  work = IonicWire<>::read_work(rig.config, rig.memory, 13);
  CHECK(work.operation == RdmaOperation::local_invalidate);
  CHECK(work.immediate == 0x1234);
  ionic_entry(rig, 0, 0, 0x10, 0, 6);
  CHECK(fault<IonicWire<>>(rig, 5) == "entry has a wrong index");
  ionic_entry(rig, 0, 7, 0x10, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "more SGEs than fit into the entry");
  ionic_entry(rig, 0, 3, 0x1010, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "lengths before the SGEs");
  ionic_entry(rig, 0, 0, 0x30, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "unknown flags");
  ionic_entry(rig, 4, 0, 0x12, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "solicited event of an operation without a receive");
  ionic_entry(rig, 3, 0, 0x14, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "inline data of an operation without data");
  ionic_entry(rig, 0, 1, 0x14, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "inline data and SGEs");
  ionic_entry(rig, 0x21, 0, 0x10, 0);
  CHECK(fault<IonicWire<>>(rig, 5) == "unknown opcode");
  CHECK(IonicWire<2>::read_work(rig.config, rig.memory, 5).operation == RdmaOperation::write);
}

TEST_CASE("ionic: atomics") {
  Rig rig;
  ionic::AtomicHeader atomic{Be64(0x7000),     Be32(0x99),       Be32(0x01020304), Be32(0x05060708),
                             Be32(0x11121314), Be32(0x15161718), Be32(0)};
  uint8_t* entry = ionic_entry(rig, 6, 1, 0x10, 0);
  put(entry + 16, atomic);
  put(entry + 48, ionic::Sge{Be64(0xc000), Be32(8), Be32(0x79)});
  RdmaWork work = IonicWire<1>::read_work(rig.config, rig.memory, 5);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::compare_swap);
  CHECK(work.remote == 0x7000);
  CHECK(work.rkey == 0x99);
  CHECK(work.swap_add == 0x0102030405060708);
  CHECK(work.compare == 0x1112131415161718);
  CHECK(work.pieces.at(0).address == 0xc000);
  CHECK(work.pieces.at(0).lkey == 0x79);
  put(entry + 56, Be32(9));
  CHECK(fault<IonicWire<1>>(rig, 5) == "atomic without one SGE of 8 bytes");

  atomic.lkey = Be32(0x7a);
  entry = ionic_entry(rig, 5, 1, 0x10, 0);
  put(entry + 16, atomic);
  put(entry + 48, Be64(0xd000));
  work = IonicWire<2>::read_work(rig.config, rig.memory, 5);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::fetch_add);
  CHECK(work.pieces.at(0).address == 0xd000);
  CHECK(work.pieces.at(0).length == 8);
  CHECK(work.pieces.at(0).lkey == 0x7a);
}

TEST_CASE("ionic: doorbells") {
  Rig rig;
  rig.config.sq_units = 8;
  std::string why;
  CHECK(rung<IonicWire<>>(rig, uint64_t{0x11} << 24 | 5, 3, why) == 5);
  CHECK(rung<IonicWire<>>(rig, uint64_t{0x11} << 24 | 2, 8 + 5, why) == 18);
  CHECK(rung<IonicWire<>>(rig, uint64_t{0x12} << 24 | 5, 3, why) == 0);
  CHECK(why == "doorbell names another queue");
  CHECK(rung<IonicWire<>>(rig, uint64_t{0x11} << 24 | 8, 3, why) == 0);
  CHECK(why == "doorbell beyond the ring's end");
  CHECK(rung<IonicWire<>>(rig, uint64_t{0x11} << 24 | 1 << 16 | 5, 3, why) == 0);
  CHECK(why == "doorbell with bits that must be zero");
  CHECK(IonicWire<>::receive_producer(rig.config, rig.memory, uint64_t{0x11} << 24 | 2, 62) == 66);
  uint64_t bell = uint64_t{0x21} << 24 | 3;
  CHECK(IonicWire<>::consumer(16, nullptr, &bell, 30) == 35);
  bell = 0;
  CHECK(IonicWire<>::consumer(16, nullptr, &bell, 30) == 30);
  CHECK(IonicWire<>::capacity(rig.config) == 7);
}

TEST_CASE("ionic: completions") {
  Rig rig;
  rig.config.sq_units = 8;
  rig.config.cq_entries = 16;
  rig.config.receive_cq_entries = 16;
  const auto write = [&](uint64_t index, const RdmaSendCompletion& completion) {
    IonicWire<>::write_completion(rig.config, rig.memory.cq, nullptr, index, completion);
    return rig.cqe(index % 16, 32);
  };
  const uint64_t stamp = uint64_t{0x5a1234cdef01} << 16;
  CHECK(write(3, sent(RdmaOperation::read, 13, 0x1fffffe)) ==
        Bytes(32).be(4, 4, 0xfffffe).be(24, 4, 24).be(28, 4, 0x1141).value);
  CHECK(write(19, sent(RdmaOperation::read, 13, 9)) == Bytes(32).be(4, 4, 9).be(24, 4, 24).be(28, 4, 0x1140).value);
  CHECK(write(4, sent(RdmaOperation::send, 13, 9, RdmaOutcome::receiver_not_ready)) ==
        Bytes(32).be(4, 4, 9).be(24, 4, 12).be(28, 4, 0x1143).value);
  RdmaSendCompletion local = sent(RdmaOperation::local_invalidate, 13, 9);
  local.work.pieces.clear();
  CHECK(write(5, local) == Bytes(32).le(16, 8, stamp | 5).be(28, 4, 0x1161).value);
  IonicWire<>::write_last(rig.config, rig.memory.cq, nullptr, 6, local);
  CHECK(rig.cqe(6, 32) == Bytes(32).le(16, 8, stamp).be(24, 4, 4).be(28, 4, 0x1163).value);

  IonicWire<>::write_receive_completion(rig.config, rig.memory.receive_cq, nullptr, 16,
                                        received(RdmaOperation::write_immediate, 64 + 3));
  CHECK(rig.receive_cqe(0, 32) == Bytes(32)
                                      .le(0, 8, stamp | 3)
                                      .be(8, 4, 0x83123456)
                                      .be(20, 4, 0xcafef00d)
                                      .be(24, 4, 0x345)
                                      .be(28, 4, 0x1120)
                                      .value);
}

TEST_CASE("ionic: receives") {
  Rig rig;
  uint8_t* const entry = rig.memory.rq + 2 * 128;
  put(entry, ionic::BaseHeader{2, 0, 1, Be16(0), Be32(10)});
  put(entry + 32, ionic::Sge{Be64(0xa000), Be32(10), Be32(0x77)});
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 66).fault.empty());
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 66).pieces.at(0).address == 0xa000);
  put(entry + 40, Be32(11));
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 2).fault == "the receive's length differs from the SGEs'");
  put(entry, uint64_t{3});
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 2).fault == "receive entry has a wrong index");
  put(entry, ionic::BaseHeader{2, 0, 7, Be16(0), Be32(10)});
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 2).fault == "more SGEs than fit into the entry");
  put(entry, ionic::BaseHeader{2, 0, 3, Be16(0x1000), Be32(10)});
  CHECK(IonicWire<>::read_receive(rig.config, rig.memory, 2).fault == "lengths before the SGEs");
}

TEST_CASE("ionic: a flushed queue says so once") {
  Rig rig;
  ionic_entry(rig, 0, 0, 0x18, 0);
  std::memcpy(rig.memory.sq + 6 * 128, rig.memory.sq + 5 * 128, 128);
  put(rig.memory.sq + 6 * 128, uint64_t{6});
  RdmaFabric fabric;
  RdmaQueuePairModel<IonicWire<>> nic(fabric, rig.config, rig.memory);
  nic.start_at(16 + 5, 0, 4);
  rig.sq_doorbell = uint64_t{0x11} << 24 | 7;
  while (nic.pass()) {
  }
  CHECK(nic.statistics().violations.empty());
  CHECK(rig.cqe(0, 32) == Bytes(32).be(4, 4, 5).be(24, 4, 11).be(28, 4, 0x1143).value);
  CHECK(rig.cqe(1, 32) == Bytes(32).le(16, 8, uint64_t{0x5a1234cdef01} << 16).be(24, 4, 4).be(28, 4, 0x1163).value);
  CHECK(rig.cqe(2, 32) == Bytes(32).value);
}

}  // namespace
