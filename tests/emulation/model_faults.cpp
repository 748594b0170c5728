// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: every fault of the fault plan.

#include <algorithm>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

struct FaultHost : Host {
  explicit FaultHost(const NvmeConfig& config = stepped(), uint32_t entries = 64)
      : Host(config), queue(create_queue(1, entries, 2 * entries)), data(controller.allocate(65536, 4096)) {}
  void submit(uint32_t count, uint32_t first = 0) {
    for (uint32_t i = first; i < first + count; ++i)
      queue.put(io(op_read, i, 1, data.bus() + 512 * (i % 128)), static_cast<uint16_t>(i));
    queue.ring();
  }
  std::vector<uint16_t> cids() {
    std::vector<uint16_t> all;
    for (const Cqe& cqe : queue.take_all()) all.push_back(cqe.cid);
    return all;
  }
  std::vector<uint16_t> statuses() {
    std::vector<uint16_t> all;
    for (const Cqe& cqe : queue.take_all()) all.push_back(status_of(cqe));
    return all;
  }
  xio::emulation::FaultPlan& plan() { return controller.faults(); }

  Queue queue;
  DmaBuffer data;
};

std::vector<uint16_t> ascending(uint16_t count) {
  std::vector<uint16_t> all;
  for (uint16_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("errors at operation k, on each n-th, on an LBA range, once and for ever") {
  FaultHost host;
  const FaultRule third = host.plan().fail(Match().at(3), 0x4281);
  host.submit(8);
  host.controller.run();
  CHECK(host.statuses() == std::vector<uint16_t>{0, 0, 0, 0x4281, 0, 0, 0, 0});
  CHECK(third.seen() == 8);
  CHECK(third.hits() == 1);
  host.plan().clear();
  Match every = Match().each(3);
  every.skip = 1;
  every.times = 2;
  host.plan().fail(every, 0x006);
  host.submit(10);
  host.controller.run();
  CHECK(host.statuses() == std::vector<uint16_t>{0, 6, 0, 0, 6, 0, 0, 0, 0, 0});
  host.plan().clear();
  const FaultRule bad = host.plan().fail(Match().with_lba(100, 101), 0x281);
  CHECK(host.code(host.queue, io(op_read, 92, 8, host.data.bus())) == 0);
  CHECK(host.code(host.queue, io(op_read, 93, 8, host.data.bus())) == 0x281);
  CHECK(host.code(host.queue, io(op_write, 101, 1, host.data.bus())) == 0x281);
  CHECK(host.code(host.queue, io(op_read, 102, 1, host.data.bus())) == 0);
  CHECK(host.code(host.queue, command(op_flush, 1)) == 0);
  host.plan().remove(bad);
  CHECK(host.code(host.queue, io(op_read, 100, 1, host.data.bus())) == 0);
  // By opcode, namespace, identifier, queue.
  host.plan().fail(Match().with_opcode(op_write).once(), 0x280);
  CHECK(host.code(host.queue, io(op_read, 0, 1, host.data.bus())) == 0);
  CHECK(host.code(host.queue, io(op_write, 0, 1, host.data.bus())) == 0x280);
  CHECK(host.code(host.queue, io(op_write, 0, 1, host.data.bus())) == 0);
  host.plan().clear();
  host.plan().fail(Match().with_nsid(2), 0x006);
  host.plan().fail(Match().on_queue(2), 0x006);
  host.plan().fail(Match().with_cid(9), 0x007);
  host.submit(10);
  host.controller.run();
  CHECK(host.statuses() == std::vector<uint16_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
}

TEST_CASE("nothing is transferred where a command fails on order") {
  FaultHost host;
  host.data.as<unsigned char>()[0] = 0x11;
  host.plan().fail(Match().at(0), 0x280);
  CHECK(host.code(host.queue, io(op_write, 0, 1, host.data.bus())) == 0x280);
  unsigned char block[512];
  host.controller.read_blocks(1, 0, 1, block);
  CHECK(block[0] == 0);
}

TEST_CASE("admin commands fail only where the rule names queue 0") {
  FaultHost host;
  host.plan().fail(Match(), 0x006);
  CHECK(host.admin_code(command(0x0a, 0, 0, 0, 7)) == 0);
  host.plan().clear();
  host.plan().fail(Match().on_queue(0).with_opcode(6), 0x4006);
  CHECK(host.admin_code(command(6, 0, host.data.bus(), 0, 1)) == 0x006);
  CHECK(host.admin_code(command(0x0a, 0, 0, 0, 7)) == 0);
  CHECK(host.code(host.queue, command(op_flush, 1)) == 0);
  host.plan().clear();
  const FaultRule held = host.plan().hold(Match().on_queue(0).once());
  host.admin.put(command(0x0a, 0, 0, 0, 7), 1);
  host.admin.ring();
  host.controller.run();
  CHECK(!host.admin.take());
  CHECK(held.hits() == 1);
  host.plan().resume(held);
  host.controller.run();
  CHECK(host.admin.take_all().size() == 1);
}

TEST_CASE("a held command is overtaken, and ends after resume") {
  FaultHost host;
  const FaultRule held = host.plan().hold(Match().at(1));
  host.submit(4);
  host.controller.run();
  CHECK(host.cids() == std::vector<uint16_t>{0, 2, 3});
  CHECK(host.run_admin(command(8, 0, 0, 0, 1u | 1u << 16)).dw0 == 1);  // not aborted
  CHECK(host.controller.statistics().in_flight == 1);
  // The SQ goes round more than once meanwhile, H36.
  for (uint32_t lap = 0; lap < 4; ++lap) {
    host.submit(50, 100 + lap * 50);
    host.controller.run();
    CHECK(host.cids().size() == 50);
  }
  host.plan().resume(held);
  host.controller.run();
  CHECK(host.cids() == std::vector<uint16_t>{1});
  CHECK(host.controller.statistics().queues[1].command_id_conflicts == 0);
}

TEST_CASE("data moves when the completion does, not when the command is fetched") {
  FaultHost host;
  const FaultRule held = host.plan().hold(Match().at(0));
  unsigned char* const data = host.data.as<unsigned char>();
  data[0] = 1;
  host.queue.put(io(op_write, 5, 1, host.data.bus()), 0);
  host.queue.ring();
  host.controller.run();
  data[0] = 2;  // too early: the command is in flight
  host.plan().resume(held);
  host.controller.run();
  CHECK(host.cids().size() == 1);
  unsigned char block[512];
  host.controller.read_blocks(1, 5, 1, block);
  CHECK(block[0] == 2);
}

TEST_CASE("delays in steps") {
  FaultHost host;
  host.plan().delay_steps(Match(), 5, 5);
  host.submit(3);
  for (int i = 0; i < 5; ++i) {
    host.controller.step();
    CHECK(host.cids().empty());
  }
  host.controller.step();
  CHECK(host.cids() == ascending(3));
  // Random ones arrive in another order, the same one for the same seed.
  host.plan().clear();
  host.plan().delay_steps(Match(), 1, 50);
  std::vector<std::vector<uint16_t>> orders;
  for (const uint64_t seed : {7u, 7u, 8u}) {
    host.plan().seed(seed);
    host.submit(40);
    std::vector<uint16_t> order;
    for (int i = 0; i < 60; ++i) {
      host.controller.step();
      const auto some = host.cids();
      order.insert(order.end(), some.begin(), some.end());
    }
    REQUIRE(order.size() == 40);
    orders.push_back(order);
  }
  CHECK(orders[0] != ascending(40));
  CHECK(orders[0] == orders[1]);
  CHECK(orders[0] != orders[2]);
  std::sort(orders[2].begin(), orders[2].end());
  CHECK(orders[2] == ascending(40));
}

TEST_CASE("delays in microseconds") {
  FaultHost host;
  host.plan().delay_us(Match(), 3000, 3000);
  host.submit(3);
  const auto start = std::chrono::steady_clock::now();
  size_t done = 0;
  host.wait([&] { return (done += host.cids().size()) == 3; });
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::microseconds(3000));
  CHECK_THROWS_AS(host.plan().delay_us(Match(), 2, 1), xio::host::Error);
  CHECK_THROWS_AS(host.plan().hold(Match().each(0)), xio::host::Error);
}

TEST_CASE("reordering within a window") {
  FaultHost host;
  host.plan().reorder(8);
  std::vector<uint16_t> order;
  for (uint32_t round = 0; round < 10; ++round) {
    host.submit(40);
    host.controller.run();
    order = host.cids();
    REQUIRE(order.size() == 40);
    CHECK(order != ascending(40));
    // Nothing is completed before it is among the eight that were fetched last.
    for (size_t i = 0; i < order.size(); ++i) CHECK(order[i] < i + 8);
    std::sort(order.begin(), order.end());
    CHECK(order == ascending(40));
  }
  host.submit(3);  // fewer than the window: they end all the same
  host.controller.run();
  CHECK(host.cids().size() == 3);
  host.plan().reorder(0);
  host.submit(40);
  host.controller.run();
  CHECK(host.cids() == ascending(40));
}

TEST_CASE("a dropped completion, and its release") {
  FaultHost host;
  fill(host.data.data(), 4096, 6);
  const FaultRule dropped = host.plan().drop(Match().at(1));
  host.submit(3);
  host.controller.run();
  CHECK(host.cids() == std::vector<uint16_t>{0, 2});
  CHECK(host.controller.statistics().in_flight == 1);
  CHECK(host.data.as<unsigned char>(512)[0] == 0);  // executed it was
  host.plan().release(dropped);
  host.controller.run();
  CHECK(host.cids() == std::vector<uint16_t>{1});
  CHECK(host.controller.statistics().in_flight == 0);
  // For good.
  const FaultRule lost = host.plan().drop(Match().at(0));
  host.submit(1);
  host.controller.run();
  host.plan().remove(lost);
  host.controller.run();
  CHECK(host.cids().empty());
}

TEST_CASE("a completion that comes twice") {
  FaultHost host;
  host.plan().duplicate(Match().at(1));
  host.submit(3);
  host.controller.run();
  CHECK(host.cids() == std::vector<uint16_t>{0, 1, 1, 2});
  CHECK(host.controller.statistics().queues[1].completions == 3);
}

TEST_CASE("a CQ that stalls") {
  FaultHost host;
  host.plan().stall_cq(1, true);
  host.submit(3);
  host.controller.run();
  CHECK(host.cids().empty());
  host.plan().stall_cq(1, false);
  host.controller.run();
  CHECK(host.cids() == ascending(3));
}

TEST_CASE("doorbells that are not noticed") {
  FaultHost host;
  const FaultRule ignored = host.plan().ignore_doorbells(1, 2);
  host.submit(1);
  host.controller.run();
  host.submit(1, 1);
  host.controller.run();
  CHECK(host.cids().empty());
  CHECK(ignored.hits() == 2);
  host.submit(1, 2);
  host.controller.run();
  CHECK(host.cids() == ascending(3));
  // Only doorbells count, not commands.
  host.submit(4);
  host.controller.step(1);
  host.plan().ignore_doorbells(1, 1);
  host.controller.run();
  CHECK(host.cids() == ascending(4));
  host.submit(1);
  host.controller.run();
  CHECK(host.cids().empty());
}

TEST_CASE("a command that is fatal for the controller, and what was in flight") {
  FaultHost host;
  host.plan().hold(Match().at(0));
  host.plan().fatal(Match().at(4));
  host.submit(8);
  host.controller.run();
  CHECK(host.csts() == 3);
  CHECK(host.cids() == std::vector<uint16_t>{1, 2, 3});
  host.disable();
  CHECK(host.controller.statistics().in_flight == 0);
  CHECK(host.controller.statistics().busy_queues == 0);
  host.enable();
  host.queue = host.create_queue(1, 64, 128);
  host.submit(8);
  host.controller.run();
  CHECK(host.cids() == ascending(8));  // the rules were for operations 0 and 4
}

TEST_CASE("lost, torn and misdirected writes report success") {
  FaultHost host;
  unsigned char block[1024];
  std::memset(host.data.data(), 0x21, 4096);
  host.plan().lose_data(Match().at(0));
  CHECK(host.code(host.queue, io(op_write, 10, 1, host.data.bus())) == 0);
  host.controller.read_blocks(1, 10, 1, block);
  CHECK(block[0] == 0);
  host.plan().clear();
  host.plan().tear_data(Match().at(0), 700);
  CHECK(host.code(host.queue, io(op_write, 10, 2, host.data.bus())) == 0);
  host.controller.read_blocks(1, 10, 2, block);
  CHECK(block[699] == 0x21);
  CHECK(block[700] == 0);
  host.plan().clear();
  host.plan().misdirect(Match().at(0), 3);
  CHECK(host.code(host.queue, io(op_write, 20, 1, host.data.bus())) == 0);
  host.controller.read_blocks(1, 20, 1, block);
  CHECK(block[0] == 0);
  host.controller.read_blocks(1, 23, 1, block);
  CHECK(block[0] == 0x21);
  host.plan().clear();
  host.plan().misdirect(Match().with_opcode(op_read), 131072);
  CHECK(host.code(host.queue, io(op_read, 131071, 1, host.data.bus() + 4096)) == 0);  // stays inside of the namespace
}

TEST_CASE("rules act together: held, then delayed, then reordered, then failed") {
  FaultHost host;
  const FaultRule held = host.plan().hold(Match().at(2));
  host.plan().delay_steps(Match().at(2), 10, 10);
  host.plan().fail(Match().at(2), 0x285);
  host.plan().reorder(2);
  host.submit(5);
  host.controller.run();
  auto first = host.cids();
  std::sort(first.begin(), first.end());
  CHECK(first == std::vector<uint16_t>{0, 1, 3, 4});
  host.plan().resume(held);
  for (int i = 0; i < 8; ++i) host.controller.step();
  CHECK(!host.queue.take());
  for (int i = 0; i < 8; ++i) host.controller.step();
  CHECK(host.statuses() == std::vector<uint16_t>{0x285});
}
