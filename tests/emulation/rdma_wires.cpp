// SPDX-License-Identifier: MIT

/// @file
/// @brief What emulated NICs make of entries, doorbells and receives that are written by hand, and the bytes of their
/// completions. No encoder or decoder of the device code takes part.

#include <algorithm>
#include <random>

#include "catch.hpp"
#include "emulation/rdma_wires.hpp"

namespace {

using namespace wires;

// NetXtreme-E.

const bnxt::RdmaHeader bnxt_remote{0x123456789abcdef0, 0x55, 0};
const bnxt::Sge bnxt_first{0xa000, 0x77, 10};
const bnxt::Sge bnxt_second{0xb000, 0x78, 20};

TEST_CASE("bnxt: entries of fixed size -> operations or faults") {
  Rig rig(12);
  const auto at2 = [&](const bnxt::SqHeader& header) { return work<Fixed>(rig, 2, rig.slot(2), header); };
  CHECK(work<Fixed>(rig, 12 * 1000 + 11, rig.slot(11), bnxt_header(4, 1, 4, 0, 30), bnxt_remote, bnxt_first,
                    bnxt_second) == "write signaled at 123456789abcdef0/55 a000+10/77 b000+20/78");
  CHECK(work<Fixed>(rig, 12, rig.slot(0), bnxt_header(1, 8, 2, 0xfeedf00d)) == "send_immediate solicited imm feedf00d");
  CHECK(work<Fixed>(rig, 1, rig.slot(1), bnxt::SqHeader{8u | 3u << 16, 0x99, 0x7000}, bnxt::AtomicHeader{111, 222},
                    bnxt::Sge{0xc000, 0x79, 8}) == "compare_swap at 7000/99 add 6f compare de c000+8/79");
  CHECK(work<Fixed>(rig, 1, rig.slot(1) + 32, bnxt::Sge{0xc000, 0x79, 4}) == "atomic without one SGE of 8 bytes");
  CHECK(work<Fixed>(rig, 2, rig.slot(2), bnxt_header(4, 1, 4, 0, 31), bnxt_remote, bnxt_first, bnxt_second) ==
        "the header's length differs from the SGEs'");
  CHECK(at2(bnxt_header(4, 0, 9)) == "entry longer than its slot");
  CHECK(at2(bnxt_header(4, 0, 1)) == "entry without headers");
  CHECK(at2(bnxt_header(3, 0, 2)) == "unknown opcode");
  CHECK(at2(bnxt_header(4, 0x20, 2)) == "unknown flags");
  CHECK(at2(bnxt_header(6, 0x10, 2)) == "inline data of an operation that returns data");
}

TEST_CASE("bnxt: inline data goes on at the ring's start -> it is one message") {
  Rig rig(13, 4);
  uint8_t data[40];
  count_up(data, 40);
  std::memcpy(rig.slot(12), data, 16);
  std::memcpy(rig.slot(0), data + 16, 24);
  const auto at10 = [&](const bnxt::SqHeader& header) { return work<Slots>(rig, 13 * 7 + 10, rig.slot(10), header); };
  put(rig.slot(11), bnxt::RdmaHeader{0x9000, 0x55, 0});
  CHECK(at10(bnxt_header(4, 0x11, 5, 0, 40)) == "write signaled units 5 at 9000/55 inline 40");
  CHECK(at10(bnxt_header(4, 0x11, 5, 0, 49)) == "inline data does not fill the entry's slots");
  CHECK(at10(bnxt_header(4, 0, 14)) == "entry longer than the ring");
  CHECK(at10(bnxt::SqHeader{4u | 1u << 24 | 2u << 16, 0, 0}) == "unknown bits of the header are set");
}

TEST_CASE("bnxt: doorbells -> the ring's end or a fault") {
  Rig rig(12);
  const auto rung = [&](uint64_t value, uint64_t known) { return bell<Fixed>(rig, value, known); };
  CHECK(rung(bnxt_bell(0, 0x11, 0, 5), 3) == "5");
  CHECK(rung(bnxt_bell(0, 0x11, 1, 2), 24 + 9) == "38");
  CHECK(rung(bnxt_bell(0, 0x11, 0, 2), 12 + 9) == "26");
  CHECK(rung(bnxt_bell(0, 0x11, 1, 3), 3) == "15");
  CHECK(rung(bnxt_bell(0, 0x11, 1, 5), 3) == "doorbell with a wrong epoch, or behind the one before");
  CHECK(rung(bnxt_bell(0, 0x11, 0, 2), 3) == "doorbell with a wrong epoch, or behind the one before");
  CHECK(rung(bnxt_bell(0, 0x11, 0, 12), 3) == "doorbell beyond the ring's end");
  CHECK(rung(bnxt_bell(0, 0x12, 0, 5), 3) == "doorbell names another queue");
  CHECK(rung(bnxt_bell(1, 0x11, 0, 5), 3) == "doorbell of another type");
  CHECK(rung(bnxt_bell(0, 0x11, 0, 5) & ~bnxt_valid, 3) == "doorbell without its valid bit");
  CHECK(rung(bnxt_bell(0, 0x11, 0, 5) | 1u << 25, 3) == "doorbell with bits that must be zero");
  using PowerOfTwo = BnxtWire<bnxt::WqeMode::fixed, BnxtSideTable::msn, true>;
  CHECK(bell<PowerOfTwo>(rig, bnxt_bell(0, 0x11, 0, 5), 3) == "the ring's size is not a power of two");

  const auto receives = [&](uint64_t value) { return Fixed::receive_producer(rig.config, rig.memory, value, 60); };
  CHECK(receives(bnxt_bell(1, 0x11, 1, 2)) == 66);
  CHECK(receives(bnxt_bell(0, 0x11, 1, 2)) == 60);
  CHECK(receives(doorbell_taken) == 60);
  const auto consumer = [&](uint64_t value) { return Fixed::consumer(16, nullptr, &value, 12); };
  CHECK(consumer(bnxt_bell(4, 0x21, 1, 7)) == 23);
  CHECK(consumer(bnxt_bell(4, 0x21, 0, 7)) == 12);
  CHECK(consumer(bnxt_bell(5, 0x21, 1, 7)) == 12);
  CHECK(consumer(0) == 12);
}

/// What a NIC says of a side table's entry for a write of 2049 bytes at slot 3 of message 70.
template <class Wire>
std::string table_fault(const Rig& rig, uint32_t psn) {
  RdmaWork write;
  write.operation = Op::write;
  write.index = 12 + 3;
  write.pieces = {{0, 2048, 0}, {0, 1, 0}};
  uint32_t wire_psn = psn;
  const std::string why = Wire::check_side_table(rig.config, rig.memory, write, 70, wire_psn);
  CHECK(wire_psn == ((psn + 3) & 0xffffff));
  return why;
}

TEST_CASE("bnxt: tables behind the ring -> PSNs and indices are checked", "[H7]") {
  Rig rig(12);
  rig.config.side_entries = 64;
  const auto message = [&](uint64_t next, uint64_t index, uint32_t psn) {
    rig.table[6] = 0xfffffeu | next << 24 | index << 48;
    return table_fault<Fixed>(rig, psn);
  };
  CHECK(message(1, 3, 0xfffffe) == "");
  CHECK(message(1, 3, 0xfffffd) == "the table has a wrong PSN");
  CHECK(message(2, 3, 0xfffffe) == "the table has a wrong next PSN");
  CHECK(message(1, 15, 0xfffffe) == "the table has a wrong index");
  rig.config.side_entries = 0;
  CHECK(message(1, 3, 0xfffffe) == "the table behind the ring is too small");

  rig.config.side_entries = 12;
  auto* const table = reinterpret_cast<uint8_t*>(rig.table.data());
  put(table + 3 * 16, bnxt::ExtendedPsnEntry{0x00123456, 0x00123459, 3, 0, 0});
  CHECK(table_fault<Slots>(rig, 0x123456) == "");
  put(table + 3 * 16, bnxt::ExtendedPsnEntry{0x00123456, 0x00123459, 4, 0, 0});
  CHECK(table_fault<Slots>(rig, 0x123456) == "the table has a wrong index");
  using Short = BnxtWire<bnxt::WqeMode::variable, BnxtSideTable::psn8>;
  put(table + 3 * 8, bnxt::PsnEntry{0x00123456, 0x00123459});
  CHECK(table_fault<Short>(rig, 0x123456) == "");
  put(table + 3 * 8, bnxt::PsnEntry{0x04123456, 0x00123459});
  CHECK(table_fault<Short>(rig, 0x123456) == "the table names another operation");
  RdmaWork empty;
  empty.operation = Op::send;
  uint32_t psn = 9;
  put(table, bnxt::PsnEntry{2u << 24 | 9, 10});
  CHECK(Short::check_side_table(rig.config, rig.memory, empty, 0, psn) == "");
  CHECK(psn == 10);
}

TEST_CASE("bnxt: completions -> bytes") {
  Rig rig(12);
  const auto end = [&] { return Bytes(32).le(0, 8, rig.config.cookie); };
  CHECK(sent<Fixed>(rig, 3, Op::write, 12 * 5 + 11, 77) == end().le(8, 4, 0).le(24, 4, 1).value);
  CHECK(sent<Fixed>(rig, 16 + 3, Op::write, 4, 77) == end().le(8, 4, 5).value);
  CHECK(sent<Slots>(rig, 3, Op::read, 12 * 5 + 11, 0x1fffe, Outcome::remote_access) ==
        end().le(8, 4, 0xfffe).le(24, 4, 0x701).value);
  CHECK(last<Slots>(rig, 4, Op::read, 11, 9) == end().le(8, 4, 9).le(24, 4, 1 | 14 << 1).value);
  Bytes message(32);
  message.le(0, 4, 0x345).le(4, 4, 0xcafef00d).le(8, 8, rig.config.cookie).le(28, 4, 0x5a5a5);
  CHECK(received<Fixed>(rig, 5, Op::write_immediate, 3) == message.le(24, 4, 0xa0003).value);
  CHECK(received<Fixed>(rig, 21, Op::send_immediate, 3) == message.le(24, 4, 0x20002).value);
  CHECK(received<Fixed>(rig, 6, Op::send_invalidate, 3) == message.le(24, 4, 0x40003).value);
  CHECK(received<Fixed>(rig, 7, Op::send, 3, Outcome::local_length) ==
        Bytes(32).le(8, 8, rig.config.cookie).le(28, 4, 0x5a5a5).le(24, 4, 0x203).value);
}

TEST_CASE("bnxt: receives -> pieces or faults") {
  const Rig rig;
  const uint64_t none[2]{};
  const auto header = [](uint32_t type, uint32_t slots, uint32_t id) {
    return bnxt::RqHeader{type | slots << 16, 0, id, 0};
  };
  CHECK(receive<Fixed>(rig, header(0x80, 4, 0xfff12345), none, bnxt_first, bnxt_second) ==
        "id 12345 a000+10/77 b000+20/78");
  CHECK(receive<Fixed>(rig, header(0x80, 2, 2)) == "receive entry without an SGE");
  CHECK(receive<Fixed>(rig, header(0x80, 9, 2)) == "entry longer than its slot");
  CHECK(receive<Fixed>(rig, header(0, 3, 2)) == "no receive entry");
}

TEST_CASE("bnxt: nobody answers -> the queue's last completion comes after the first failure") {
  Rig rig(12);
  rig.config.side_entries = 64;
  RdmaFabric fabric;
  RdmaQueuePairModel<Fixed> nic(fabric, rig.config, rig.memory);
  for (uint32_t i = 0; i < 3; ++i) {
    put(rig.slot(i), bnxt_header(0, 1, 2));
    rig.table[i] = (0xabc123 + i) | uint64_t{0xabc124 + i} << 24 | uint64_t{i} << 48;
  }
  rig.sq_doorbell = bnxt_bell(0, 0x11, 0, 3);
  while (nic.pass()) {
  }
  CHECK(nic.statistics().violations.empty());
  CHECK(nic.statistics().completions == 1);
  const auto end = [&] { return Bytes(32).le(0, 8, rig.config.cookie).le(8, 4, 1); };
  CHECK(entry_of<Fixed>(rig.memory.cq, 0) == end().le(24, 4, 0xa01).value);
  CHECK(entry_of<Fixed>(rig.memory.cq, 1) == end().le(24, 4, 29).value);
  CHECK(entry_of<Fixed>(rig.memory.cq, 2) == Entry(32));
}

TEST_CASE("bnxt: the doorbell does not cover the entry -> a violation") {
  Rig rig(13, 4);
  rig.config.side_entries = 13;
  put(rig.slot(0), bnxt_header(4, 1, 4, 0, 30), bnxt_remote, bnxt_first, bnxt_second);
  RdmaFabric fabric;
  RdmaQueuePairModel<Slots> nic(fabric, rig.config, rig.memory);
  rig.sq_doorbell = bnxt_bell(0, 0x11, 0, 3);
  nic.pass();
  CHECK(nic.statistics().violations.at(0) == "entry reaches beyond what the doorbell announced");
}

// Pensando DSC.

using IonicV2 = IonicWire<2>;

TEST_CASE("ionic: entries -> operations or faults") {
  Rig rig;
  uint8_t* const to = rig.slot(5);
  /// The beginning of an entry at index 5.
  const auto base = [&](uint8_t opcode, uint8_t sges, uint16_t flags, uint32_t immediate = 0, uint64_t index = 5) {
    std::memset(to, 0, 128);
    return ionic::BaseHeader{index, opcode, sges, Be16(flags), Be32(immediate)};
  };
  const auto at5 = [&](const ionic::BaseHeader& header) { return work<IonicWire<>>(rig, 5, to, header); };
  const auto piece = [](uint64_t address, uint32_t length, uint32_t key) {
    return ionic::Sge{Be64(address), Be32(length), Be32(key)};
  };
  CHECK(work<IonicWire<>>(rig, 5, to, base(4, 2, 0x18),
                          ionic::RdmaHeader{Be64(0x123456789abcdef0), Be32(0x55), Be32(30)}, piece(0xa000, 10, 0x77),
                          piece(0xb000, 20, 0x78)) == "write signaled at 123456789abcdef0/55 a000+10/77 b000+20/78");
  CHECK(work<IonicWire<>>(rig, 8 + 5) == "entry has a wrong color");
  // Version 2 numbers compare-and-swap so.
  CHECK(work<IonicV2>(rig, 5) == "atomic without one SGE of 8 bytes");
  CHECK(work<IonicWire<>>(rig, 5, to + 28, Be32(31)) == "the header's length differs from the SGEs'");

  put(to, base(2, 0, 0x02 | 0x04, 0xfeedf00d));
  count_up(to + 32, 96);
  CHECK(work<IonicWire<>>(rig, 13, to + 28, Be32(96)) == "send_immediate solicited imm feedf00d inline 96");
  CHECK(work<IonicWire<>>(rig, 13, to + 28, Be32(97)) == "inline data longer than its entry");
  CHECK(work<IonicWire<>>(rig, 13, to, base(9, 0, 0x08, 0x1234)) == "local_invalidate signaled imm 1234");
  CHECK(at5(base(0, 0, 0x10, 0, 6)) == "entry has a wrong index");
  CHECK(at5(base(0, 7, 0x10)) == "more SGEs than fit into the entry");
  CHECK(at5(base(0, 3, 0x1010)) == "lengths before the SGEs");
  CHECK(at5(base(0, 0, 0x30)) == "unknown flags");
  CHECK(at5(base(4, 0, 0x12)) == "solicited event of an operation without a receive");
  CHECK(at5(base(3, 0, 0x14)) == "inline data of an operation without data");
  CHECK(at5(base(0, 1, 0x14)) == "inline data and SGEs");
  CHECK(at5(base(0x21, 0, 0x10)) == "unknown opcode");
  CHECK(work<IonicV2>(rig, 5) == "write");

  ionic::AtomicHeader atomic{Be64(0x7000),     Be32(0x99),       Be32(0x01020304), Be32(0x05060708),
                             Be32(0x11121314), Be32(0x15161718), Be32(0)};
  CHECK(work<IonicWire<1>>(rig, 5, to, base(6, 1, 0x10), atomic, piece(0xc000, 8, 0x79)) ==
        "compare_swap at 7000/99 add 102030405060708 compare 1112131415161718 c000+8/79");
  CHECK(work<IonicWire<1>>(rig, 5, to + 56, Be32(9)) == "atomic without one SGE of 8 bytes");
  atomic.lkey = Be32(0x7a);
  CHECK(work<IonicV2>(rig, 5, to, base(5, 1, 0x10), atomic, Be64(0xd000)) ==
        "fetch_add at 7000/99 add 102030405060708 compare 1112131415161718 d000+8/7a");
}

TEST_CASE("ionic: doorbells -> the ring's end or a fault") {
  Rig rig;
  constexpr uint64_t ours = uint64_t{0x11} << 24;
  CHECK(bell<IonicWire<>>(rig, ours | 5, 3) == "5");
  CHECK(bell<IonicWire<>>(rig, ours | 2, 8 + 5) == "18");
  CHECK(bell<IonicWire<>>(rig, uint64_t{0x12} << 24 | 5, 3) == "doorbell names another queue");
  CHECK(bell<IonicWire<>>(rig, ours | 8, 3) == "doorbell beyond the ring's end");
  CHECK(bell<IonicWire<>>(rig, ours | 1 << 16 | 5, 3) == "doorbell with bits that must be zero");
  CHECK(IonicWire<>::receive_producer(rig.config, rig.memory, ours | 2, 62) == 66);
  const auto consumer = [](uint64_t value) { return IonicWire<>::consumer(16, nullptr, &value, 30); };
  CHECK(consumer(uint64_t{0x21} << 24 | 3) == 35);
  CHECK(consumer(0) == 30);
  CHECK(IonicWire<>::capacity(rig.config) == 7);
}

constexpr uint64_t ionic_stamp = uint64_t{0x5a1234cdef01} << 16;

TEST_CASE("ionic: completions -> bytes") {
  const Rig rig;
  const auto end = [](uint32_t messages, uint32_t status, uint32_t type) {
    return Bytes(32).be(4, 4, messages).be(24, 4, status).be(28, 4, type).value;
  };
  CHECK(sent<IonicWire<>>(rig, 3, Op::read, 13, 0x1fffffe) == end(0xfffffe, 24, 0x1141));
  CHECK(sent<IonicWire<>>(rig, 19, Op::read, 13, 9) == end(9, 24, 0x1140));
  CHECK(sent<IonicWire<>>(rig, 4, Op::send, 13, 9, Outcome::receiver_not_ready) == end(9, 12, 0x1143));
  CHECK(sent<IonicWire<>>(rig, 5, Op::local_invalidate, 13, 9) ==
        Bytes(32).le(16, 8, ionic_stamp | 5).be(28, 4, 0x1161).value);
  CHECK(last<IonicWire<>>(rig, 6, Op::local_invalidate, 13, 9) ==
        Bytes(32).le(16, 8, ionic_stamp).be(24, 4, 4).be(28, 4, 0x1163).value);
  Bytes message(32);
  message.le(0, 8, ionic_stamp | 3).be(8, 4, 0x83123456).be(20, 4, 0xcafef00d).be(24, 4, 0x345).be(28, 4, 0x1120);
  CHECK(received<IonicWire<>>(rig, 16, Op::write_immediate, 64 + 3) == message.value);
}

TEST_CASE("ionic: receives -> pieces or faults") {
  const Rig rig;
  const uint64_t none[2]{};
  const auto header = [](uint64_t index, uint8_t sges, uint16_t flags) {
    return ionic::BaseHeader{index, 0, sges, Be16(flags), Be32(10)};
  };
  const auto of = [](uint32_t length) { return ionic::Sge{Be64(0xa000), Be32(length), Be32(0x77)}; };
  CHECK(receive<IonicWire<>>(rig, header(2, 1, 0), none, of(10)) == "id 0 a000+10/77");
  CHECK(receive<IonicWire<>>(rig, header(2, 1, 0), none, of(11)) == "the receive's length differs from the SGEs'");
  CHECK(receive<IonicWire<>>(rig, header(3, 1, 0)) == "receive entry has a wrong index");
  CHECK(receive<IonicWire<>>(rig, header(2, 7, 0)) == "more SGEs than fit into the entry");
  CHECK(receive<IonicWire<>>(rig, header(2, 3, 0x1000)) == "lengths before the SGEs");
}

TEST_CASE("ionic: a queue is flushed -> it says so once") {
  Rig rig;
  for (const uint32_t i : {5u, 6u}) put(rig.slot(i), ionic::BaseHeader{i, 0, 0, Be16(0x18), Be32(0)});
  RdmaFabric fabric;
  RdmaQueuePairModel<IonicWire<>> nic(fabric, rig.config, rig.memory);
  nic.start_at(16 + 5, 0, 4);
  rig.sq_doorbell = uint64_t{0x11} << 24 | 7;
  while (nic.pass()) {
  }
  CHECK(nic.statistics().violations.empty());
  CHECK(entry_of<IonicWire<>>(rig.memory.cq, 0) == Bytes(32).be(4, 4, 5).be(24, 4, 11).be(28, 4, 0x1143).value);
  CHECK(entry_of<IonicWire<>>(rig.memory.cq, 1) ==
        Bytes(32).le(16, 8, ionic_stamp).be(24, 4, 4).be(28, 4, 0x1163).value);
  CHECK(entry_of<IonicWire<>>(rig.memory.cq, 2) == Entry(32));
}

// ERNIC.

constexpr uint32_t send_bell = 1u << 30;

TEST_CASE("ernic: entries -> operations or faults") {
  ErnicRig rig;
  const auto header = [](uint32_t sges, uint32_t opcode, uint32_t flags, uint32_t immediate = 0) {
    return ernic::SqHeader{1, sges, 0, opcode, flags, Be32(immediate), 0};
  };
  const auto at3 = [&](const ernic::SqHeader& of) { return work<ErnicWire>(rig, 3, rig.slot(3), of); };
  put(rig.slot(7), ernic::SqHeader{0xabcdef, 2, 99, 0, 2 | 4, Be32(0), 0},
      ernic::RdmaOperation{0x123456789abcdef0, 0x55, 0});
  CHECK(work<ErnicWire>(rig, 8 + 7, rig.slot(7) + 80, ernic::Sge{0xa000, 10, 0x77}, ernic::Sge{0xb000, 20, 0x78}) ==
        "write signaled solicited id abcdef at 123456789abcdef0/55 a000+10/77 b000+20/78");
  CHECK(at3(header(0, 3, 0, 0xfeedf00d)) == "send_immediate id 1 imm feedf00d");
  CHECK(work<BasicErnicWire<true>>(rig, 3) == "send_immediate signaled id 1 imm feedf00d");
  CHECK(at3(header(0, 8, 0, 0xfeedf00d)) == "send_invalidate id 1 imm df0edfe");
  put(rig.slot(2) + 32, ernic::AtomicOperation{0x7000, 111, 222, 0x99, 0});
  put(rig.slot(2) + 80, ernic::Sge{0xc000, 8, 0x79});
  CHECK(work<ErnicWire>(rig, 2, rig.slot(2), header(1, 5, 0)) ==
        "compare_swap id 1 at 7000/99 add de compare 6f c000+8/79");
  CHECK(work<ErnicWire>(rig, 2, rig.slot(2), header(1, 6, 0)) == "fetch_add id 1 at 7000/99 add 6f c000+8/79");
  CHECK(work<ErnicWire>(rig, 2, rig.slot(2) + 80, ernic::Sge{0xc000, 4, 0x79}) == "atomic without one SGE of 8 bytes");
  CHECK(at3(header(1, 0, 8)) == "inline data is not supported");
  CHECK(at3(header(4, 0, 0)) == "more SGEs than fit into the entry");
  CHECK(at3(header(1, 9, 0)) == "unknown opcode");
  CHECK(at3(header(1, 0, 32)) == "unknown flags");
}

TEST_CASE("ernic: doorbells and ring states -> the ring's end or a fault") {
  ErnicRig rig;
  const auto rung = [&](uint32_t state, uint32_t value, uint64_t known) {
    rig.send_state[0] = state;
    return bell<ErnicWire>(rig, value, known);
  };
  CHECK(rung(2, send_bell | 0x33, 15) == "18");
  CHECK(rung(14, send_bell | 0x33, 16 + 9) == "30");
  CHECK(rung(14, send_bell | 0x33, 16 + 3) == "producer tail is beyond the ring");
  CHECK(rung(16, send_bell | 0x33, 12) == "producer tail is beyond the ring");
  CHECK(rung(14, send_bell | 0x11, 9) == "doorbell names another queue pair");
  CHECK(rung(14, 1u << 31 | 0x33, 9) == "doorbell is not for the send queue only");

  rig.config.rq_entries = 8;
  rig.send_state[2] = 14;
  const auto receives = [&](uint64_t value) { return ErnicWire::receive_producer(rig.config, rig.memory, value, 9); };
  CHECK(receives(1u << 31 | 0x33) == 14);
  CHECK(receives(send_bell | 0x33) == 9);
  CHECK(receives(doorbell_taken) == 9);
  ErnicWire::consumed(rig.config, rig.memory, 16 + 9);
  CHECK(rig.send_state[1] == 9);
  ErnicWire::receive_consumed(rig.config, rig.memory, 32 + 11);
  CHECK(rig.send_state[3] == 11);
  const auto consumer = [](uint32_t head, uint64_t known) { return ErnicWire::consumer(16, &head, nullptr, known); };
  CHECK(consumer(3, 30) == 35);
  CHECK(consumer(20, 32) == 32);
  CHECK(consumer(32, 30) == 30);
}

TEST_CASE("ernic: completions -> bytes") {
  ErnicRig rig;
  const auto end = [](uint64_t id) { return Bytes(64).le(0, 8, id).le(8, 8, 0x33); };
  CHECK(sent<ErnicWire>(rig, 19, Op::fetch_add, 7, 3) == end(send_id).le(16, 4, 4).le(24, 4, 24).value);
  CHECK(rig.cq_state[2] == 20);
  CHECK(sent<ErnicWire>(rig, 31, Op::send_invalidate, 7, 3, Outcome::flushed) ==
        end(send_id).le(20, 4, 5).le(40, 4, 0x77).value);
  CHECK(rig.cq_state[2] == 0);
  Bytes message = end(0x5a5a5).le(24, 4, 0x345).le(32, 4, 0x123456);
  message.be(28, 4, 0xcafef00d).le(36, 4, 2).le(16, 4, 129);
  CHECK(received<ErnicWire>(rig, 2, Op::write_immediate, 3) == message.value);
  CHECK(rig.receive_cq_state[2] == 3);
  message.le(16, 4, 128).le(28, 4, 0xcafef00d).le(36, 4, 4);
  CHECK(received<ErnicWire>(rig, 3, Op::send_invalidate, 3) == message.value);
  CHECK(received<ErnicWire>(rig, 4, Op::send, 3, Outcome::local_protection) ==
        end(0x5a5a5).le(16, 4, 128).le(20, 4, 4).le(40, 4, 0x77).value);
}

TEST_CASE("ernic: operations run -> the ring state follows the queues") {
  ErnicRig rig;
  uint8_t data[16] = "fifteen letters";
  uint8_t room[16]{};
  RdmaFabric fabric;
  const uint32_t key = fabric.keys().add(data, sizeof data);
  const uint32_t room_key = fabric.keys().add(room, sizeof room);
  RdmaQueuePairModel<ErnicWire> nic(fabric, rig.config, rig.memory);
  nic.connect(rig.config.qpn);
  put(rig.memory.rq, ernic::RqHeader{0x77, 1, 0}, ernic::Sge{reinterpret_cast<uint64_t>(room), 16, room_key});
  put(rig.slot(0), ernic::SqHeader{5, 1, 0, 3, 2, Be32(0x1234), 0});
  put(rig.slot(0) + 80, ernic::Sge{reinterpret_cast<uint64_t>(data), 16, key});
  put(rig.slot(1), ernic::SqHeader{6, 0, 0, 9, 0, Be32(0), 0});
  put(rig.slot(2), ernic::SqHeader{7, 0, 0, 2, 0, Be32(0), 0});
  rig.send_state[2] = 1;
  rig.rq_doorbell = doorbell_taken << 32 | 1u << 31 | 0x33;
  rig.send_state[0] = 3;
  rig.sq_doorbell = doorbell_taken << 32 | send_bell | 0x33;
  while (nic.pass()) {
  }
  CHECK(std::memcmp(data, room, 16) == 0);
  CHECK(nic.statistics().violations == std::vector<std::string>{"unknown opcode"});
  CHECK(rig.send_state[1] == 3);
  CHECK(rig.send_state[3] == 1);
  CHECK(rig.receive_cq_state[2] == 1);
  // The failed entry and what comes after it get completions that nobody asked for.
  REQUIRE(rig.cq_state[2] == 3);
  const Entry failed = entry_of<ErnicWire>(rig.memory.cq, 1);
  const Entry flushed = entry_of<ErnicWire>(rig.memory.cq, 2);
  CHECK((failed[0] == 6 && failed[20] == 2));
  CHECK((flushed[0] == 7 && flushed[20] == 5));
}

// Soft-RoCE.

TEST_CASE("rxe: entries -> operations or faults") {
  Rig rig(8, 9);
  using Wire = RxeWire<>;
  rxe::SendWqe wqe = rxe_wqe(0, 2, 30, 2, 0x123456789abcdef0);
  wqe.operation[1] = 0x55;
  const auto with = [&](auto change) {
    rxe::SendWqe changed = wqe;
    change(changed);
    return work<Wire>(rig, 15, rig.slot(7), changed, rxe::Sge{0xa000, 10, 0x77}, rxe::Sge{0xb000, 20, 0x78});
  };
  using Wqe = rxe::SendWqe;
  CHECK(with([](Wqe&) {}) == "write signaled id abcdef at 123456789abcdef0/55 a000+10/77 b000+20/78");
  CHECK(with([](Wqe& w) { w.iova = 0; }) == "the two remote addresses differ");
  CHECK(with([](Wqe& w) { w.dma.residue = 0; }) == "the residue is not the whole length");
  CHECK(with([](Wqe& w) { w.dma.current = 1; }) == "the current SGE is not the first");
  CHECK(with([](Wqe& w) { w.dma.sge_offset = 1; }) == "the SGE offset is not 0");
  CHECK(with([](Wqe& w) { w.state = 3; }) == "the kernel's fields of the entry are not in their initial state");
  CHECK(with([](Wqe& w) { w.dma.sges = 1; }) == "the remaining length differs from the SGEs'");
  CHECK(with([](Wqe& w) { w.dma.sges = 20; }) == "more SGEs than fit into the entry");
  CHECK(with([](Wqe& w) { w.header.send_flags = 16; }) == "unknown flags");
  CHECK(with([](Wqe& w) { w.header.opcode = 8; }) == "unknown opcode");
  CHECK(with([](Wqe& w) { w.header.opcode = 4, w.header.send_flags = 8; }) ==
        "inline data of an operation that returns data");
  CHECK(with([](Wqe& w) { w.header.send_flags = 8, w.dma.length = w.dma.residue = 305; }) ==
        "inline data longer than its entry");
  CHECK(with([](Wqe& w) { w.header.opcode = 6; }) == "atomic without one SGE of 8 bytes");

  wqe = rxe_wqe(3, 4 | 8, 304, 0);
  wqe.header.immediate = Be32(0xfeedf00d);
  count_up(rig.slot(1) + sizeof wqe, 304);
  CHECK(work<Wire>(rig, 1, rig.slot(1), wqe) == "send_immediate solicited id abcdef imm feedf00d inline 304");
  wqe = rxe_wqe(5, 0, 8, 1, 0x7000);
  wqe.operation[1] = 111;
  wqe.operation[2] = 222;
  wqe.operation[3] = 0x99;
  CHECK(work<Wire>(rig, 2, rig.slot(2), wqe, rxe::Sge{0xc000, 8, 0x79}) ==
        "compare_swap id abcdef at 7000/99 add de compare 6f c000+8/79");
  wqe.header.opcode = 6;
  CHECK(work<Wire>(rig, 2, rig.slot(2), wqe) == "fetch_add id abcdef at 7000/99 add 6f c000+8/79");
  wqe = rxe_wqe(7, 0, 0, 0);
  wqe.header.immediate.raw = 0x1234;
  CHECK(work<Wire>(rig, 3, rig.slot(3), wqe) == "local_invalidate id abcdef imm 1234");
}

TEST_CASE("rxe: doorbells and indices -> the ring's end or a fault") {
  Rig rig(8, 9);
  using Wire = RxeWire<>;
  rig.send_state[0] = 2;
  CHECK(bell<Wire>(rig, 0, 15) == "18");
  CHECK(bell<Wire>(rig, 0xffff, 15) == "18");
  rig.send_state[0] = 8;
  CHECK(bell<Wire>(rig, 0, 15) == "producer index is beyond the ring");
  CHECK(Wire::capacity(rig.config) == 7);
  CHECK(Wire::cq_capacity(16) == 15);
  rig.receive_state[0] = 3;
  CHECK(Wire::receive_producer(rig.config, rig.memory, doorbell_taken, 62) == 67);
  Wire::receive_consumed(rig.config, rig.memory, 64 + 9);
  CHECK(rig.receive_state[32] == 9);
  const uint32_t head = 3;
  CHECK(Wire::consumer(16, &head, nullptr, 30) == 35);
  // What was consumed is in the kernel's hands.
  put(rig.slot(7), rxe_wqe(2, 0, 30, 2));
  Wire::consumed(rig.config, rig.memory, 16);
  CHECK(rig.send_state[32] == 0);
  CHECK(work<Wire>(rig, 7) == "the residue is not the whole length");
  put(rig.slot(0), rxe_wqe(2, 0, 0, 0));
  Wire::consumed(rig.config, rig.memory, 17);
  CHECK(rig.send_state[32] == 1);
  CHECK(work<Wire>(rig, 0) == "the kernel's fields of the entry are not in their initial state");
}

TEST_CASE("rxe: completions -> bytes") {
  const Rig rig(8, 9);
  using Wire = RxeWire<>;
  const auto end = [](uint32_t bytes) { return Bytes(bytes).le(0, 8, send_id).le(28, 4, 0x11); };
  CHECK(sent<Wire>(rig, 18, Op::write_immediate, 7, 3) == end(128).le(12, 4, 1).le(20, 4, 24).le(36, 4, 2).value);
  CHECK(rig.cq_state[0] == 3);
  CHECK(sent<Wire>(rig, 15, Op::local_invalidate, 7, 3, Outcome::local_operation) == end(128).le(8, 4, 2).value);
  CHECK(rig.cq_state[0] == 0);
  CHECK(sent<RxeWire<64>>(rig, 9, Op::read, 7, 3) == end(64).le(12, 4, 2).le(20, 4, 24).value);
  Bytes message(128);
  message.le(0, 8, 0x5a5a5).le(20, 4, 0x345).be(24, 4, 0xcafef00d).le(28, 4, 0x11).le(36, 4, 3).le(46, 1, 1);
  CHECK(received<Wire>(rig, 2, Op::write_immediate, 3) == message.le(12, 4, 129).value);
  CHECK(rig.receive_cq_state[0] == 3);
  CHECK(received<Wire>(rig, 3, Op::send_immediate, 3) == message.le(12, 4, 128).value);
  message.le(24, 4, 0xcafef00d).le(36, 4, 9);
  CHECK(received<Wire>(rig, 4, Op::send_invalidate, 3) == message.value);
  CHECK(received<Wire>(rig, 5, Op::send, 3, Outcome::local_length) ==
        Bytes(128).le(0, 8, 0x5a5a5).le(8, 4, 1).le(28, 4, 0x11).value);
}

TEST_CASE("ernic and rxe: receives -> pieces or faults") {
  ErnicRig rig;
  const uint64_t none[2]{};
  put(rig.receive() + 32, ernic::Sge{0xb000, 20, 0x78});
  CHECK(receive<ErnicWire>(rig, ernic::RqHeader{0xabcdef, 2, 0}) == "id abcdef 0+0/0 b000+20/78");
  CHECK(receive<ErnicWire>(rig, ernic::RqHeader{0xabcdef, 8, 0}) == "more SGEs than fit into the receive entry");
  const auto of = [&](const decltype(rxe::ReceiveWqe::dma)& dma) {
    return receive<RxeWire<>>(rig, rxe::ReceiveWqe{0xabcdef, {}, dma}, rxe::Sge{0xb000, 20, 0x78}, none);
  };
  CHECK(of({20, 20, 0, 1, 0, 0}) == "id abcdef b000+20/78");
  CHECK(of({20, 19, 0, 1, 0, 0}) == "the residue is not the whole length");
  CHECK(of({21, 21, 0, 1, 0, 0}) == "the remaining length differs from the SGEs'");
  CHECK(of({20, 20, 0, 6, 0, 0}) == "more SGEs than fit into the receive entry");
}

// ConnectX.

TEST_CASE("mlx5: the doorbell record is ahead of the doorbell -> by a full ring at most and never behind") {
  Rig rig(4);
  rig.send_state[0] = byte_swap(0x10002u);
  for (const uint32_t entry : {0x1u, 0x0u, 0xffffu, 0xfffeu, 0xfffdu, 0x2u, 0x3u, 0xfffcu, 0x8000u}) {
    CAPTURE(entry);
    const uint64_t rung = byte_swap(entry << 8) | uint64_t{byte_swap(rig.config.qpn << 8 | 1)} << 32;
    CHECK((bell<Mlx5Wire<>>(rig, rung, 0xfffe) == std::to_string(0x10002)) == (entry < 2 || entry >= 0xfffd));
  }
}

TEST_CASE("mlx5: inline data -> it has the rest of its entry and no more", "[H12]") {
  Rig rig(256, 6);
  const auto write = [&](uint32_t bytes, uint32_t segments) {
    put(rig.memory.sq, mlx5::ControlSegment{Be32(8), Be32(0x11u << 8 | segments), Be32(8), Be32(0)});
    put(rig.memory.sq + 32, Be32(bytes | mlx5::inline_bit));
    return Mlx5Wire<>::read_work(rig.config, rig.memory, 0);
  };
  CHECK(write(28, 4).fault == "");
  CHECK(write(28, 4).bytes.size() == 28);
  for (const uint32_t bytes : {29u, 61u, 1u << 20, 0x7fffffffu}) {
    CAPTURE(bytes);
    CHECK(write(bytes, 4).fault == "inline data longer than its entry");
    CHECK(write(bytes, 4).bytes.empty());
  }
  CHECK(write(12, 4).fault == "");  // a pointer behind the data
  CHECK(write(0, 2).fault == "");
  CHECK(write(0, 1).fault == "entry shorter than its operation");
  rig.config.sq_units = 8;
  CHECK(write(28, 63).fault != "");
}

// All.

template <class Kits>
struct WiresOf;
template <class... Kit>
struct WiresOf<std::tuple<Kit...>> {
  using type = std::tuple<typename Kit::Wire..., BnxtWire<bnxt::WqeMode::variable>, IonicV2>;
};
using Wires = WiresOf<RdmaKits>::type;

/// log2 of the bytes of a vendor's units.
template <class Wire>
constexpr uint32_t unit_shift = 7;
template <>
constexpr uint32_t unit_shift<Mlx5Wire<>> = 6;
template <>
constexpr uint32_t unit_shift<BnxtWire<bnxt::WqeMode::variable>> = 4;
template <>
constexpr uint32_t unit_shift<RxeWire<>> = 9;

}  // namespace

TEMPLATE_LIST_TEST_CASE("any wire: an entry of any content -> it is read within its bounds", "", Wires) {
  constexpr uint32_t ring_bytes = 16u << 10;
  Rig rig(ring_bytes >> unit_shift<TestType>, unit_shift<TestType>);
  rig.config.handle = 0x321;
  std::mt19937_64 random(7);
  const auto word = [&](uint32_t kind) {
    // Of all bits, of few bits, and of small numbers: lengths, counts and opcodes that make sense come with those.
    const uint64_t any = random();
    return kind == 0 ? any : kind == 1 ? any & random() & random() & random() : any & 0x0f0000000f0f070f;
  };
  for (uint32_t round = 0; round < 3000; ++round) {
    for (uint64_t& one : rig.sq) one = word(round % 3);
    for (uint64_t& one : rig.rq) one = word(round % 3);
    for (const uint64_t index : {0u, 1u, 7u, rig.config.sq_units - 1}) {
      // What an entry is said to hold must have room in the ring.
      const RdmaWork read = TestType::read_work(rig.config, rig.memory, index);
      REQUIRE(read.bytes.size() <= std::min<size_t>(ring_bytes, 255 * 16));
      REQUIRE(read.pieces.size() <= std::min<size_t>(ring_bytes / 16, 255));
      REQUIRE(TestType::read_receive(rig.config, rig.memory, index).pieces.size() <= 8);
    }
  }
}
