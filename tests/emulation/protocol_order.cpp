// SPDX-License-Identifier: MIT

/// @file
/// @brief Operations that end in another order than they began: held commands, refused submissions, and rows of
/// identifiers and completions that lanes take together.

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

constexpr uint16_t write_fault = 0x280;

/// Stamps blocks on the medium, as if they had been written long ago.
void prepare_medium(Rig& rig, uint64_t first, uint32_t blocks, uint64_t version) {
  std::vector<unsigned char> content(size_t{blocks} * 512);
  stamp(content.data(), first, blocks, version);
  rig.model.write_blocks(1, first, blocks, content.data());
}

}  // namespace

TEMPLATE_TEST_CASE("wait: one command held while the others go round several times -> its own answer", "[H26][H36]",
                   xio::Policy<>, (Policy<Deferred<3>, Notify>)) {
  const auto run = [](auto view, Rig& rig, const NvmeQueue& queue) {
    PausingWave wave([&](uint64_t) { rig.model.run(); });
    const uint32_t depth = queue.handle().depth;
    const uint32_t window = queue.handle().slot_mask + 1;
    const auto read = [&](uint64_t lba, Deadline until) {
      return view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus(lba * 512)}, until);
    };
    prepare_medium(rig, 0, 512, 9);
    // The held command fails in the end, all others succeed: whoever gets another one's completion is noticed.
    auto& faults = rig.model.faults();
    faults.fail(Match().with_lba(500, 500), write_fault);
    const auto held = faults.hold(Match().with_lba(500, 500));
    const Token slow = read(500, soon());
    uint32_t others = 0;
    for (;; ++others) {
      const Token token = read(others, others + 1 < window ? soon() : xio::deadline(1_ms));
      if (!token.submitted()) {
        // The identifier of the held command comes round: it is not used again.
        REQUIRE(others == window - 1);
        REQUIRE(token.status == Status::timed_out);
        break;
      }
      REQUIRE(token.last == slow.last + others + 1);
      REQUIRE(view.wait(token, soon()).is_ok());
      REQUIRE(stamped(rig.bytes(others * 512), others, 1, 9));
      REQUIRE(view.test(slow) == Status::pending);
    }
    REQUIRE(others >= depth);
    REQUIRE(view.wait(slow, xio::deadline(1_ms)) == Status::timed_out);
    REQUIRE(view.fence(xio::deadline(1_ms)) == Status::timed_out);
    faults.resume(held);
    REQUIRE(view.wait(slow, soon()) == Status(Status::write_error, write_fault));
    // The window moves again, and the old token gets the same answer, however late it asks.
    for (uint32_t i = 0; i < 2 * window; ++i) REQUIRE(view.wait(read(i % 100, soon()), soon()).is_ok());
    REQUIRE(view.wait(slow, soon()) == Status(Status::write_error, write_fault));
    REQUIRE(view.quiet(soon()).is_ok());
    const auto seen = rig.statistics(queue);
    REQUIRE(seen.command_id_conflicts == 0);
    REQUIRE(seen.stale_fetches == 0);
  };
  for (const uint32_t depth : {3u, 4u, 7u}) {
    CAPTURE(depth);
    NvmeConfig config = stepped();
    config.poison_fetched_entries = true;
    Rig rig(config);
    const NvmeQueue own = rig.tight_queue(depth, 8);
    run(Queue<Sharing::thread, TestType>(own.handle()), rig, own);
    rig.model.faults().clear();
    const NvmeQueue shared = rig.tight_queue(depth, 8);
    run(Queue<Sharing::grid, TestType>(shared.handle()), rig, shared);
  }
}

namespace {

/// Submits without waiting until `target` operations of this lane are accepted.
void hammer(const QueueHandle& handle, uint64_t bus, uint32_t target, std::atomic<uint64_t>* accepted,
            std::atomic<uint64_t>* refused) {
  Queue<Sharing::grid> queue(handle);
  uint64_t taken = 0;
  uint64_t given_back = 0;
  const Deadline until = soon();
  while (taken < target) {
    const Token token = queue.try_submit(xio::nvme::read(1, 1), ContiguousPages{bus});
    if (token.submitted()) {
      ++taken;
    } else {
      EXPECT(token.status == Status::would_block);
      EXPECT(!until.passed());
      ++given_back;
      queue.drain();
      xio::arch::pause(20);
    }
  }
  accepted->fetch_add(taken);
  refused->fetch_add(given_back);
}

}  // namespace

TEST_CASE("try_submit: contention for a full queue -> refused without a trace", "[H37]") {
  for (const uint32_t wave_size : {1u, 8u}) {
    CAPTURE(wave_size);
    NvmeConfig config;
    config.poison_fetched_entries = true;
    Rig rig(config);
    rig.model.faults().reorder(3);
    const NvmeQueue queue = rig.tight_queue(5);
    std::atomic<uint64_t> accepted{0};
    std::atomic<uint64_t> refused{0};
    Grid grid = Grid::of_waves(6, 1, wave_size);
    grid.jitter_seed = 5;
    REQUIRE_NOTHROW(xio::simt::launch(grid, hammer, queue.handle(), rig.bus(), 200u, &accepted, &refused));
    Queue<Sharing::grid> view(queue.handle());
    REQUIRE(view.quiet(soon()).is_ok());
    const xio::QueueState& state = *queue.handle().state;
    CHECK(accepted.load() == uint64_t{6} * wave_size * 200);
    CHECK(refused.load() > 0);
    CHECK(state.reserved == accepted.load());
    CHECK(state.tail == accepted.load() << 1);
    CHECK(state.retired == accepted.load());
    const auto seen = rig.statistics(queue);
    CHECK(seen.commands == accepted.load());
    CHECK(seen.stale_fetches + seen.suspicious_tails + seen.command_id_conflicts == 0);
  }
}

TEST_CASE("drain: a wave that stopped in it -> others submit, test and give up", "[H22]") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  Queue<Sharing::grid> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto read = [&](Deadline until) {
    return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, until);
  };
  const Token before = read(soon());
  REQUIRE(view.wait(before, soon()).is_ok());
  queue.handle().state->retired |= xio::protocol::draining_bit;
  Token last;
  for (uint32_t i = 0; i < 8; ++i) {
    last = read(Deadline{0});
    REQUIRE(last.submitted());
  }
  rig.model.run();
  CHECK(rig.statistics(queue).completions == 9);
  CHECK(read(xio::deadline(1_ms)).status == Status::timed_out);
  CHECK(view.test(last) == Status::pending);
  CHECK(view.wait(last, xio::deadline(1_ms)) == Status::timed_out);
  CHECK(view.wait(before, Deadline{0}).is_ok());
  queue.handle().state->retired &= ~xio::protocol::draining_bit;
  CHECK(view.wait(last, soon()).is_ok());
  CHECK(view.quiet(soon()).is_ok());
}

namespace {

void use_all_queues(const std::vector<QueueHandle>& handles, uint64_t bus, uint32_t rounds) {
  std::vector<Token> tokens(handles.size());
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < handles.size(); ++i) {
      tokens[i] = Queue<Sharing::grid>(handles[i]).submit(xio::nvme::read(i, 1), ContiguousPages{bus}, soon());
    }
    for (size_t i = 0; i < handles.size(); ++i) EXPECT_OK(Queue<Sharing::grid>(handles[i]).wait(tokens[i], soon()));
  }
}

void use_one_queue(const std::vector<QueueHandle>& handles, uint64_t bus, uint32_t rounds) {
  const uint32_t me = xio::arch::block_index();
  Queue<Sharing::grid> queue(handles[me]);
  for (uint32_t round = 0; round < rounds; ++round) {
    EXPECT_OK(queue.wait(queue.submit(xio::nvme::read(me, 1), ContiguousPages{bus}, soon()), soon()));
  }
}

}  // namespace

TEST_CASE("submit: several queues -> all of them busy at the same time", "[H32]") {
  for (const bool one_wave : {true, false}) {
    CAPTURE(one_wave);
    Rig rig;
    std::vector<NvmeQueue> queues;
    std::vector<QueueHandle> handles;
    for (uint32_t i = 0; i < 4; ++i) {
      queues.push_back(rig.queue(4));
      handles.push_back(queues.back().handle());
    }
    // Nothing ends before all queues have something in flight.
    const auto held = rig.model.faults().hold(Match());
    std::thread release([&] {
      const xio::host::Timeout limit(std::chrono::milliseconds(patience().nanoseconds / 1000000));
      while (rig.model.statistics().busy_queues < 4 && !limit.passed()) std::this_thread::yield();
      rig.model.faults().resume(held);
    });
    if (one_wave) {
      CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 1), use_all_queues, handles, rig.bus(), 3u));
    } else {
      CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(4, 1, 1), use_one_queue, handles, rig.bus(), 3u));
    }
    release.join();
    CHECK(rig.model.statistics().max_busy_queues == 4);
  }
}

TEST_CASE("transfer: a slow device -> the window stays full", "[H33]") {
  for (const uint32_t depth : {4u, 16u, 63u}) {
    CAPTURE(depth);
    Rig rig(stepped());
    const NvmeQueue queue = rig.queue(depth);
    // The device ends one command for each pause: it is slower than the kernel.
    PausingWave wave([&](uint64_t) { rig.model.step(1); });
    rig.model.watch_in_flight(static_cast<uint16_t>(queue.qid()), depth);
    std::vector<xio::nvme::Piece> pieces;
    for (uint32_t i = 0; i < 1000; ++i) pieces.push_back({i, rig.bus(), 1});
    const uint32_t batch = depth / 4 + 1;
    const auto run = [&](auto view) {
      Notification progress{};
      REQUIRE(view.transfer(xio::nvme::Opcode::read, pieces.data(), 1000, soon(), progress).is_ok());
      REQUIRE(progress.done == 1000);
      const auto seen = rig.statistics(queue);
      REQUIRE(seen.max_in_flight == depth);
      REQUIRE(seen.low_water != ~uint64_t{0});
      REQUIRE(seen.low_water >= depth - batch);
    };
    run(Queue<Sharing::thread, Policy<Notify>>(queue.handle()));
  }
}

namespace {
/// Each lane submits one read without waiting.
template <Sharing S>
void submit_at_once(const QueueHandle& handle, uint64_t bus, Token* tokens) {
  Queue<S> queue(handle);
  tokens[xio::arch::lane()] = queue.try_submit(xio::nvme::read(1, 1), ContiguousPages{bus});
}

/// The third identifier is held; those beside it are free. A wave gets no more than the two before it.
template <Sharing S>
void submit_beside_held() {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(7, 8);
  REQUIRE(queue.handle().slot_mask == 15);
  Queue<S> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto held = rig.model.faults().hold(Match().with_lba(500, 500));
  Token slow;
  for (uint32_t i = 0; i < 16; ++i) {
    const Token token = view.submit(xio::nvme::read(i == 2 ? 500 : i, 1), ContiguousPages{rig.bus()}, soon());
    if (i == 2) {
      slow = token;
    } else {
      REQUIRE(view.wait(token, soon()).is_ok());
    }
  }
  // A batch that needs more gets nothing.
  const xio::nvme::Piece pieces[3] = {{0, rig.bus(), 1}, {1, rig.bus(), 1}, {2, rig.bus(), 1}};
  CHECK(view.submit_batch(xio::nvme::Opcode::read, pieces, 3, xio::Now{}).status == Status::would_block);
  CHECK(queue.handle().state->reserved == 16);
  Token tokens[8];
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), submit_at_once<S>, queue.handle(), rig.bus(), &tokens[0]));
  for (uint32_t lane = 0; lane < 8; ++lane) {
    CAPTURE(lane);
    CHECK(tokens[lane].submitted() == (lane < 2));
    CHECK(tokens[lane].status == (lane < 2 ? Status::ok : Status::would_block));
  }
  rig.model.faults().resume(held);
  CHECK(view.wait(slow, soon()).is_ok());
  CHECK(view.quiet(soon()).is_ok());
  CHECK(rig.statistics(queue).command_id_conflicts == 0);
}
}  // namespace

TEST_CASE("submit: an identifier in flight -> those before it, and a batch all or none", "[H36][H37]") {
  submit_beside_held<Sharing::wave>();
  submit_beside_held<Sharing::grid>();
}

namespace {
template <Sharing S>
void drain_expecting(const QueueHandle& handle, uint32_t expected) {
  Queue<S> queue(handle);
  EXPECT(queue.drain() == expected);
}

/// The test writes the completions in place of the controller, the second one last.
template <Sharing S>
void complete_with_gap() {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  const QueueHandle handle = queue.handle();
  Queue<S> view(handle);
  PausingWave wave([](uint64_t) {});
  Token tokens[4];
  for (Token& token : tokens) token = view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
  const auto complete = [&](uint32_t i) {
    auto& entry = const_cast<xio::nvme::Cqe&>(handle.cq[i]);
    entry.cid = static_cast<uint16_t>(i);
    entry.status = 1;  // success, of the first lap
  };
  const auto drain = [&](uint32_t expected) {
    CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), drain_expecting<S>, handle, expected));
  };
  for (const uint32_t i : {0u, 2u, 3u}) complete(i);
  drain(1);
  CHECK(view.test(tokens[0]).is_ok());
  CHECK(view.test(tokens[2]) == Status::pending);
  complete(1);
  drain(3);
  for (const Token& token : tokens) CHECK(view.test(token).is_ok());
  CHECK(handle.state->retired == 4);
}
}  // namespace

TEST_CASE("drain: a completion that is missing -> those before it, and none behind it", "[H26]") {
  complete_with_gap<Sharing::wave>();
  complete_with_gap<Sharing::grid>();
}
