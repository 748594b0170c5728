// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller on a thread of its own: many queues at once, changes of plan and memory meanwhile.

#include <atomic>
#include <memory>
#include <thread>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

constexpr uint32_t queue_depth = 16;

/// Writes, reads back and compares stamped blocks at full depth; completions in any order. Returns the number of
/// errors.
/// @param lap  called now and then
template <class Lap>
uint32_t exercise(Host& host, Queue& queue, uint32_t operations, uint64_t first_lba, Lap lap) {
  DmaBuffer memory = host.controller.allocate(queue_depth * 512, 4096);
  enum Step { idle, writing, reading };
  std::vector<Step> steps(queue_depth, idle);
  std::vector<uint64_t> stamps(queue_depth);
  uint32_t begun = 0, ended = 0, errors = 0;
  const xio::host::Timeout deadline(std::chrono::seconds(120));
  while (ended < operations && !deadline.passed()) {
    bool rung = false;
    for (uint32_t slot = 0; slot < queue_depth; ++slot) {
      if (steps[slot] != idle || begun == operations) continue;
      stamps[slot] = first_lba * 1000003 + begun++;
      for (uint32_t i = 0; i < 64; ++i) memory.as<uint64_t>(slot * 512)[i] = stamps[slot] + i;
      queue.put(io(op_write, first_lba + slot, 1, memory.bus() + slot * 512), static_cast<uint16_t>(slot));
      steps[slot] = writing;
      rung = true;
    }
    if (rung) queue.ring();
    bool taken = false;
    while (const auto cqe = queue.take()) {
      taken = true;
      const uint32_t slot = cqe->cid;
      errors += status_of(*cqe) != 0;
      if (steps[slot] == writing) {
        std::memset(memory.as<char>(slot * 512), 0, 512);
        queue.put(io(op_read, first_lba + slot, 1, memory.bus() + slot * 512), static_cast<uint16_t>(slot));
        queue.ring();
        steps[slot] = reading;
        continue;
      }
      for (uint32_t i = 0; i < 64; ++i) errors += memory.as<uint64_t>(slot * 512)[i] != stamps[slot] + i;
      steps[slot] = idle;
      if (++ended % 64 == 0) lap();
    }
    if (taken) queue.ring_head();
    if (!taken) sched_yield();
  }
  return errors + (operations - ended);
}

}  // namespace

TEST_CASE("four queues on four threads, random order and delays, plan and memory changing meanwhile") {
  NvmeConfig config;
  config.queues = 4;
  Host host(config);
  host.controller.faults().reorder(7);
  std::vector<Queue> queues;
  for (uint32_t qid = 1; qid <= 4; ++qid) queues.push_back(host.create_queue(qid, 64, 128));
  std::atomic<uint32_t> errors{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      uint32_t lap = 0;
      errors += exercise(host, queues[i], 2000, 1000 * i, [&] {
        // Memory comes and goes beside the traffic.
        DmaBuffer scratch = host.controller.allocate(4096, 4096);
        host.controller.faults().seed(++lap);
        if (i == 0) host.controller.faults().stall_cq(2, lap % 2 == 0);
      });
      if (i == 0) host.controller.faults().stall_cq(2, false);
    });
  }
  std::thread observer([&] {
    uint64_t last = 0;
    while (!stop.load()) {
      const auto statistics = host.controller.statistics();
      const uint64_t now = statistics.total(&xio::emulation::QueueStatistics::commands);
      errors += now < last;
      last = now;
      const FaultRule delay = host.controller.faults().delay_us(Match(), 0, 20);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      host.controller.faults().remove(delay);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop.store(true);
  observer.join();
  CHECK(errors.load() == 0);
  const auto statistics = host.controller.statistics();
  CHECK(statistics.total(&xio::emulation::QueueStatistics::commands) == 4 * 2000 * 2);
  CHECK(statistics.total(&xio::emulation::QueueStatistics::command_id_conflicts) == 0);
  CHECK(statistics.total(&xio::emulation::QueueStatistics::suspicious_tails) == 0);
  CHECK(statistics.total(&xio::emulation::QueueStatistics::suspicious_heads) == 0);
  CHECK(statistics.in_flight == 0);
  CHECK(statistics.max_busy_queues > 1);
}

TEST_CASE("shadow doorbells from another thread never lose a kick") {
  Host host{NvmeConfig{}};
  DmaBuffer pages = host.controller.allocate(8192, 4096);
  REQUIRE(host.admin_code(command(0x7c, 0, pages.bus(), pages.bus() + 4096)) == 0);
  Queue queue = host.create_queue(1, 64, 128);
  const auto ring = [&](bool completion) {
    uint32_t* const shadow = pages.as<uint32_t>() + 2 + completion;
    const uint32_t value = completion ? queue.head : queue.tail;
    const uint32_t before = __atomic_load_n(shadow, __ATOMIC_RELAXED);
    __atomic_exchange_n(shadow, value, __ATOMIC_SEQ_CST);
    const uint32_t event = __atomic_load_n(pages.as<uint32_t>(4096) + 2 + completion, __ATOMIC_SEQ_CST);
    if (static_cast<uint16_t>(value - event - 1) < static_cast<uint16_t>(value - before))
      completion ? queue.ring_head() : queue.ring();
  };
  uint32_t submitted = 0, completed = 0;
  const uint32_t operations = 2000;
  host.wait([&] {
    for (uint32_t burst = submitted % 7; burst != 0 || submitted == completed; --burst) {
      if (submitted == operations || submitted - completed == 40) break;
      queue.put(command(op_flush, 1), static_cast<uint16_t>(submitted++));
      ring(false);
      if (burst == 0) break;
    }
    while (queue.take()) {
      ++completed;
      ring(true);
    }
    return completed == operations;
  });
  CHECK(completed == operations);
}

TEST_CASE("reset and removal while commands are in flight") {
  NvmeConfig config;
  config.queues = 2;
  Host host(config);
  for (int round = 0; round < 20; ++round) {
    Queue queue = host.create_queue(1, 64, 128);
    DmaBuffer data = host.controller.allocate(4096, 4096);
    host.controller.faults().delay_us(Match().each(3), 50, 500);
    if (round % 4 == 3) host.controller.faults().fatal(Match().at(20));
    for (uint16_t i = 0; i < 40; ++i) queue.put(io(op_read, i, 1, data.bus()), i);
    queue.ring();
    if (round % 4 == 3) host.wait([&] { return (host.csts() & 2) != 0; });
    host.disable();
    host.controller.faults().clear();
    data = DmaBuffer();
    host.enable();
  }
  CHECK(host.controller.statistics().in_flight == 0);
  CHECK(host.controller.statistics().fatal_errors == 5);
  Queue queue = host.create_queue(1, 64, 128);
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
  host.controller.faults().remove_controller();
  CHECK(!host.controller.alive());
}

TEST_CASE("a rule holds for every command that is submitted after it was made, whatever the controller is doing then") {
  NvmeConfig config;
  config.queues = 2;
  Host host(config);
  Queue busy = host.create_queue(2, 64, 64);
  Queue queue = host.create_queue(1, 8, 8);
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 20000; ++round) {
    // Keeps the controller in the middle of its passes.
    for (; busy.take();) busy.ring_head();
    busy.put(command(op_flush, 1), static_cast<uint16_t>(round % 60));
    busy.ring();
    const FaultRule rule = host.controller.faults().fail(Match().on_queue(1), 0x281);
    wrong += host.code(queue, command(op_flush, 1)) != 0x281;
    host.controller.faults().remove(rule);
    wrong += host.code(queue, command(op_flush, 1)) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the order that a reference count gives is seen: a rule is read by one thread and freed by another") {
  // Nothing else orders the two. ThreadSanitizer reports them where a part of the program is compiled without it: of
  // alike inline functions, the linker keeps any one.
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 100; ++round) {
    auto rule = std::make_shared<xio::emulation::detail::Rule>();
    rule->least = round;
    uint64_t read = 0;
    std::thread reader([&read, copy = rule]() mutable {
      read = copy->least;
      copy.reset();
    });
    while (rule.use_count() != 1) std::this_thread::yield();
    rule.reset();
    reader.join();
    wrong += read != round;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the medium can be looked at beside the traffic") {
  Host host{NvmeConfig{}};
  Queue queue = host.create_queue(1, 64, 128);
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> torn{0};
  std::thread observer([&] {
    std::vector<uint64_t> block(64);
    while (!stop.load()) {
      host.controller.read_blocks(1, 3, 1, block.data());
      // Zeros at first, then whole stamps: a block is never half written.
      for (uint32_t i = 1; i < 64; ++i) torn += block[0] != 0 && block[i] != block[0] + i;
    }
  });
  CHECK(exercise(host, queue, 2000, 0, [] {}) == 0);
  stop.store(true);
  observer.join();
  CHECK(torn.load() == 0);
  CHECK_THROWS_AS(host.controller.step(), xio::host::Error);
}

TEST_CASE("buffers outlive the controller") {
  DmaBuffer buffer;
  {
    NvmeController model;
    buffer = model.allocate(4096, 4096);
  }
  std::memset(buffer.data(), 1, buffer.size());
}
