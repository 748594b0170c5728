// SPDX-License-Identifier: MIT
/// @file
/// @brief The tester's workload kernel on the in-process model: what is in flight, and what it notices.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include <xio/host/wait.hpp>

#include "catch.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/nvme/loss_watch.hpp"
#include "tester/nvme/phase_runner.hpp"
#include "tester/nvme/target.hpp"
#include "tester/nvme/verification.hpp"

using namespace tester;
using xio::emulation::FaultRule;
using xio::emulation::Match;

namespace {

/// A run that the test can look into while it is going on.
struct Run {
  NvmeOptions options;
  Target target;
  NvmePlan plan;
  ExecutorMemory memory;
  std::optional<BufferPlacement> buffers;
  std::vector<xio::host::NvmeQueue> queues;
  std::unique_ptr<PhaseRunner> runner;

  explicit Run(const NvmeOptions& wanted) : options(wanted) {
    target = open_target(options.controllers.front(), 5000);
    plan = make_plan(options, {&target}, 0);
    buffers.emplace(0, nullptr, target, memory);
    queues = create_queues(options, plan, *target.controller, *buffers);
    runner =
        std::make_unique<PhaseRunner>(options, plan, std::vector<const Target*>{&target}, memory, nullptr,
                                      handles_of(queues), DataPlace::of_drive(memory, buffers->data(plan.data_bytes)));
  }

  std::future<PhaseResult> start(Direction direction, uint64_t operations) {
    return std::async(std::launch::async,
                      [=] { return runner->run(direction, operations, plan.pattern, false, false); });
  }
  PhaseResult write(uint64_t operations) {
    return runner->run(Direction::write, operations, plan.pattern, false, false);
  }
  PhaseResult read(uint64_t operations) {
    return runner->run(Direction::read, operations, plan.pattern.revisiting(operations, options.seed), true, false);
  }
  Verification verify(uint64_t operations) {
    Verification verification;
    verification.wanted = true;
    explain(plan, read(operations), verification);
    return verification;
  }
  uint64_t completions() const {
    return target.emulated->statistics().total(&xio::emulation::QueueStatistics::completions);
  }
};

NvmeOptions options_for(const std::string& controller) {
  NvmeOptions options;
  options.controllers = {controller};
  options.read_io = 1;
  options.verify = true;
  options.deadline_ms = 60000;
  return options;
}

bool eventually(const std::function<bool()>& condition) {
  const xio::host::Timeout deadline(std::chrono::seconds(30));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

TEST_CASE("all queues have commands in flight at the same time", "[H32]") {
  NvmeOptions options = options_for("emulated");
  options.num_queues = 4;
  Run run(options);
  const FaultRule held = run.target.emulated->faults().hold(Match{});
  auto result = run.start(Direction::read, 40);
  CHECK(eventually([&] { return run.target.emulated->statistics().busy_queues == 4; }));
  run.target.emulated->faults().resume(held);
  CHECK(result.get().completed == 40);
}

TEST_CASE("one slow operation does not keep the next ones from leaving", "[H33]") {
  for (const uint32_t wave_size : {1u, 8u}) {
    NvmeOptions options = options_for("emulated");
    options.depth = 8;
    options.batch_size = 2;
    options.wave_size = wave_size;
    Run run(options);
    const FaultRule held = run.target.emulated->faults().hold(Match().on_queue(1).at(0));
    auto result = run.start(Direction::read, 16);
    // A batch that waited for its slowest member would stop at the depth. With 8 lanes, the lane whose operation is
    // held has one more to do, and another one waits with it for a full batch.
    const uint64_t wanted = wave_size == 1 ? 15 : 13;
    CHECK(eventually([&] { return run.completions() >= wanted; }));
    run.target.emulated->faults().resume(held);
    CHECK(result.get().completed == 16);
  }
}

TEST_CASE("all ways of sharing write, read and verify, with both doorbells") {
  struct Shape {
    uint32_t waves, wave_size, depth, batch;
  };
  for (const Shape& shape : {Shape{1, 1, 16, 4}, Shape{1, 8, 16, 4}, Shape{1, 64, 100, 32}, Shape{4, 1, 16, 4},
                             Shape{2, 32, 64, 16}, Shape{3, 8, 10, 0}}) {
    for (const DoorbellKind doorbell : {DoorbellKind::mmio, DoorbellKind::shadow}) {
      CAPTURE(shape.waves, shape.wave_size, doorbell == DoorbellKind::shadow);
      NvmeOptions options = options_for("emulated:mdts=1,reorder=4");
      options.waves = shape.waves;
      options.wave_size = shape.wave_size;
      options.depth = shape.depth;
      options.batch_size = shape.batch;
      options.doorbell = doorbell;
      options.num_queues = 2;
      options.random = true;
      options.lbas_per_io = 3;
      Run run(options);
      const PhaseResult written = run.write(300);
      CHECK(written.completed == 300);
      CHECK(written.failed == 0);
      CHECK(written.latency.count() == 300);
      const Verification verification = run.verify(300);
      CHECK(verification.expected == 900);
      CHECK(verification.verified == 900);
      // Of waves that share a queue one may ring for all that is in flight.
      CHECK(written.sq_rings >= 300 / (shape.batch == 0 || shape.waves > 1 ? shape.depth : shape.batch));
      CHECK(written.sq_rings <= 300);
    }
  }
}

TEST_CASE("operations beyond MDTS are split and verified") {
  for (const uint32_t lanes : {1u, 8u}) {
    NvmeOptions options = options_for("emulated:mdts=1,lba=512");
    options.lbas_per_io = 50;  // 25 600 bytes in commands of 8192
    options.queue_length = 3;
    options.depth = 3;
    options.wave_size = lanes;
    Run run(options);
    CHECK(run.plan.commands_per_operation == 4);
    CHECK(run.write(40).completed == 40);
    CHECK(run.verify(40).verified == 40 * 50);
  }
}

TEST_CASE("lost, torn and misdirected writes are found, and where they went", "[H29]") {
  NvmeOptions options = options_for("emulated");
  options.depth = 8;
  Run run(options);

  SECTION("lost") {
    run.target.emulated->faults().lose_data(Match().with_opcode(1).with_lba(5, 5));
    run.write(20);
    const Verification found = run.verify(20);
    CHECK(found.verified == 19);
    REQUIRE(found.faults.size() == 1);
    CHECK(describe(found.faults[0]) == "LBA 5 holds zeros");
  }
  SECTION("torn") {
    run.target.emulated->faults().tear_data(Match().with_opcode(1).with_lba(6, 6), 128);
    run.write(20);
    const Verification found = run.verify(20);
    REQUIRE(found.faults.size() == 1);
    CHECK(describe(found.faults[0]) == "LBA 6 is damaged from byte 128 on");
  }
  SECTION("read from the wrong place") {
    run.write(20);
    run.target.emulated->faults().misdirect(Match().with_opcode(2).with_lba(7, 7), 4);
    const Verification found = run.verify(20);
    REQUIRE(found.faults.size() == 1);
    CHECK(describe(found.faults[0]) == "LBA 7 holds the content of LBA 11");
  }
}

TEST_CASE("errors are counted by status, and the others go on") {
  NvmeOptions options = options_for("emulated");
  options.depth = 4;
  Run run(options);
  run.target.emulated->faults().fail(Match().with_lba(3, 4), 0x281);
  const PhaseResult result = run.write(10);
  CHECK(result.completed == 8);
  CHECK(result.failed == 2);
  REQUIRE(result.statuses.size() == 1);
  CHECK(result.statuses[0].status == xio::Status::read_error);
  CHECK(result.statuses[0].count == 2);
  CHECK_FALSE(result.gave_up);
}

TEST_CASE("a dropped completion ends the run at its deadline") {
  for (const uint32_t waves : {1u, 2u}) {
    NvmeOptions options = options_for("emulated");
    options.depth = 4;
    options.waves = waves;
    options.deadline_ms = 50;
    Run run(options);
    run.target.emulated->faults().drop(Match().on_queue(1).at(2));
    const PhaseResult result = run.write(1000);
    CHECK(result.gave_up);
    CHECK(result.failed >= 1);
    CHECK(result.statuses[0].status == xio::Status::timed_out);
  }
}

TEST_CASE("what a lost controller does not end is given up long before its deadline, and nothing else is") {
  const uint32_t waves = GENERATE(1u, 2u);
  const bool dropped = GENERATE(false, true);
  CAPTURE(waves, dropped);
  NvmeOptions options = options_for("emulated");
  options.depth = 4;
  options.waves = waves;
  Run run(options);
  if (dropped) run.target.emulated->faults().drop(Match().on_queue(1).at(100));
  const Interrupt interrupt;
  std::atomic<bool> alive{true};
  auto result = run.start(Direction::write, uint64_t{1} << 40);
  CHECK(eventually([&] { return run.completions() >= 101; }));
  const LossWatch watch([&] { return alive.load(); }, std::chrono::milliseconds(dropped ? 1 : 600000));
  alive = false;
  CHECK(eventually([&] { return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  const PhaseResult found = result.get();
  CHECK(watch.lost());
  CHECK(found.gave_up == dropped);
  // With so short a grace more may be given up than what was dropped.
  CHECK((found.failed != 0) == dropped);
  CHECK(found.completed + found.failed == found.submitted);
}
