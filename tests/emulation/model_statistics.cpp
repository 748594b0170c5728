// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: numbers in flight, busy queues, low water; and the description of a controller as
/// text.

#include "../catch.hpp"
#include "model_host.hpp"

#include <xio/host/emulation/nvme/emulated_spec.hpp>

using namespace model_test;
using xio::emulation::parse_emulated_spec;

namespace {

void submit(Queue& queue, uint32_t count, uint32_t first = 0) {
  for (uint32_t i = 0; i < count; ++i) queue.put(command(op_flush, 1), static_cast<uint16_t>(first + i));
  queue.ring();
}

std::string refusal(const std::string& text) {
  try {
    parse_emulated_spec(text);
  } catch (const xio::host::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("commands in flight, and queues that are busy at the same time, H32") {
  Host host;
  std::vector<Queue> queues;
  for (uint32_t qid = 1; qid <= 4; ++qid) queues.push_back(host.create_queue(qid));
  // One after the other: never more than one queue is busy.
  for (Queue& queue : queues) {
    submit(queue, 5);
    host.controller.run();
    CHECK(queue.take_all().size() == 5);
  }
  auto statistics = host.controller.statistics();
  CHECK(statistics.max_busy_queues == 1);
  CHECK(statistics.max_in_flight == 5);
  CHECK(statistics.busy_queues_histogram[1] == 20);
  CHECK(statistics.queues[2].in_flight_histogram[5] == 1);
  CHECK(statistics.queues[2].in_flight_histogram[1] == 1);
  CHECK(statistics.total(&xio::emulation::QueueStatistics::commands) == 20);
  host.controller.reset_statistics();
  CHECK(host.controller.statistics().max_busy_queues == 0);
  CHECK(host.controller.statistics().total(&xio::emulation::QueueStatistics::commands) == 0);
  // All at once.
  const FaultRule held = host.controller.faults().hold(Match());
  for (Queue& queue : queues) submit(queue, 3);
  host.controller.run();
  statistics = host.controller.statistics();
  CHECK(statistics.busy_queues == 4);
  CHECK(statistics.in_flight == 12);
  CHECK(statistics.queues[3].in_flight == 3);
  CHECK(statistics.max_busy_queues == 4);
  CHECK(statistics.queues[3].max_in_flight == 3);
  host.controller.faults().resume(held);
  host.controller.run();
  statistics = host.controller.statistics();
  CHECK(statistics.busy_queues == 0);
  CHECK(statistics.in_flight == 0);
  CHECK(statistics.max_in_flight == 12);
}

TEST_CASE("low water tells a sliding window from filling and draining, H33") {
  const uint32_t depth = 16;
  for (const uint32_t batch : {1u, 4u, 16u}) {
    Host host;
    Queue queue = host.create_queue(1, 32, 64);
    host.controller.faults().reorder(64);  // larger than the depth: one completion in each step
    host.controller.watch_in_flight(1, depth);
    uint32_t submitted = depth, completed = 0;
    submit(queue, depth);
    while (completed < 500) {
      host.controller.step();
      while (queue.take()) {
        ++completed;
        queue.ring_head();
        if (submitted - completed == depth - batch) {
          submit(queue, batch, submitted);
          submitted += batch;
        }
      }
    }
    const auto statistics = host.controller.statistics().queues[1];
    CHECK(statistics.max_in_flight == depth);
    CHECK(statistics.low_water == depth - batch);
  }
  Host host;
  CHECK_THROWS_AS(host.controller.watch_in_flight(65, 1), xio::host::Error);
  CHECK_THROWS_AS(host.controller.watch_in_flight(1, 0), xio::host::Error);
  CHECK(host.controller.statistics().queues[1].low_water == ~uint64_t{0});
}

TEST_CASE("doorbells seen") {
  Host host;
  Queue queue = host.create_queue(1);
  for (uint32_t i = 0; i < 10; ++i) {
    submit(queue, 1, i);
    host.controller.run();
    queue.take_all();
  }
  host.controller.run();
  CHECK(host.controller.statistics().queues[1].sq_doorbells == 10);
  CHECK(host.controller.statistics().queues[1].cq_doorbells == 10);
  submit(queue, 1);
  submit(queue, 1);  // before anybody looked: polling sees one
  host.controller.run();
  CHECK(host.controller.statistics().queues[1].sq_doorbells == 11);
}

TEST_CASE("a description as text") {
  const auto plain = parse_emulated_spec("emulated");
  CHECK(plain.config.namespaces.size() == 1);
  CHECK(plain.config.namespaces[0].block_bytes == 512);
  CHECK(plain.config.namespaces[0].blocks == 131072);
  const auto all = parse_emulated_spec(
      "emulated:lba=4096,size=64M,queues=8,mdts=3,mqes=1023,dstrd=2,mpsmin=1,cqr=0,sgl=0,dbbuf=0,vwc=0,aborts=1,"
      "cid_check=0,poison=1,discard=1,delay=5-50,reorder=8,seed=9,serial=abc,"
      "fail=read-281-100/flush-006");
  CHECK(all.config.namespaces[0].blocks == 16384);
  CHECK(all.config.queues == 8);
  CHECK(all.config.mdts == 3);
  CHECK(all.config.mqes == 1023);
  CHECK(all.config.dstrd == 2);
  CHECK(all.config.mpsmin == 1);
  CHECK(!all.config.contiguous_queues_required);
  CHECK(!all.config.sgl);
  CHECK(!all.config.shadow_doorbells);
  CHECK(!all.config.volatile_write_cache);
  CHECK(all.config.aborts);
  CHECK(!all.config.check_command_ids);
  CHECK(all.config.poison_fetched_entries);
  CHECK(all.config.discard_data);
  CHECK(all.delay_least_us == 5);
  CHECK(all.delay_most_us == 50);
  CHECK(all.reorder == 8);
  CHECK(all.seed == 9);
  CHECK(all.config.serial == "abc");
  REQUIRE(all.failures.size() == 2);
  CHECK(all.failures[0].opcode == op_read);
  CHECK(all.failures[0].status == 0x281);
  CHECK(all.failures[0].every == 100);
  CHECK(all.failures[1].opcode == op_flush);
  CHECK(all.failures[1].status == 0x006);
  CHECK(all.failures[1].every == 1);
  const auto values = parse_emulated_spec("emulated:keys=16/0/3,values=1M/0/7,size=2M,fail=store-181/delete-087-3");
  REQUIRE(values.config.namespaces.size() == 3);
  CHECK(values.config.namespaces[0].key_values);
  CHECK(values.config.namespaces[0].longest_key == 16);
  CHECK(values.config.namespaces[0].longest_value == 1 << 20);
  CHECK_FALSE(values.config.namespaces[1].key_values);
  CHECK(values.config.namespaces[2].longest_key == 3);
  CHECK(values.config.namespaces[2].longest_value == 7);
  REQUIRE(values.failures.size() == 2);
  CHECK(values.failures[0].opcode == 0x01);
  CHECK(values.failures[1].opcode == 0x10);
  CHECK(Host(Host::stepped(values.config)).controller.description() ==
        "in-process NVMe model, not a drive (2097152 bytes of values under keys, 4096 blocks of 512 bytes, "
        "2097152 bytes of values under keys, 64 queues)");
  const auto two = parse_emulated_spec("emulated:lba=512/4096,size=1M/2M,delay=7");
  REQUIRE(two.config.namespaces.size() == 2);
  CHECK(two.config.namespaces[0].blocks == 2048);
  CHECK(two.config.namespaces[1].nsid == 2);
  CHECK(two.config.namespaces[1].blocks == 512);
  CHECK(two.delay_most_us == 7);
  CHECK(parse_emulated_spec("emulated:lba=512/4096").config.namespaces[1].blocks == 16384);

  Host host(Host::stepped(parse_emulated_spec("emulated:size=1M,reorder=4").config));
  parse_emulated_spec("emulated:reorder=4").apply(host.controller.faults());
  CHECK(host.controller.description().find("2048 blocks of 512 bytes") != std::string::npos);
}

TEST_CASE("what is not understood is said in one line") {
  CHECK(refusal("emulated:lba=4096").empty());
  for (const char* text : {"qemu",
                           "emulatedx",
                           "emulated,lba=512",
                           "emulated:lba",
                           "emulated:=5",
                           "emulated:foo=1",
                           "emulated:lba=1000",
                           "emulated:lba=",
                           "emulated:lba=256",
                           "emulated:size=100",
                           "emulated:size=abc",
                           "emulated:size=1M1",
                           "emulated:queues=0",
                           "emulated:queues=2000",
                           "emulated:mqes=0",
                           "emulated:mqes=70000",
                           "emulated:dstrd=9",
                           "emulated:sgl=2",
                           "emulated:delay=5-1",
                           "emulated:delay=1-2-3",
                           "emulated:fail=",
                           "emulated:fail=read",
                           "emulated:fail=read-000",
                           "emulated:fail=read-28",
                           "emulated:fail=read-800",
                           "emulated:fail=read-281-0",
                           "emulated:fail=read-281-2-2",
                           "emulated:keys=17",
                           "emulated:keys=",
                           "emulated:keys=16/0,size=1M/1M/1M",
                           "emulated:values=4G",
                           "emulated:fail=erase-281",
                           "emulated:lba=512/4096,size=1M/1M/1M",
                           "emulated:lba=512,lba=512",
                           "emulated:lba=512,",
                           "emulated:serial=123456789012345678901",
                           "emulated:size=99999999999999999999"}) {
    const std::string message = refusal(text);
    CAPTURE(text, message);
    CHECK(message.rfind("emulated", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
  }
  CHECK(refusal("emulated:foo=1").find("known: lba, size") != std::string::npos);
  CHECK(refusal("emulated:mqes=70000").find("1 to 65535") != std::string::npos);
}
