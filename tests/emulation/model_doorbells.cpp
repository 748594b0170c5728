// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: doorbells, their stride, shadow doorbells, full queues, and what it notices of
/// wrong values.

#include <algorithm>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

/// Shadow doorbells, with the host's half of the EventIdx rule.
struct ShadowHost : Host {
  explicit ShadowHost(const NvmeConfig& config = stepped()) : Host(config), pages(controller.allocate(8192, 4096)) {
    if (admin_code(command(0x7c, 0, pages.bus(), pages.bus() + 4096)) != 0) throw std::runtime_error("no shadow");
  }
  uint32_t* word(uint32_t qid, bool completion, bool event) {
    return pages.as<uint32_t>((event ? 4096u : 0u) + ((2 * qid + completion) << (2 + controller.config().dstrd)));
  }
  /// Returns whether the register had to be written.
  bool ring(Queue& queue, bool completion = false) {
    uint32_t* const shadow = word(queue.qid, completion, false);
    const uint32_t value = completion ? queue.head : queue.tail;
    const uint32_t before = __atomic_load_n(shadow, __ATOMIC_RELAXED);
    __atomic_exchange_n(shadow, value, __ATOMIC_SEQ_CST);
    const uint32_t event = __atomic_load_n(word(queue.qid, completion, true), __ATOMIC_SEQ_CST);
    const bool kick = static_cast<uint16_t>(value - event - 1) < static_cast<uint16_t>(value - before);
    if (kick) completion ? queue.ring_head() : queue.ring();
    return kick;
  }
  DmaBuffer pages;
};

}  // namespace

TEST_CASE("doorbell stride, H28") {
  NvmeConfig config = Host::stepped();
  config.dstrd = 2;
  config.queues = 3;
  Host host(config);
  Queue queue = host.create_queue(3);
  CHECK(queue.tail_doorbell - host.controller.doorbell_words() == 24);
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
  queue.put(command(op_flush, 1), 50);
  host.controller.write32(0x1000 + 6 * 4, queue.tail);  // as if the stride were 0: the CQ 0 head doorbell plus half
  host.controller.run();
  CHECK(!queue.take());
  host.controller.write32(0x1000 + 6 * 16, queue.tail);
  host.controller.run();
  CHECK(queue.take());
  CHECK(host.controller.statistics().stray_doorbells == 1);
  CHECK(host.controller.doorbell_bytes() >= 8 * 16);
  host.strictness.provoked({Kind::doorbell});
}

TEST_CASE("rings wrap, with phase and head pointers, for odd sizes") {
  for (const auto& sizes : {std::pair<uint32_t, uint32_t>{2, 2}, {33, 37}, {5, 3}, {64, 128}}) {
    Host host;
    Queue queue = host.create_queue(1, sizes.first, sizes.second);
    uint16_t cid = 0;
    for (uint32_t round = 0; round < 200; ++round) {
      const uint32_t count = 1 + round % std::min(sizes.first - 1, sizes.second - 1);
      for (uint32_t i = 0; i < count; ++i) queue.put(command(op_flush, 1), static_cast<uint16_t>(cid + i));
      queue.ring();
      host.controller.run();
      const auto done = queue.take_all();
      REQUIRE(done.size() == count);
      for (uint32_t i = 0; i < count; ++i) REQUIRE(done[i].cid == static_cast<uint16_t>(cid + i));
      CHECK(done.back().sqhd == queue.tail);
      cid = static_cast<uint16_t>(cid + count);
    }
    CHECK(host.controller.statistics().queues[1].suspicious_tails == 0);
    CHECK(host.controller.statistics().queues[1].suspicious_heads == 0);
  }
}

TEST_CASE("CQ full: seven of eight, then as many as were acknowledged") {
  Host host;
  Queue queue = host.create_queue(1, 64, 8);
  for (uint16_t i = 0; i < 20; ++i) queue.put(command(op_flush, 1), i);
  queue.ring();
  std::vector<size_t> portions;
  for (int i = 0; i < 4; ++i) {
    host.controller.run();
    portions.push_back(queue.take_all().size());
  }
  CHECK(portions == std::vector<size_t>{7, 7, 6, 0});
  CHECK(host.controller.statistics().queues[1].cq_full_stalls == 2);
  CHECK(host.controller.statistics().queues[1].cq_doorbells == 3);
}

TEST_CASE("a CQ that is full when a delayed command is done loses nothing") {
  Host host;
  Queue queue = host.create_queue(1, 64, 4);
  host.controller.faults().delay_steps(Match(), 3, 9);
  for (uint16_t i = 0; i < 20; ++i) queue.put(command(op_flush, 1), i);
  queue.ring();
  std::vector<bool> seen(20);
  size_t total = 0;
  for (int i = 0; i < 200 && total < 20; ++i) {
    host.controller.step();
    for (const Cqe& cqe : queue.take_all()) {
      CHECK(!seen[cqe.cid]);
      seen[cqe.cid] = true;
      ++total;
    }
  }
  CHECK(total == 20);
}

TEST_CASE("wrong doorbell values") {
  Host host;
  Queue queue = host.create_queue(1, 16, 64);
  const auto tail = [&](uint32_t value) {
    __atomic_store_n(queue.tail_doorbell, value, __ATOMIC_RELEASE);
    host.controller.run();
  };
  const auto counters = [&] { return host.controller.statistics().queues[1]; };
  for (uint16_t i = 0; i < 10; ++i) queue.put(command(op_flush, 1), i);
  tail(16);
  tail(0xfffffffe);
  CHECK(counters().invalid_doorbells == 2);
  CHECK(counters().commands == 0);
  // A ring with an older index overtakes a newer one, H10.
  host.controller.faults().stall_cq(1, true);
  tail(10);
  CHECK(counters().suspicious_tails == 0);
  tail(8);
  CHECK(counters().suspicious_tails == 1);
  CHECK(host.controller.statistics().in_flight == 8);
  host.controller.faults().stall_cq(1, false);
  host.controller.run();
  CHECK(queue.take_all().size() == 8);
  tail(10);
  CHECK(queue.take_all().size() == 2);
  // More entries than the host can know to be free.
  host.controller.faults().hold(Match());
  for (uint16_t i = 0; i < 12; ++i) queue.put(command(op_flush, 1), i);
  tail(queue.tail);
  CHECK(counters().suspicious_tails == 1);
  queue.put(command(op_flush, 1), 90);
  queue.put(command(op_flush, 1), 91);
  queue.put(command(op_flush, 1), 92);
  tail(queue.tail);
  CHECK(counters().suspicious_tails == 1);
  queue.put(command(op_flush, 1), 93);
  tail(queue.tail);
  CHECK(counters().suspicious_tails == 2);
  host.controller.faults().clear();
  host.controller.run();
  // CQ heads beyond what was posted are ignored.
  __atomic_store_n(queue.head_doorbell, queue.head + 20, __ATOMIC_RELEASE);
  host.controller.run();
  CHECK(counters().suspicious_heads == 1);
  const size_t done = queue.take_all().size();
  host.controller.run();
  CHECK(done + queue.take_all().size() == 16);
  host.strictness.provoked({Kind::doorbell});
}

TEST_CASE("an advance that is larger than any batch of the host") {
  NvmeConfig config = Host::stepped();
  config.plausible_advance = 4;
  Host host(config);
  Queue queue = host.create_queue(1, 32, 64);
  for (uint16_t i = 0; i < 4; ++i) queue.put(command(op_flush, 1), i);
  queue.ring();
  host.controller.run();
  CHECK(host.controller.statistics().queues[1].suspicious_tails == 0);
  for (uint16_t i = 0; i < 5; ++i) queue.put(command(op_flush, 1), i);
  queue.ring();
  host.controller.run();
  CHECK(host.controller.statistics().queues[1].suspicious_tails == 1);
  host.strictness.provoked({Kind::doorbell});
}

TEST_CASE("entries that were not stored before the doorbell show when fetched entries are poisoned, H9") {
  NvmeConfig config = Host::stepped();
  config.poison_fetched_entries = true;
  Host host(config);
  Queue queue = host.create_queue(1, 4, 8);
  for (uint32_t i = 0; i < 10; ++i) CHECK(host.code(queue, command(op_flush, 1)) == 0);
  queue.tail = (queue.tail + 1) % 4;  // rung, not stored: what was there a lap ago
  queue.ring();
  host.controller.run();
  const auto cqe = queue.take_all();
  REQUIRE(cqe.size() == 1);
  CHECK(cqe[0].cid == 0xffff);
  CHECK(code_of(cqe[0]) != 0);
  CHECK(host.controller.statistics().queues[1].stale_fetches == 1);
  host.strictness.provoked({Kind::entry, Kind::identifier, Kind::reserved});
}

TEST_CASE("shadow doorbells: a busy controller needs no kick, an idle one does") {
  ShadowHost host;
  Queue queue = host.create_queue(1, 32, 64);
  // The first one must kick: EventIdx is 0 and so is the old value.
  queue.put(command(op_flush, 1), 0);
  CHECK(host.ring(queue));
  queue.put(command(op_flush, 1), 1);
  CHECK(!host.ring(queue));  // not looked at yet: covered by the kick
  host.controller.run();
  CHECK(queue.take_all().size() == 2);
  CHECK(*host.word(1, false, true) == 2);
  // Idle now. A shadow alone moves nothing.
  queue.put(command(op_flush, 1), 2);
  *host.word(1, false, false) = queue.tail;
  host.controller.run();
  CHECK(queue.take_all().empty());
  queue.ring();
  host.controller.run();
  CHECK(queue.take_all().size() == 1);
  // The register's value does not matter, the shadow's does.
  queue.put(command(op_flush, 1), 3);
  queue.put(command(op_flush, 1), 4);
  *host.word(1, false, false) = queue.tail;
  __atomic_store_n(queue.tail_doorbell, queue.tail - 1, __ATOMIC_RELEASE);
  host.controller.run();
  CHECK(queue.take_all().size() == 2);
  // Busy: it looks again by itself.
  for (uint16_t i = 0; i < 8; ++i) queue.put(command(op_flush, 1), i);
  CHECK(host.ring(queue));
  host.controller.step(2);
  for (uint16_t i = 8; i < 12; ++i) queue.put(command(op_flush, 1), i);
  CHECK(!host.ring(queue));
  host.controller.run();
  CHECK(queue.take_all().size() == 12);
  CHECK(host.controller.statistics().queues[1].sq_doorbells == 4);
}

TEST_CASE("shadow doorbells over many laps, with few kicks where the queue is busy") {
  for (const uint8_t stride : {uint8_t{0}, uint8_t{2}}) {
    NvmeConfig config = Host::stepped();
    config.dstrd = stride;
    ShadowHost host(config);
    Queue queue = host.create_queue(2, 32, 64);
    uint32_t submitted = 0, completed = 0, kicks = 0;
    while (completed < 2000) {
      while (submitted - completed < 24 && submitted < 2000) {
        queue.put(command(op_flush, 1), static_cast<uint16_t>(submitted++));
        kicks += host.ring(queue);
      }
      host.controller.step(submitted == 2000 ? 100 : 3);
      while (queue.take()) ++completed;
      host.ring(queue, true);
    }
    CHECK(kicks < 200);
    CHECK(host.controller.statistics().queues[2].suspicious_tails == 0);
  }
}

TEST_CASE("a kick that repeats the value of the last one is not lost") {
  ShadowHost host;
  Queue queue = host.create_queue(1, 8, 64);
  for (int lap = 0; lap < 5; ++lap) {
    // Seven entries by shadow while the controller is awake, then the eighth idle: the register is always written
    // with 1.
    queue.put(command(op_flush, 1), 0);
    REQUIRE(queue.tail == 1);
    CHECK(host.ring(queue));
    host.controller.step(0);
    for (uint16_t i = 1; i < 7; ++i) queue.put(command(op_flush, 1), i);
    CHECK(!host.ring(queue));
    host.controller.step(3);
    queue.put(command(op_flush, 1), 7);
    CHECK(!host.ring(queue));
    host.controller.run();
    CHECK(queue.take_all().size() == 8);
    queue.tail = 0;
  }
}

TEST_CASE("a stale EventIdx loses the first kick of a new queue, H34") {
  for (const bool zeroed : {false, true}) {
    ShadowHost host;
    Queue queue = host.create_queue(1, 32, 64);
    for (uint16_t i = 0; i < 20; ++i) queue.put(command(op_flush, 1), i);
    host.ring(queue);
    host.controller.run();
    CHECK(queue.take_all().size() == 20);
    CHECK(host.admin_code(command(0, 0, 0, 0, 1)) == 0);
    CHECK(host.admin_code(command(4, 0, 0, 0, 1)) == 0);
    if (zeroed) {
      for (const bool completion : {false, true})
        *host.word(1, completion, false) = *host.word(1, completion, true) = 0;
    }
    queue = host.create_queue(1, 32, 64);
    *host.word(1, false, false) = 0;
    queue.put(command(op_flush, 1), 0);
    CHECK(host.ring(queue) == zeroed);
    host.controller.run();
    CHECK(queue.take_all().size() == (zeroed ? 1u : 0u));
  }
}

TEST_CASE("a full CQ sleeps until the head is kicked, where the shadow says so") {
  ShadowHost host;
  Queue queue = host.create_queue(1, 64, 8);
  for (uint16_t i = 0; i < 43; ++i) queue.put(command(op_flush, 1), i);
  host.ring(queue);
  size_t total = 0;
  for (int i = 0; i < 20; ++i) {
    host.controller.run();
    while (queue.take()) ++total;
    host.ring(queue, true);
  }
  CHECK(total == 43);
  // Without the kick it stays asleep.
  for (uint16_t i = 0; i < 20; ++i) queue.put(command(op_flush, 1), i);
  host.ring(queue);
  host.controller.run();
  while (queue.take()) ++total;
  CHECK(total == 50);
  CHECK(*host.word(1, true, true) == 3);  // where the head was when the queue became full
  *host.word(1, true, false) = queue.head;
  host.controller.run();
  CHECK(!queue.take());
  queue.ring_head();
  host.controller.run();
  CHECK(queue.take());
}

TEST_CASE("queues that exist go over to the shadow; the admin queue keeps its registers") {
  Host host;
  Queue queue = host.create_queue(1);
  for (int i = 0; i < 5; ++i) CHECK(host.code(queue, command(op_flush, 1)) == 0);
  DmaBuffer pages = host.controller.allocate(8192, 4096);
  CHECK(host.admin_code(command(0x7c, 0, pages.bus(), pages.bus() + 4096)) == 0);
  CHECK(pages.as<uint32_t>()[2] == 5);
  CHECK(pages.as<uint32_t>()[3] == 5);
  CHECK(pages.as<uint32_t>(4096)[2] == 5);
  CHECK(host.admin_code(command(0x0a, 0, 0, 0, 7)) == 0);
  queue.put(command(op_flush, 1), 1);
  pages.as<uint32_t>()[2] = queue.tail;
  queue.ring();
  host.controller.run();
  CHECK(queue.take());
  pages = DmaBuffer();  // unmapped shadow: fatal when it is looked at
  queue.put(command(op_flush, 1), 2);
  queue.ring();
  host.controller.run();
  CHECK(host.csts() == 3);
  host.strictness.provoked({Kind::memory});
}
