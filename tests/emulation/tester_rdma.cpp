// SPDX-License-Identifier: MIT
/// @file
/// @brief The tester's RDMA workload on the emulated NICs: what it counts, and what it notices.

#include <cstring>
#include <functional>
#include <vector>

#include "catch.hpp"
#include "tester/cli/errors.hpp"
#include "tester/rdma/check.hpp"
#include "tester/rdma/emulated.hpp"
#include "tester/rdma/run.hpp"
#include "tester/rdma/runner.hpp"

using namespace tester;
using xio::emulation::RdmaOutcome;

namespace {

const std::vector<std::string> providers = rdma_provider_names();

RdmaOptions options_for(const std::string& provider) {
  RdmaOptions options;
  options.provider = provider;
  options.verify = true;
  options.iterations = 100;
  options.deadline_ms = 60000;
  return options;
}

/// A link that the test can look into, of ConnectX queue pairs.
struct Run {
  using Link = EmulatedRdmaLink<xio::emulation::Mlx5Kit<>>;

  RdmaOptions options;
  RdmaPlan plan;
  RdmaMemory memory;
  Link link;
  RdmaRunner runner;
  RdmaResult result;

  explicit Run(const RdmaOptions& wanted, uint64_t bytes = 256)
      : options(wanted),
        plan(make_plan(options, find_rdma_provider("mlx5"), bytes)),
        memory(plan),
        link(plan.shape),
        runner(options, plan, false, link, memory) {}
  const RdmaResult& run() {
    link.start();
    runner.run(result);
    return result;
  }
};

}  // namespace

TEST_CASE("every byte of a message counts") {
  for (const BlockContent content : {BlockContent::hashed(3), BlockContent::lfsr(3)}) {
    for (uint32_t bytes = 0; bytes <= 41; ++bytes) {
      CAPTURE(content.is_lfsr(), bytes);
      std::vector<uint64_t> words(8);
      auto* const data = reinterpret_cast<uint8_t*>(words.data());
      fill_message(content, data, 77, bytes);
      std::vector<uint8_t> copy(64, rdma_untouched);
      std::memcpy(copy.data(), data, bytes);
      std::memcpy(data, copy.data(), copy.size());
      CHECK(message_difference(content, data, 77, bytes) == bytes);
      for (uint32_t i = 0; i < bytes; ++i) {
        data[i] ^= 0x10;
        CHECK(message_difference(content, data, 77, bytes) == (i & ~7u));
        data[i] ^= 0x10;
      }
      if (bytes != 0) CHECK(message_difference(content, data, 78, bytes) < bytes);
    }
  }
}

TEST_CASE("runs of several measurements take turns, and a device that pauses goes on") {
  RdmaOptions options = options_for("mlx5");
  options.deadline_ms = 5000;
  const RdmaProvider found[] = {find_rdma_provider("mlx5"), find_rdma_provider("rxe")};
  const RdmaPlan plans[] = {make_plan(options, found[0], 256), make_plan(options, found[1], 256)};
  RdmaMeasurement first(options, found[0], plans[0], true);
  RdmaMeasurement second(options, found[1], plans[1], true);
  for (uint64_t run = 1; run <= 3; ++run) {
    for (RdmaMeasurement* const one : {&first, &second}) {
      CHECK(one->run());
      one->pause();
      CHECK(one->result().runs.size() == run);
      CHECK(one->result().checked == 100 * run);
      CHECK(one->result().failed == 0);
      CHECK(one->result().seen.violations.empty());
    }
  }
}

TEST_CASE("one doorbell and one completion for each batch, on every provider") {
  for (const std::string& provider : providers) {
    for (const bool loopback : {true, false}) {
      for (const RdmaVerb verb : {RdmaVerb::write, RdmaVerb::read, RdmaVerb::send, RdmaVerb::fetch_add}) {
        for (const uint32_t batch : {1u, 7u, 0u}) {
          CAPTURE(provider, loopback, static_cast<int>(verb), batch);
          RdmaOptions options = options_for(provider);
          options.loopback = loopback;
          options.verb = verb;
          options.batch_size = batch;
          options.num_queues = 2;
          options.sq_depth = 20;
          options.runs = 2;
          const RdmaProvider found = find_rdma_provider(provider);
          const RdmaPlan plan = make_plan(options, found, verb == RdmaVerb::fetch_add ? 8 : 333);
          const RdmaResult result = measure(options, found, plan, true);
          CHECK(result.completed == 200);
          CHECK(result.checked == 200);
          CHECK(result.wrong_count == 0);
          CHECK(result.failed == 0);
          CHECK(result.latency.count() == 200);
          CHECK(result.runs.size() == 2);
          CHECK(result.seen.operations == 200);
          CHECK(result.seen.violations.empty());
          // 50 operations of each queue pair in a run.
          const uint64_t batches = 4 * (batch == 1 ? 50 : batch == 7 ? 8 : 3);
          CHECK(result.batches == batches);
          CHECK(result.doorbells == batches);
          CHECK(result.seen.signaled == batches);
          CHECK(result.seen.completions == batches);
          CHECK(result.received == (verb == RdmaVerb::send ? 200 : 0));
        }
      }
    }
  }
}

TEST_CASE("data in the entries arrives like other data") {
  for (const std::string& provider : providers) {
    if (find_rdma_provider(provider).max_inline == 0) continue;
    for (const uint64_t bytes : {1u, 28u, 60u, 64u, 65u}) {
      CAPTURE(provider, bytes);
      RdmaOptions options = options_for(provider);
      options.inline_threshold = 64;
      options.batch_size = 0;
      options.sq_depth = 9;
      const RdmaProvider found = find_rdma_provider(provider);
      const RdmaPlan plan = make_plan(options, found, bytes);
      CHECK(plan.inline_data == (bytes <= 64));
      const RdmaResult result = measure(options, found, plan, true);
      CHECK(result.checked == 100);
      CHECK(result.wrong_count == 0);
      CHECK(result.seen.violations.empty());
    }
  }
  CHECK_THROWS_AS(make_plan(
                      [] {
                        RdmaOptions options = options_for("ernic");
                        options.inline_threshold = 8;
                        return options;
                      }(),
                      find_rdma_provider("ernic"), 8),
                  BadInput);
}

TEST_CASE("data that goes elsewhere is noticed, in every operation") {
  RdmaOptions options = options_for("mlx5");
  options.batch_size = 4;
  options.depth = 8;

  SECTION("writes, to the next place") {
    Run run(options);
    run.runner.phase().remote.base += run.plan.place_bytes;
    // The last place would go beyond the memory that the key covers.
    run.plan.depth = 7;
    run.runner.phase().depth = run.runner.phase().far_places = 7;
    REQUIRE(run.run().wrong_count == 100);
    CHECK(run.result.completed == 100);
    // Before the first lap the places hold nothing, later on what belongs to their neighbours.
    CHECK(run.result.wrong.back().find("holds the data of operation") != std::string::npos);
  }
  SECTION("writes, 8 bytes behind") {
    Run run(options);
    run.runner.phase().remote.base += 8;
    CHECK(run.run().wrong_count == 100);
  }
  SECTION("sends, into other memory") {
    options.verb = RdmaVerb::send;
    Run run(options);
    std::vector<uint8_t> elsewhere(run.plan.far_bytes);
    run.runner.phase().receiving = {reinterpret_cast<uint64_t>(elsewhere.data()), elsewhere.size(),
                                    run.link.add_memory(elsewhere.data(), elsewhere.size()).local};
    CHECK(run.run().wrong_count == 100);
    CHECK(run.result.received == 100);
  }
  SECTION("reads, of other memory") {
    options.verb = RdmaVerb::read;
    Run run(options);
    run.runner.phase().remote.base += 8;
    CHECK(run.run().wrong_count == 100);
  }
  SECTION("fetch-add, on a word that others change") {
    options.verb = RdmaVerb::fetch_add;
    Run run(options, 8);
    run.runner.phase().remote.base += 8;
    // Each result and the sum in the end.
    CHECK(run.run().wrong_count == 101);
  }
}

TEST_CASE("what lies behind the data is looked at") {
  RdmaOptions options = options_for("mlx5");
  Run run(options, 100);
  run.memory.far.data()[127] = 0;
  REQUIRE(run.run().wrong_count == 100);
  CHECK(run.result.wrong.front() == "operation 0: memory after the data changed, at byte 127");
}

TEST_CASE("an operation that fails ends the run, with its status") {
  RdmaOptions options = options_for("mlx5");
  options.batch_size = 4;
  options.depth = 8;
  Run run(options);
  run.link.faults(0).fail(41, RdmaOutcome::remote_access);
  run.run();
  CHECK(run.result.completed == 41);
  CHECK(run.result.failed >= 3);
  CHECK(run.result.failed <= 8);
  REQUIRE(run.result.statuses.size() == 2);
  CHECK(run.result.statuses[0].count == 1);
  CHECK(run.result.statuses[0].first == 41);
  CHECK(run.result.statuses[0].status != xio::Status::flushed);
  CHECK(run.result.statuses[1].status == xio::Status::flushed);
  CHECK_FALSE(run.result.gave_up);
}

TEST_CASE("a completion that never comes ends the run at its deadline") {
  RdmaOptions options = options_for("mlx5");
  options.deadline_ms = 50;
  Run run(options);
  run.link.faults(0).drop(7);
  run.run();
  CHECK(run.result.gave_up);
  CHECK(run.result.completed == 7);
  CHECK(run.result.failed == 1);
  REQUIRE(run.result.statuses.size() == 1);
  CHECK(run.result.statuses[0].status == xio::Status::timed_out);
}

TEST_CASE("ping-pong: each write is answered by one, on every provider") {
  for (const std::string& provider : providers) {
    for (const uint64_t bytes : {1u, 2u, 8u, 9u, 64u, 65u, 4096u}) {
      CAPTURE(provider, bytes);
      RdmaOptions options = options_for(provider);
      options.ping_pong = true;
      options.loopback = false;
      options.num_queues = 2;
      options.runs = 2;
      const RdmaProvider found = find_rdma_provider(provider);
      if (found.max_inline != 0) options.inline_threshold = 64;
      const RdmaPlan plan = make_plan(options, found, bytes);
      CHECK(plan.inline_data == (found.max_inline != 0 && bytes <= 64));
      const RdmaResult result = measure(options, found, plan, true);
      CHECK(result.completed == 200);
      CHECK(result.checked == 200);
      CHECK(result.wrong_count == 0);
      CHECK(result.failed == 0);
      CHECK(result.latency.count() == 200);
      CHECK(result.batches == 200);
      CHECK(result.doorbells == 400);
      CHECK(result.seen.operations == 400);
      CHECK(result.seen.completions == 400);
      CHECK(result.seen.violations.empty());
    }
  }
}

TEST_CASE("ping-pong: messages that go elsewhere, that hold other data, or that fail are noticed") {
  RdmaOptions options = options_for("mlx5");
  options.ping_pong = true;
  options.loopback = false;
  options.deadline_ms = 200;
  SECTION("elsewhere, so that they never arrive") {
    Run run(options);
    run.runner.phase().remote.base -= run.plan.place_bytes;
    run.run();
    CHECK(run.result.gave_up);
    CHECK(run.result.completed == 0);
    CHECK(run.result.checked == 0);
  }
  SECTION("from other memory") {
    Run run(options);
    std::vector<uint8_t> elsewhere(run.plan.near_bytes);
    for (uint32_t i = 0; i < 2; ++i) elsewhere[i * run.plan.place_bytes + 255] = static_cast<uint8_t>(2 * i + 1);
    run.runner.phase().local = {reinterpret_cast<uint64_t>(elsewhere.data()), elsewhere.size(),
                                run.link.add_memory(elsewhere.data(), elsewhere.size()).local};
    run.runner.phase().operations = 2;
    run.run();
    CHECK(run.result.completed == 2);
    CHECK(run.result.wrong_count == 2);
  }
  SECTION("memory behind the data") {
    Run run(options, 100);
    run.memory.near.data()[2 * run.plan.place_bytes + 127] = 0;
    REQUIRE(run.run().wrong_count == 100);
    CHECK(run.result.wrong.front() == "operation 0: memory after the data changed, at byte 127");
  }
  SECTION("a write that fails") {
    Run run(options);
    run.link.faults(0).fail(41, RdmaOutcome::remote_access);
    run.run();
    CHECK(run.result.completed == 41);
    CHECK(run.result.failed == 1);
    REQUIRE(run.result.statuses.size() == 1);
    CHECK(run.result.statuses[0].first == 41);
    CHECK(run.result.statuses[0].status == xio::Status::access_denied);
    CHECK_FALSE(run.result.gave_up);
  }
  SECTION("an answer that fails") {
    Run run(options);
    run.runner.phase().returning.rkey ^= 1;
    run.run();
    CHECK(run.result.completed == 0);
    CHECK(run.result.failed == 1);
    REQUIRE(run.result.statuses.size() == 1);
    CHECK(run.result.statuses[0].status == xio::Status::access_denied);
    CHECK_FALSE(run.result.gave_up);
  }
  SECTION("a completion that never comes") {
    Run run(options);
    // Completions of later writes end earlier ones, too.
    run.link.faults(0).drop(99);
    run.run();
    CHECK(run.result.completed == 100);
    REQUIRE(run.result.statuses.size() == 1);
    CHECK(run.result.statuses[0].status == xio::Status::timed_out);
  }
}

TEST_CASE("rings hold what was asked for") {
  for (const std::string& provider : providers) {
    for (const uint32_t sq_depth : {1u, 2u, 31u, 32u, 100u}) {
      for (const uint64_t bytes : {64u, 256u}) {
        CAPTURE(provider, sq_depth, bytes);
        RdmaOptions options = options_for(provider);
        options.sq_depth = sq_depth;
        options.batch_size = 0;
        options.iterations = 3 * sq_depth;
        const RdmaProvider found = find_rdma_provider(provider);
        if (found.max_inline != 0) options.inline_threshold = 64;
        const RdmaPlan plan = make_plan(options, found, bytes);
        const RdmaResult result = measure(options, found, plan, true);
        CHECK(result.completed == 3 * sq_depth);
        CHECK(result.batches == 3);
        CHECK(result.wrong_count == 0);
        CHECK(result.seen.violations.empty());
      }
    }
  }
}

TEST_CASE("a verification that compared nothing of a size is a failure, an interrupted one is not", "[tester][rdma]") {
  RdmaOptions options;
  RdmaReport report;
  report.options = &options;
  report.results.resize(2);
  report.results[0].checked = 3;
  CHECK(report.exit_status() == exit_ok);
  options.verify = true;
  CHECK(report.verified_nothing());
  CHECK(report.exit_status() == exit_failed);
  report.interrupted = true;
  CHECK(report.exit_status() == exit_interrupted);
  report.interrupted = false;
  report.results[1].checked = 1;
  CHECK(report.exit_status() == exit_ok);
}
