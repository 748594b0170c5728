// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: admin commands and their status codes.

#include <array>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

uint64_t field(const DmaBuffer& page, size_t offset, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, static_cast<const char*>(page.data()) + offset, bytes);
  return value;
}

}  // namespace

TEST_CASE("creation and deletion of queues: every refusal") {
  NvmeConfig config = Host::stepped();
  config.queues = 4;
  config.mqes = 31;
  Host host(config);
  DmaBuffer memory = host.controller.allocate(65536, 4096);
  const uint64_t bus = memory.bus();
  CHECK(host.admin_code(Host::create_cq(1, 32, bus)) == 0);
  CHECK(host.admin_code(Host::create_cq(1, 32, bus)) == 0x101);  // exists
  CHECK(host.admin_code(Host::create_cq(0, 32, bus)) == 0x101);
  CHECK(host.admin_code(Host::create_cq(5, 32, bus)) == 0x101);  // more than there are
  CHECK(host.admin_code(Host::create_cq(200, 32, bus)) == 0x101);
  CHECK(host.admin_code(Host::create_cq(2, 1, bus)) == 0x102);   // one entry
  CHECK(host.admin_code(Host::create_cq(2, 33, bus)) == 0x102);  // more than MQES + 1
  CHECK(host.admin_code(Host::create_cq(2, 65536, bus)) == 0x102);
  CHECK(host.admin_code(Host::create_cq(2, 32, bus + 64)) == 0x013);
  CHECK(host.admin_code(Host::create_cq(2, 32, bus, 0)) == 0x002);  // PC = 0 with CAP.CQR = 1
  CHECK(host.admin_code(Host::create_cq(2, 32, bus, 3u | 3000u << 16)) == 0x108);
  CHECK(host.admin_code(Host::create_sq(2, 32, bus, 2)) == 0x100);  // no such CQ
  CHECK(host.admin_code(Host::create_sq(2, 32, bus, 0)) == 0x100);
  CHECK(host.admin_code(Host::create_sq(2, 32, bus, 9)) == 0x100);
  CHECK(host.admin_code(Host::create_sq(1, 32, bus + 4096, 1)) == 0);
  CHECK(host.admin_code(Host::create_sq(1, 32, bus + 4096, 1)) == 0x101);
  CHECK(host.admin_code(Host::create_sq(0, 32, bus, 1)) == 0x101);
  CHECK(host.admin_code(Host::create_sq(5, 32, bus, 1)) == 0x101);
  CHECK(host.admin_code(Host::create_sq(2, 33, bus, 1)) == 0x102);
  CHECK(host.admin_code(Host::create_sq(2, 1, bus, 1)) == 0x102);
  CHECK(host.admin_code(Host::create_sq(2, 32, bus + 8, 1)) == 0x013);
  CHECK(host.admin_code(Host::create_sq(2, 32, bus, 1, 0)) == 0x002);
  CHECK(dnr(host.run_admin(Host::create_sq(2, 32, bus, 1, 0))));
  CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0x10c);  // delete a CQ in use
  CHECK(host.admin_code(command(4, 0, 0, 0, 3)) == 0x101);
  CHECK(host.admin_code(command(4, 0, 0, 0, 0)) == 0x101);
  CHECK(host.admin_code(command(0, 0, 0, 0, 3)) == 0x101);
  CHECK(host.admin_code(command(0, 0, 0, 0, 0)) == 0x101);
  CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
  CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0);
  CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0x101);
  host.strictness.provoked({Kind::pointer});
}

TEST_CASE("several SQs may share a CQ") {
  Host host;
  Queue first = host.create_queue(1);
  Queue second = host.make_queue(2, 32, 64);
  REQUIRE(host.admin_code(Host::create_sq(2, 32, second.sq_memory.bus(), 1)) == 0);
  second.put(command(op_flush, 1), 1);
  second.ring();
  host.controller.run();
  const auto cqe = first.take();
  REQUIRE(cqe);
  CHECK(cqe->sqid == 2);
  CHECK(cqe->sqhd == 1);
  CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
  CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0x10c);
  CHECK(host.admin_code(command(0, 0, 0, 0, 2)) == 0);
  CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0);
}

TEST_CASE("queues as lists of pages: PC = 0", "[H25]") {
  NvmeConfig config = Host::stepped();
  config.contiguous_queues_required = false;
  Host host(config);
  // 512 SQEs are 8 pages, 512 CQEs are 2; the pages lie apart and in falling order.
  constexpr uint32_t entries = 512;
  DmaBuffer sq_pages = host.controller.allocate(16 * 4096, 4096);
  DmaBuffer cq_pages = host.controller.allocate(4 * 4096, 4096);
  DmaBuffer lists = host.controller.allocate(2 * 4096, 4096);
  const auto sq_page = [](uint32_t i) { return uint64_t{14 - 2 * i} * 4096; };
  const auto cq_page = [](uint32_t i) { return uint64_t{2 - 2 * i} * 4096; };
  for (uint32_t i = 0; i < 8; ++i) lists.as<uint64_t>()[i] = sq_pages.bus() + sq_page(i);
  for (uint32_t i = 0; i < 2; ++i) lists.as<uint64_t>(4096)[i] = cq_pages.bus() + cq_page(i);
  CHECK(host.admin_code(Host::create_cq(1, entries, lists.bus() + 4096 + 8, 0)) == 0x013);
  CHECK(host.admin_code(Host::create_cq(1, entries, 0x7000000000u, 0)) == 0x004);
  lists.as<uint64_t>(4096)[1] += 64;
  CHECK(host.admin_code(Host::create_cq(1, entries, lists.bus() + 4096, 0)) == 0x013);
  lists.as<uint64_t>(4096)[1] -= 64;
  REQUIRE(host.admin_code(Host::create_cq(1, entries, lists.bus() + 4096, 0)) == 0);
  REQUIRE(host.admin_code(Host::create_sq(1, entries, lists.bus(), 1, 0)) == 0);
  std::memset(lists.data(), 0, lists.size());  // the controller has read them
  uint32_t tail = 0, head = 0, phase = 1, good = 0;
  for (uint32_t i = 0; i < 3 * entries; ++i) {
    Sqe sqe = command(op_flush, 1);
    sqe.cdw0 |= i << 16;
    *sq_pages.as<Sqe>(sq_page(tail / 64) + tail % 64 * 64) = sqe;
    tail = (tail + 1) % entries;
    host.controller.write32(0x1000 + 8, tail);
    host.controller.step();
    const Cqe cqe = *cq_pages.as<Cqe>(cq_page(head / 256) + head % 256 * 16);
    good += (cqe.status == phase && cqe.cid == (i & 0xffff) && cqe.sqhd == tail);
    head = (head + 1) % entries;
    phase ^= head == 0;
    host.controller.write32(0x1000 + 12, head);
  }
  CHECK(good == 3 * entries);
  host.strictness.provoked({Kind::pointer, Kind::memory});
}

TEST_CASE("page list of a queue that spans pages itself") {
  NvmeConfig config = Host::stepped();
  config.contiguous_queues_required = false;
  config.mqes = 65535;
  Host host(config);
  // 65536 SQEs are 1024 pages: 511 entries and a chain, 511 and a chain, then 2.
  DmaBuffer sq = host.controller.allocate(65536 * 64, 4096);
  DmaBuffer cq = host.controller.allocate(65536 * 16, 4096);
  DmaBuffer lists = host.controller.allocate(3 * 4096, 4096);
  uint64_t* const list = lists.as<uint64_t>();
  uint32_t place = 0;
  for (uint32_t page = 0; page < 1024; ++page) {
    if (place % 512 == 511) {
      list[place] = lists.bus() + (place / 512 + 1) * 4096;
      ++place;
    }
    list[place++] = sq.bus() + page * 4096;
  }
  REQUIRE(host.admin_code(Host::create_cq(1, 65536, cq.bus())) == 0);
  REQUIRE(host.admin_code(Host::create_sq(1, 65536, lists.bus(), 1, 0)) == 0);
  uint32_t good = 0;
  for (uint32_t i = 0; i < 65535; ++i) {
    Sqe sqe = command(op_flush, 1);
    sqe.cdw0 |= i << 16;
    *sq.as<Sqe>(size_t{i} * 64) = sqe;
  }
  host.controller.write32(0x1008, 65535);
  host.controller.run();
  for (uint32_t i = 0; i < 65535; ++i)
    good += cq.as<Cqe>(size_t{i} * 16)->status == 1 && cq.as<Cqe>(size_t{i} * 16)->cid == i;
  CHECK(good == 65535);
  list[511] += 8;
  CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
  CHECK(host.admin_code(Host::create_sq(1, 65536, lists.bus(), 1, 0)) == 0x013);
  // Exactly 512 pages: the last entry of the list names a page of the queue.
  list[511] = sq.bus() + 511 * 4096;
  std::memset(sq.as<char>(511 * 4096), 0xff, 4096);
  REQUIRE(host.admin_code(Host::create_sq(1, 32768, lists.bus(), 1, 0)) == 0);
  CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
  host.strictness.provoked({Kind::pointer});
}

TEST_CASE("Identify Controller and Namespace") {
  NvmeConfig config = Host::stepped();
  config.namespaces = {{1, 1000, 512}, {3, 77, 4096}};
  config.mdts = 5;
  config.serial = "S1";
  config.sgl_dword_aligned = true;
  config.shadow_doorbells = false;
  config.volatile_write_cache = false;
  Host host(config);
  DmaBuffer page = host.controller.allocate(8192, 4096);
  const auto identify = [&](uint32_t cns, uint32_t nsid) {
    std::memset(page.data(), 0xee, 4096);
    return host.admin_code(command(6, nsid, page.bus(), 0, cns));
  };
  REQUIRE(identify(1, 0) == 0);
  CHECK(std::memcmp(page.as<char>(4), "S1                  xio in-process NVMe model", 44) == 0);
  CHECK(field(page, 77, 1) == 5);
  CHECK(field(page, 80, 4) == 0x10400);
  CHECK(field(page, 111, 1) == 1);
  CHECK(field(page, 256, 2) == 0);
  CHECK(field(page, 259, 1) == 3);
  CHECK(field(page, 512, 2) == 0x4466);
  CHECK(field(page, 516, 4) == 256);
  CHECK((field(page, 520, 2) & 0x8f) == 0x8f);
  CHECK(field(page, 525, 1) == 6);
  CHECK((field(page, 536, 4) & 3) == 2);
  REQUIRE(identify(0, 1) == 0);
  CHECK(field(page, 0, 8) == 1000);
  CHECK(field(page, 128, 4) == 9u << 16);
  REQUIRE(identify(0, 3) == 0);
  CHECK(field(page, 0, 8) == 77);
  CHECK(field(page, 8, 8) == 77);
  CHECK(field(page, 26, 1) == 0);
  CHECK(field(page, 128, 4) == 12u << 16);
  REQUIRE(identify(0, 2) == 0);  // inactive: all zeros
  CHECK(field(page, 0, 8) == 0);
  CHECK(identify(0, 0) == 0x00b);
  CHECK(identify(0, 257) == 0x00b);
  CHECK(identify(0, 0xffffffffu) == 0x00b);
  REQUIRE(identify(2, 0) == 0);
  CHECK(field(page, 0, 8) == (uint64_t{3} << 32 | 1));
  CHECK(field(page, 8, 4) == 0);
  REQUIRE(identify(2, 1) == 0);
  CHECK(field(page, 0, 8) == 3);
  CHECK(identify(2, 0xffffffffu) == 0x00b);
  REQUIRE(identify(3, 3) == 0);
  CHECK(field(page, 0, 2) == 0x0801);
  CHECK(identify(3, 2) == 0x002);
  CHECK(identify(0xfe, 0) == 0x002);
  CHECK(host.admin_code(command(6, 0, page.bus() + 2048, page.bus() + 4096, 1)) == 0);
  CHECK(host.admin_code(command(6, 0, page.bus() + 2, 0, 1)) == 0x013);
  CHECK(host.admin_code(command(6, 0, page.bus() + 2048, page.bus() + 4096 + 8, 1)) == 0x013);
  CHECK(host.admin_code(command(6, 0, 0x7000000000u, 0, 1)) == 0x004);
  CHECK(host.admin_code(command(6 | 1u << 14, 0, page.bus(), 4096, 1)) == 0x002);  // SGL on the admin queue
  CHECK(host.admin_code(command(6 | 1u << 8, 0, page.bus(), 0, 1)) == 0x002);      // fused
  CHECK(host.admin_code(command(0x55)) == 0x001);
  host.strictness.provoked({Kind::pointer, Kind::memory, Kind::reserved});
}

TEST_CASE("features") {
  NvmeConfig config = Host::stepped();
  config.queues = 6;
  Host host(config);
  const auto get = [&](uint32_t id, uint32_t select = 0) {
    return host.run_admin(command(0xa, 0, 0, 0, id | select << 8));
  };
  const auto set = [&](uint32_t id, uint32_t value) { return host.run_admin(command(9, 0, 0, 0, id, value)); };
  CHECK(set(7, 63u | 63u << 16).dw0 == (5u | 5u << 16));
  CHECK(get(7).dw0 == (5u | 5u << 16));
  CHECK(code_of(set(7, 0xffff)) == 0x002);
  CHECK(get(6).dw0 == 1);
  CHECK(code_of(set(6, 0)) == 0);
  CHECK(get(6).dw0 == 0);
  CHECK(get(6, 1).dw0 == 1);
  CHECK(get(6, 3).dw0 == 4);
  CHECK(code_of(set(0x0b, 0xff)) == 0);
  CHECK(get(0x0b).dw0 == 0xff);
  CHECK(code_of(get(0x55)) == 0x002);
  CHECK(code_of(set(0x55, 0)) == 0x002);
  CHECK(code_of(get(6, 4)) == 0x002);
  CHECK(code_of(host.run_admin(command(9, 0, 0, 0, 6 | 1u << 31, 0))) == 0x10d);
  host.create_queue(1);
  CHECK(code_of(set(7, 3u | 3u << 16)) == 0x00c);
  host.disable();
  host.enable();
  CHECK(get(6).dw0 == 1);
  CHECK(get(0x0b).dw0 == 0);
  config.volatile_write_cache = false;
  Host plain(config);
  CHECK(plain.admin_code(command(0xa, 0, 0, 0, 6)) == 0x002);
  CHECK(plain.admin_code(command(9, 0, 0, 0, 6, 1)) == 0x002);
}

TEST_CASE("Abort") {
  Host host;
  host.create_queue(1);
  Cqe cqe = host.run_admin(command(8, 0, 0, 0, 1u | 11u << 16));
  CHECK(code_of(cqe) == 0);
  CHECK(cqe.dw0 == 1);
  CHECK(host.admin_code(command(8, 0, 0, 0, 9)) == 0x002);
  NvmeConfig config = Host::stepped();
  config.aborts = true;
  Host able(config);
  Queue queue = able.create_queue(1);
  able.controller.faults().hold(Match().at(0));
  queue.put(command(op_flush, 1), 11);
  queue.put(command(op_flush, 1), 12);
  queue.ring();
  able.controller.run();
  CHECK(queue.take_all().size() == 1);
  CHECK(able.run_admin(command(8, 0, 0, 0, 1u | 12u << 16)).dw0 == 1);
  CHECK(able.run_admin(command(8, 0, 0, 0, 1u | 11u << 16)).dw0 == 0);
  const auto ended = queue.take_all();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].cid == 11);
  CHECK(code_of(ended[0]) == 0x007);
}

TEST_CASE("asynchronous events: doorbell errors, limit, SMART") {
  Host host;
  Queue queue = host.create_queue(1, 32, 64);
  DmaBuffer page = host.controller.allocate(4096, 4096);
  const auto event = [&](auto stimulus) -> uint32_t {
    host.admin.put(command(0xc), 0x7001);
    host.admin.ring();
    host.controller.run();
    REQUIRE(!host.admin.take());
    stimulus();
    host.controller.run();
    const auto cqe = host.admin.take();
    if (!cqe) return 0;
    host.admin.ring_head();
    CHECK(cqe->cid == 0x7001);
    CHECK(host.admin_code(command(2, 0xffffffffu, page.bus(), 0, (cqe->dw0 >> 16 & 0xff) | 15u << 16)) == 0);
    return cqe->dw0;
  };
  const auto write_word = [](uint32_t* word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); };
  // Without a request nothing is reported, and the queue goes on.
  write_word(queue.tail_doorbell, 200);
  host.controller.run();
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
  CHECK(event([&] { write_word(queue.tail_doorbell, 200); }) == 0x00010100);
  CHECK(event([&] { write_word(queue.tail_doorbell, 200); }) == 0x00010100);  // the same value once more
  CHECK(event([&] { write_word(queue.head_doorbell, 200); }) == 0x00010100);
  CHECK(event([&] { host.controller.write32(0x1000 + 9 * 8, 1); }) == 0x00010000);  // SQ 9 does not exist
  CHECK(event([&] { host.controller.write32(0x1000 + 9 * 8 + 4, 1); }) == 0x00010000);
  CHECK(event([&] { host.controller.write32(0x1000 + 100 * 8, 1); }) == 0x00010000);  // not even a register
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
  const auto statistics = host.controller.statistics();
  CHECK(statistics.queues[1].invalid_doorbells == 4);
  CHECK(statistics.stray_doorbells == 3);
  CHECK(statistics.async_events == 6);
  host.strictness.provoked({Kind::doorbell});

  Host quiet;
  quiet.create_queue(1);
  for (uint16_t i = 0; i < 5; ++i) quiet.admin.put(command(0xc), static_cast<uint16_t>(0x7000 + i));
  quiet.admin.ring();
  quiet.controller.run();
  const auto refused = quiet.admin.take_all();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].cid == 0x7004);
  CHECK(code_of(refused[0]) == 0x105);
  quiet.controller.set_critical_warning(4);  // not enabled
  quiet.controller.run();
  CHECK(!quiet.admin.take());
  CHECK(quiet.admin_code(command(9, 0, 0, 0, 0x0b, 0xff)) == 0);
  quiet.controller.set_critical_warning(4);
  quiet.controller.set_critical_warning(4);
  quiet.controller.run();
  const auto smart = quiet.admin.take_all();
  REQUIRE(smart.size() == 1);  // the second waits until the log is read
  CHECK(smart[0].dw0 == 0x00020001);
  DmaBuffer log = quiet.controller.allocate(512, 4096);
  quiet.admin.put(command(2, 0xffffffffu, log.bus(), 0, 2u | 127u << 16), 1);
  quiet.admin.ring();
  quiet.controller.run();
  const auto after = quiet.admin.take_all();
  REQUIRE(after.size() == 2);
  CHECK(*log.as<unsigned char>(0) == 4);
  CHECK(after[1].dw0 == 0x00020001);
}

TEST_CASE("log pages") {
  Host host;
  Queue queue = host.create_queue(1);
  DmaBuffer log = host.controller.allocate(4096, 4096);
  CHECK(host.code(queue, io(op_verify, 131070, 4)) == 0x080);
  CHECK(host.admin_code(command(2, 0xffffffffu, log.bus(), 0, 1u | 31u << 16)) == 0);
  CHECK(field(log, 0, 8) == 1);
  CHECK(field(log, 8, 2) == 1);
  CHECK(field(log, 12, 2) == (0x4080u << 1));
  CHECK(field(log, 16, 8) == 131070);
  CHECK(field(log, 24, 4) == 1);
  CHECK(host.admin_code(command(2, 0xffffffffu, log.bus(), 0, 2u | 127u << 16)) == 0);
  CHECK(field(log, 3, 1) == 100);
  CHECK(field(log, 176, 8) == 1);
  CHECK(host.admin_code(command(2, 0, log.bus(), 0, 3u | 127u << 16)) == 0);
  CHECK(host.admin_code(command(2, 0, log.bus(), 0, 5u | 1023u << 16)) == 0);
  CHECK(field(log, 4 * 6, 4) == 1);
  CHECK(field(log, 1024 + 4 * 2, 4) == 1);
  CHECK(host.admin_code(command(2, 0, log.bus(), 0, 0xc0u | 127u << 16)) == 0x109);
  Sqe shifted = command(2, 0, log.bus(), 0, 2u | 127u << 16, 0, 176);
  std::memset(log.data(), 0xee, 4096);
  CHECK(host.admin_code(shifted) == 0);
  CHECK(field(log, 0, 8) == 2);  // the unknown log page counts
  CHECK(field(log, 512 - 176, 1) == 0xee);
  shifted.cdw12 = 516;
  CHECK(host.admin_code(shifted) == 0x002);
  shifted.cdw12 = 2;
  CHECK(host.admin_code(shifted) == 0x002);
}

TEST_CASE("deleting an SQ aborts what it has in flight") {
  Host host;
  Queue queue = host.create_queue(1, 8, 16);
  host.controller.faults().hold(Match().at(0));
  host.controller.faults().delay_steps(Match().at(1), 1000, 1000);
  for (uint16_t i = 0; i < 3; ++i) queue.put(command(op_flush, 1), i);
  queue.ring();
  for (int i = 0; i < 5; ++i) host.controller.step();
  CHECK(queue.take_all().size() == 1);
  CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
  const auto ended = queue.take_all();
  REQUIRE(ended.size() == 2);
  CHECK(code_of(ended[0]) == 0x008);
  CHECK(code_of(ended[1]) == 0x008);
  CHECK(ended[0].cid + ended[1].cid == 1);
  CHECK(host.controller.statistics().in_flight == 0);
  CHECK(host.controller.statistics().busy_queues == 0);
  // The next queue of that number knows nothing of the old one.
  queue.tail = 0;
  REQUIRE(host.admin_code(Host::create_sq(1, 8, queue.sq_memory.bus(), 1)) == 0);
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
}

TEST_CASE("Doorbell Buffer Config: refusals") {
  Host host;
  DmaBuffer pages = host.controller.allocate(8192, 4096);
  CHECK(host.admin_code(command(0x7c, 0, pages.bus(), pages.bus() + 4100)) == 0x002);
  CHECK(host.admin_code(command(0x7c, 0, pages.bus() + 4, pages.bus() + 4096)) == 0x002);
  host.strictness.provoked({Kind::pointer});
  CHECK(host.admin_code(command(0x7c, 0, pages.bus(), pages.bus() + 4096)) == 0);
  NvmeConfig config = Host::stepped();
  config.shadow_doorbells = false;
  Host without(config);
  CHECK(without.admin_code(command(0x7c, 0, 4096, 8192)) == 0x001);
}
