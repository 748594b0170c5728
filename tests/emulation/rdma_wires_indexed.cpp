// SPDX-License-Identifier: MIT
// As rdma_wires.cpp, for vendors whose rings have producer and consumer indices in memory.

#include "emulation/rdma_wires.hpp"

#include <xio/host/emulation/rdma/ernic_wire.hpp>
#include <xio/host/emulation/rdma/rxe_wire.hpp>

#include "catch.hpp"

namespace {

using namespace wires;

/// A rig whose records are ring states.
struct ErnicRig : Rig {
  uint32_t* const state = queue_pair_state;

  ErnicRig() {
    config.handle = 0x33;
    config.sq_units = 8;
    config.sq_unit_shift = 7;
    config.cq_entries = 16;
    config.receive_cq_entries = 16;
    memory.rq_record = &state[2];
    memory.cq_producer = &cq_state[2];
    memory.cq_record = &cq_state[3];
    memory.receive_cq_producer = &receive_cq_state[2];
    memory.receive_cq_record = &receive_cq_state[3];
  }
  uint8_t* entry(uint32_t slot) { return memory.sq + slot * 128; }
};

constexpr uint32_t send_bell = 1u << 30;

TEST_CASE("ernic: entries") {
  ErnicRig rig;
  put(rig.entry(7), ernic::SqHeader{0xabcdef, 2, 99, 0, 2 | 4, Be32(0), 0});
  put(rig.entry(7) + 32, ernic::RdmaOperation{0x123456789abcdef0, 0x55, 0});
  put(rig.entry(7) + 80, ernic::Sge{0xa000, 10, 0x77});
  put(rig.entry(7) + 96, ernic::Sge{0xb000, 20, 0x78});
  RdmaWork work = ErnicWire::read_work(rig.config, rig.memory, 8 + 7);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::write);
  CHECK(work.units == 1);
  CHECK(work.wr_id == 0xabcdef);
  CHECK(work.signaled);
  CHECK(work.solicited);
  CHECK(work.remote == 0x123456789abcdef0);
  CHECK(work.rkey == 0x55);
  REQUIRE(work.pieces.size() == 2);
  CHECK(work.pieces[1].address == 0xb000);
  CHECK(work.pieces[1].length == 20);
  CHECK(work.pieces[1].lkey == 0x78);

  put(rig.entry(1), ernic::SqHeader{1, 0, 0, 3, 0, Be32(0xfeedf00d), 0});
  work = ErnicWire::read_work(rig.config, rig.memory, 1);
  CHECK(work.operation == RdmaOperation::send_immediate);
  CHECK(work.immediate == 0xfeedf00d);
  CHECK_FALSE(work.signaled);
  CHECK(BasicErnicWire<true>::read_work(rig.config, rig.memory, 1).signaled);
  put(rig.entry(1), ernic::SqHeader{1, 0, 0, 8, 0, Be32(0xfeedf00d), 0});
  CHECK(ErnicWire::read_work(rig.config, rig.memory, 1).immediate == 0x0df0edfe);

  put(rig.entry(2), ernic::SqHeader{1, 1, 0, 5, 0, Be32(0), 0});
  put(rig.entry(2) + 32, ernic::AtomicOperation{0x7000, 111, 222, 0x99, 0});
  put(rig.entry(2) + 80, ernic::Sge{0xc000, 8, 0x79});
  work = ErnicWire::read_work(rig.config, rig.memory, 2);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::compare_swap);
  CHECK(work.remote == 0x7000);
  CHECK(work.rkey == 0x99);
  CHECK(work.compare == 111);
  CHECK(work.swap_add == 222);
  put(rig.entry(2), ernic::SqHeader{1, 1, 0, 6, 0, Be32(0), 0});
  work = ErnicWire::read_work(rig.config, rig.memory, 2);
  CHECK(work.operation == RdmaOperation::fetch_add);
  CHECK(work.swap_add == 111);
  put(rig.entry(2) + 80, ernic::Sge{0xc000, 4, 0x79});
  CHECK(fault<ErnicWire>(rig, 2) == "atomic without one SGE of 8 bytes");

  put(rig.entry(3), ernic::SqHeader{1, 1, 0, 0, 8, Be32(0), 0});
  CHECK(fault<ErnicWire>(rig, 3) == "inline data is not supported");
  put(rig.entry(3), ernic::SqHeader{1, 4, 0, 0, 0, Be32(0), 0});
  CHECK(fault<ErnicWire>(rig, 3) == "more SGEs than fit into the entry");
  put(rig.entry(3), ernic::SqHeader{1, 1, 0, 9, 0, Be32(0), 0});
  CHECK(fault<ErnicWire>(rig, 3) == "unknown opcode");
  put(rig.entry(3), ernic::SqHeader{1, 1, 0, 0, 32, Be32(0), 0});
  CHECK(fault<ErnicWire>(rig, 3) == "unknown flags");
}

TEST_CASE("ernic: doorbells and ring states") {
  ErnicRig rig;
  std::string why;
  rig.state[0] = 2;
  CHECK(rung<ErnicWire>(rig, send_bell | 0x33, 15, why) == 18);
  rig.state[0] = 14;
  CHECK(rung<ErnicWire>(rig, send_bell | 0x33, 16 + 9, why) == 30);
  CHECK(rung<ErnicWire>(rig, send_bell | 0x33, 16 + 3, why) == 0);
  CHECK(why == "producer tail is beyond the ring");
  rig.state[0] = 16;
  CHECK(rung<ErnicWire>(rig, send_bell | 0x33, 12, why) == 0);
  CHECK(why == "producer tail is beyond the ring");
  rig.state[0] = 14;
  CHECK(rung<ErnicWire>(rig, send_bell | 0x11, 9, why) == 0);
  CHECK(why == "doorbell names another queue pair");
  CHECK(rung<ErnicWire>(rig, 1u << 31 | 0x33, 9, why) == 0);
  CHECK(why == "doorbell is not for the send queue only");

  rig.config.rq_entries = 8;
  rig.state[2] = 14;
  CHECK(ErnicWire::receive_producer(rig.config, rig.memory, 1u << 31 | 0x33, 9) == 14);
  CHECK(ErnicWire::receive_producer(rig.config, rig.memory, send_bell | 0x33, 9) == 9);
  CHECK(ErnicWire::receive_producer(rig.config, rig.memory, doorbell_taken, 9) == 9);
  ErnicWire::consumed(rig.config, rig.memory, 16 + 9);
  CHECK(rig.state[1] == 9);
  ErnicWire::receive_consumed(rig.config, rig.memory, 32 + 11);
  CHECK(rig.state[3] == 11);
  uint32_t head = 3;
  CHECK(ErnicWire::consumer(16, &head, nullptr, 30) == 35);
  head = 20;
  CHECK(ErnicWire::consumer(16, &head, nullptr, 32) == 32);
  head = 32;
  CHECK(ErnicWire::consumer(16, &head, nullptr, 30) == 30);
}

TEST_CASE("ernic: completions") {
  ErnicRig rig;
  const auto write = [&](uint64_t index, const RdmaSendCompletion& completion) {
    ErnicWire::write_completion(rig.config, rig.memory.cq, rig.memory.cq_producer, index, completion);
    return rig.cqe(index % 16, 64);
  };
  const uint64_t id = 0x1122334455667788;
  CHECK(write(19, sent(RdmaOperation::fetch_add, 7, 3)) ==
        Bytes(64).le(0, 8, id).le(8, 8, 0x33).le(16, 4, 4).le(24, 4, 24).value);
  CHECK(rig.cq_state[2] == 20);
  CHECK(write(31, sent(RdmaOperation::send_invalidate, 7, 3, RdmaOutcome::flushed)) ==
        Bytes(64).le(0, 8, id).le(8, 8, 0x33).le(20, 4, 5).le(40, 4, 0x77).value);
  CHECK(rig.cq_state[2] == 0);
  const auto receive = [&](uint64_t index, const RdmaReceiveCompletion& completion) {
    ErnicWire::write_receive_completion(rig.config, rig.memory.receive_cq, rig.memory.receive_cq_producer, index,
                                        completion);
    return rig.receive_cqe(index % 16, 64);
  };
  Bytes expected(64);
  expected.le(0, 8, 0x5a5a5).le(8, 8, 0x33).le(24, 4, 0x345).le(32, 4, 0x123456).be(28, 4, 0xcafef00d).le(36, 4, 2);
  CHECK(receive(2, received(RdmaOperation::write_immediate, 3)) == expected.le(16, 4, 129).value);
  CHECK(rig.receive_cq_state[2] == 3);
  expected.le(16, 4, 128).le(28, 4, 0xcafef00d).le(36, 4, 4);
  CHECK(receive(3, received(RdmaOperation::send_invalidate, 3)) == expected.value);
  CHECK(receive(4, received(RdmaOperation::send, 3, RdmaOutcome::local_protection)) ==
        Bytes(64).le(0, 8, 0x5a5a5).le(8, 8, 0x33).le(16, 4, 128).le(20, 4, 4).le(40, 4, 0x77).value);
}

TEST_CASE("ernic: the ring state follows the queues") {
  ErnicRig rig;
  uint8_t data[16] = "fifteen letters";
  uint8_t room[16]{};
  RdmaFabric fabric;
  const uint32_t key = fabric.keys().add(data, sizeof data);
  const uint32_t room_key = fabric.keys().add(room, sizeof room);
  RdmaQueuePairModel<ErnicWire> nic(fabric, rig.config, rig.memory);
  nic.connect(rig.config.qpn);
  put(rig.memory.rq, ernic::RqHeader{0x77, 1, 0});
  put(rig.memory.rq + 16, ernic::Sge{reinterpret_cast<uint64_t>(room), 16, room_key});
  put(rig.entry(0), ernic::SqHeader{5, 1, 0, 3, 2, Be32(0x1234), 0});
  put(rig.entry(0) + 80, ernic::Sge{reinterpret_cast<uint64_t>(data), 16, key});
  put(rig.entry(1), ernic::SqHeader{6, 0, 0, 9, 0, Be32(0), 0});
  put(rig.entry(2), ernic::SqHeader{7, 0, 0, 2, 0, Be32(0), 0});
  rig.state[2] = 1;
  rig.rq_doorbell = doorbell_taken << 32 | 1u << 31 | 0x33;
  rig.state[0] = 3;
  rig.sq_doorbell = doorbell_taken << 32 | send_bell | 0x33;
  while (nic.pass()) {
  }
  CHECK(std::memcmp(data, room, 16) == 0);
  CHECK(nic.statistics().violations == std::vector<std::string>{"unknown opcode"});
  CHECK(rig.state[1] == 3);
  CHECK(rig.state[3] == 1);
  CHECK(rig.receive_cq_state[2] == 1);
  // The failed entry and what comes after it get completions that nobody asked for.
  REQUIRE(rig.cq_state[2] == 3);
  CHECK(rig.cqe(1, 64)[0] == 6);
  CHECK(rig.cqe(1, 64)[20] == 2);
  CHECK(rig.cqe(2, 64)[0] == 7);
  CHECK(rig.cqe(2, 64)[20] == 5);
}

/// A rig with rings of 8 entries of 512 bytes.
struct RxeRig : Rig {
  rxe::SendWqe wqe{};

  RxeRig() {
    config.sq_units = 8;
    config.sq_unit_shift = 9;
    config.cq_entries = 16;
    config.receive_cq_entries = 16;
  }
  uint8_t* entry(uint32_t slot) { return memory.sq + slot * 512; }
  /// Begins an entry whose message has `bytes` in `sges` pieces.
  void begin(uint32_t opcode, uint32_t flags, uint32_t bytes, uint32_t sges) {
    wqe = {};
    wqe.header = {0xabcdef, 0, opcode, flags, Be32(0)};
    wqe.dma = {bytes, bytes, 0, sges, 0, 0};
  }
};

TEST_CASE("rxe: entries") {
  RxeRig rig;
  rig.begin(0, 2, 30, 2);
  rig.wqe.operation[0] = 0x123456789abcdef0;
  rig.wqe.operation[1] = 0x55;
  rig.wqe.iova = 0x123456789abcdef0;
  put(rig.entry(7), rig.wqe);
  put(rig.entry(7) + 208, rxe::Sge{0xa000, 10, 0x77});
  put(rig.entry(7) + 224, rxe::Sge{0xb000, 20, 0x78});
  RdmaWork work = RxeWire<>::read_work(rig.config, rig.memory, 15);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::write);
  CHECK(work.wr_id == 0xabcdef);
  CHECK(work.signaled);
  CHECK_FALSE(work.solicited);
  CHECK(work.remote == 0x123456789abcdef0);
  CHECK(work.rkey == 0x55);
  REQUIRE(work.pieces.size() == 2);
  CHECK(work.pieces[1].address == 0xb000);
  CHECK(work.pieces[1].length == 20);
  CHECK(work.pieces[1].lkey == 0x78);

  const auto broken = [&](auto change) {
    const rxe::SendWqe good = rig.wqe;
    change(rig.wqe);
    put(rig.entry(7), rig.wqe);
    rig.wqe = good;
    return fault<RxeWire<>>(rig, 7);
  };
  CHECK(broken([](rxe::SendWqe&) {}).empty());
  CHECK(broken([](rxe::SendWqe& w) { w.iova = 0; }) == "the two remote addresses differ");
  CHECK(broken([](rxe::SendWqe& w) { w.dma.residue = 0; }) == "the residue is not the whole length");
  CHECK(broken([](rxe::SendWqe& w) { w.dma.current = 1; }) == "the current SGE is not the first");
  CHECK(broken([](rxe::SendWqe& w) { w.dma.sge_offset = 1; }) == "the SGE offset is not 0");
  CHECK(broken([](rxe::SendWqe& w) { w.state = 3; }) ==
        "the kernel's fields of the entry are not in their initial state");
  CHECK(broken([](rxe::SendWqe& w) { w.dma.sges = 1; }) == "the remaining length differs from the SGEs'");
  CHECK(broken([](rxe::SendWqe& w) { w.dma.sges = 20; }) == "more SGEs than fit into the entry");
  CHECK(broken([](rxe::SendWqe& w) { w.header.send_flags = 16; }) == "unknown flags");
  CHECK(broken([](rxe::SendWqe& w) { w.header.opcode = 8; }) == "unknown opcode");
  CHECK(broken([](rxe::SendWqe& w) { w.header.opcode = 4, w.header.send_flags = 8; }) ==
        "inline data of an operation that returns data");
  CHECK(broken([](rxe::SendWqe& w) { w.header.send_flags = 8, w.dma.length = w.dma.residue = 305; }) ==
        "inline data longer than its entry");
  CHECK(broken([](rxe::SendWqe& w) { w.header.opcode = 6; }) == "atomic without one SGE of 8 bytes");

  rig.begin(3, 4 | 8, 304, 0);
  rig.wqe.header.immediate = Be32(0xfeedf00d);
  put(rig.entry(1), rig.wqe);
  for (uint32_t i = 0; i < 304; ++i) rig.entry(1)[208 + i] = static_cast<uint8_t>(i);
  work = RxeWire<>::read_work(rig.config, rig.memory, 1);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::send_immediate);
  CHECK(work.solicited);
  CHECK(work.immediate == 0xfeedf00d);
  REQUIRE(work.bytes.size() == 304);
  CHECK(work.bytes[303] == 303 - 256);

  rig.begin(5, 0, 8, 1);
  rig.wqe.operation[0] = rig.wqe.iova = 0x7000;
  rig.wqe.operation[1] = 111;
  rig.wqe.operation[2] = 222;
  rig.wqe.operation[3] = 0x99;
  put(rig.entry(2), rig.wqe);
  put(rig.entry(2) + 208, rxe::Sge{0xc000, 8, 0x79});
  work = RxeWire<>::read_work(rig.config, rig.memory, 2);
  CHECK(work.fault.empty());
  CHECK(work.operation == RdmaOperation::compare_swap);
  CHECK(work.remote == 0x7000);
  CHECK(work.rkey == 0x99);
  CHECK(work.compare == 111);
  CHECK(work.swap_add == 222);
  rig.wqe.header.opcode = 6;
  put(rig.entry(2), rig.wqe);
  work = RxeWire<>::read_work(rig.config, rig.memory, 2);
  CHECK(work.operation == RdmaOperation::fetch_add);
  CHECK(work.swap_add == 111);
  rig.begin(7, 0, 0, 0);
  rig.wqe.header.immediate.raw = 0x1234;
  put(rig.entry(3), rig.wqe);
  work = RxeWire<>::read_work(rig.config, rig.memory, 3);
  CHECK(work.operation == RdmaOperation::local_invalidate);
  CHECK(work.immediate == 0x1234);
}

TEST_CASE("rxe: doorbells and indices") {
  RxeRig rig;
  std::string why;
  rig.queue_pair_state[0] = 2;
  CHECK(rung<RxeWire<>>(rig, 0, 15, why) == 18);
  CHECK(rung<RxeWire<>>(rig, 0xffff, 15, why) == 18);
  rig.queue_pair_state[0] = 8;
  CHECK(rung<RxeWire<>>(rig, 0, 15, why) == 0);
  CHECK(why == "producer index is beyond the ring");
  CHECK(RxeWire<>::capacity(rig.config) == 7);
  CHECK(RxeWire<>::cq_capacity(16) == 15);
  rig.receive_state[0] = 3;
  CHECK(RxeWire<>::receive_producer(rig.config, rig.memory, doorbell_taken, 62) == 67);
  RxeWire<>::receive_consumed(rig.config, rig.memory, 64 + 9);
  CHECK(rig.receive_state[32] == 9);
  const uint32_t head = 3;
  CHECK(RxeWire<>::consumer(16, &head, nullptr, 30) == 35);

  rig.begin(2, 0, 30, 2);
  put(rig.entry(7), rig.wqe);
  RxeWire<>::consumed(rig.config, rig.memory, 16);
  CHECK(rig.queue_pair_state[32] == 0);
  CHECK(fault<RxeWire<>>(rig, 7) == "the residue is not the whole length");
  rig.begin(2, 0, 0, 0);
  put(rig.entry(0), rig.wqe);
  RxeWire<>::consumed(rig.config, rig.memory, 17);
  CHECK(rig.queue_pair_state[32] == 1);
  CHECK(fault<RxeWire<>>(rig, 0) == "the kernel's fields of the entry are not in their initial state");
}

TEST_CASE("rxe: completions") {
  RxeRig rig;
  const auto write = [&](uint64_t index, const RdmaSendCompletion& completion) {
    RxeWire<>::write_completion(rig.config, rig.memory.cq, rig.memory.cq_producer, index, completion);
    return rig.cqe(index % 16, 128);
  };
  const uint64_t id = 0x1122334455667788;
  CHECK(write(18, sent(RdmaOperation::write_immediate, 7, 3)) ==
        Bytes(128).le(0, 8, id).le(12, 4, 1).le(20, 4, 24).le(28, 4, 0x11).le(36, 4, 2).value);
  CHECK(rig.cq_state[0] == 3);
  CHECK(write(15, sent(RdmaOperation::local_invalidate, 7, 3, RdmaOutcome::local_operation)) ==
        Bytes(128).le(0, 8, id).le(8, 4, 2).le(28, 4, 0x11).value);
  CHECK(rig.cq_state[0] == 0);
  RxeWire<64>::write_completion(rig.config, rig.memory.cq, rig.memory.cq_producer, 9, sent(RdmaOperation::read, 7, 3));
  CHECK(rig.cqe(9, 64) == Bytes(64).le(0, 8, id).le(12, 4, 2).le(20, 4, 24).le(28, 4, 0x11).value);

  const auto receive = [&](uint64_t index, const RdmaReceiveCompletion& completion) {
    RxeWire<>::write_receive_completion(rig.config, rig.memory.receive_cq, rig.memory.receive_cq_producer, index,
                                        completion);
    return rig.receive_cqe(index % 16, 128);
  };
  Bytes expected(128);
  expected.le(0, 8, 0x5a5a5).le(20, 4, 0x345).be(24, 4, 0xcafef00d).le(28, 4, 0x11).le(36, 4, 3).le(46, 1, 1);
  CHECK(receive(2, received(RdmaOperation::write_immediate, 3)) == expected.le(12, 4, 129).value);
  CHECK(rig.receive_cq_state[0] == 3);
  CHECK(receive(3, received(RdmaOperation::send_immediate, 3)) == expected.le(12, 4, 128).value);
  expected.le(24, 4, 0xcafef00d).le(36, 4, 9);
  CHECK(receive(4, received(RdmaOperation::send_invalidate, 3)) == expected.value);
  CHECK(receive(5, received(RdmaOperation::send, 3, RdmaOutcome::local_length)) ==
        Bytes(128).le(0, 8, 0x5a5a5).le(8, 4, 1).le(28, 4, 0x11).value);
}

TEST_CASE("ernic and rxe: receives") {
  ErnicRig ernic_rig;
  put(ernic_rig.memory.rq + 2 * 128, ernic::RqHeader{0xabcdef, 2, 0});
  put(ernic_rig.memory.rq + 2 * 128 + 32, ernic::Sge{0xb000, 20, 0x78});
  RdmaReceive receive = ErnicWire::read_receive(ernic_rig.config, ernic_rig.memory, 66);
  CHECK(receive.fault.empty());
  CHECK(receive.wr_id == 0xabcdef);
  CHECK(receive.pieces.at(1).address == 0xb000);
  put(ernic_rig.memory.rq + 2 * 128, ernic::RqHeader{0xabcdef, 8, 0});
  CHECK(ErnicWire::read_receive(ernic_rig.config, ernic_rig.memory, 2).fault ==
        "more SGEs than fit into the receive entry");

  RxeRig rig;
  rxe::ReceiveWqe wqe{0xabcdef, {}, {20, 20, 0, 1, 0, 0}};
  const auto read = [&] {
    put(rig.memory.rq + 2 * 128, wqe);
    put(rig.memory.rq + 2 * 128 + 40, rxe::Sge{0xb000, 20, 0x78});
    return RxeWire<>::read_receive(rig.config, rig.memory, 66);
  };
  receive = read();
  CHECK(receive.fault.empty());
  CHECK(receive.wr_id == 0xabcdef);
  CHECK(receive.pieces.at(0).lkey == 0x78);
  wqe.dma.residue = 19;
  CHECK(read().fault == "the residue is not the whole length");
  wqe.dma = {21, 21, 0, 1, 0, 0};
  CHECK(read().fault == "the remaining length differs from the SGEs'");
  wqe.dma = {20, 20, 0, 6, 0, 0};
  CHECK(read().fault == "more SGEs than fit into the receive entry");
}

}  // namespace
