// SPDX-License-Identifier: MIT

/// @file
/// @brief Operations that end in another order than they began: held commands, fences, refused submissions.

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

TEMPLATE_TEST_CASE("H26 H36: one command is held while the others go round several times", "", xio::Policy<>,
                   (Policy<Deferred<3>, Notify>)) {
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

TEST_CASE("H26 commands in flight together end in any order, and each token gets its own answer") {
  Rig rig(stepped());
  prepare_medium(rig, 0, 512, 3);
  const NvmeQueue queue = rig.queue(32);
  Queue<Sharing::grid> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.step(); });
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    rig.model.faults().clear();
    rig.model.faults().seed(seed);
    rig.model.faults().reorder(32);
    rig.model.faults().delay_steps(Match(), 0, 9);
    for (uint16_t i = 0; i < 32; ++i) {
      if ((mix(seed, i) & 3) == 0) rig.model.faults().fail(Match().with_lba(i, i), static_cast<uint16_t>(0x300 + i));
    }
    std::memset(rig.bytes(), 0, 32 * 512);
    Token tokens[32];
    for (uint32_t i = 0; i < 32; ++i) {
      tokens[i] = view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus(i * 512)}, soon());
    }
    for (uint32_t k = 0; k < 32; ++k) {
      const auto i = static_cast<uint32_t>((k * 13 + seed) % 32);
      const Status status = view.wait(tokens[i], soon());
      if ((mix(seed, i) & 3) == 0) {
        REQUIRE(status.vendor == 0x300 + i);
      } else {
        REQUIRE(status.is_ok());
        REQUIRE(stamped(rig.bytes(i * 512), i, 1, 3));
      }
    }
    REQUIRE(view.quiet(soon()).is_ok());
  }
}

namespace {

/// Reads blocks of its own and relies on quiet() or fence() alone before it looks at them.
template <Sharing S, class Policy>
void read_and_quiet(const QueueHandle& handle, unsigned char* data, uint64_t bus, uint32_t rounds) {
  Queue<S, Policy> queue(handle);
  constexpr uint32_t many = 4;
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  unsigned char* const mine = data + me * many * 512;
  for (uint32_t round = 0; round < rounds; ++round) {
    std::memset(mine, 0, many * 512);
    Token tokens[many];
    for (uint32_t i = 0; i < many; ++i) {
      tokens[i] = queue.submit(xio::nvme::read(me * many + i, 1), ContiguousPages{bus + (me * many + i) * 512}, soon());
      EXPECT(tokens[i].submitted());
    }
    EXPECT_OK(round % 2 == 0 ? queue.quiet(soon()) : queue.fence(soon()));
    for (uint32_t i = 0; i < many; ++i) {
      EXPECT(stamped(mine + i * 512, me * many + i, 1, 4));
      const Status status = queue.test(tokens[i]);
      EXPECT_OK(status);
    }
  }
}

template <Sharing S, class Policy>
void quiet_with_many_waves(uint32_t wave_size, uint64_t jitter) {
  CAPTURE(wave_size, jitter);
  Rig rig;
  prepare_medium(rig, 0, 2048, 4);
  rig.model.faults().seed(jitter);
  rig.model.faults().reorder(16);
  rig.model.faults().delay_us(Match().each(3), 0, 300);
  const NvmeQueue queue = rig.queue(48);
  Grid grid = Grid::of_waves(S == Sharing::grid ? 6 : 1, S == Sharing::grid ? 1 : 6, wave_size);
  grid.jitter_seed = jitter;
  REQUIRE_NOTHROW(xio::simt::launch(grid, read_and_quiet<S, Policy>, queue.handle(), rig.bytes(), rig.bus(), 8u));
  const auto seen = rig.statistics(queue);
  CHECK(seen.completions == 6 * wave_size * 4 * 8);
  CHECK(seen.command_id_conflicts + seen.suspicious_tails == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("H4 quiet and fence return after the caller's own operations, whatever the others do", "",
                   xio::Policy<>, Policy<Deferred<7>>) {
  quiet_with_many_waves<Sharing::grid, TestType>(1, 11);
  quiet_with_many_waves<Sharing::grid, TestType>(8, 12);
  quiet_with_many_waves<Sharing::block, TestType>(1, 13);
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

TEST_CASE("H37 a refused submission under contention leaves no trace") {
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

TEST_CASE("H22 a wave that stops in the middle of a drain keeps nobody from submitting, testing or giving up") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  Queue<Sharing::grid> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto read = [&](Deadline until) {
    return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, until);
  };
  const Token before = read(soon());
  REQUIRE(view.wait(before, soon()).is_ok());
  queue.handle().state->draining = 1;
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
  queue.handle().state->draining = 0;
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

TEST_CASE("H32 queues are busy at the same time, driven by one wave or by one wave each") {
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

TEST_CASE("H33 the window stays full while a transfer lasts") {
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
