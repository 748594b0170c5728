// SPDX-License-Identifier: MIT

/// @file
/// @brief Waves whose lanes and threads change places at random before every coherent access: doorbells only go
/// forward, and every one announces entries that are there.

#include <atomic>

#include "emulation/protocol_matrix.hpp"

#if !XIO_INTERLEAVE
#error "this test needs XIO_INTERLEAVE=1"
#endif

using namespace protocol_tests;

namespace {

/// Follows the tail as it is stored, entry by entry.
struct WatchedDoorbell {
  static inline const uint32_t* sq_word = nullptr;
  static inline uint32_t sq_mask = 0;
  static inline uint32_t depth = 0;
  static inline std::atomic<uint32_t> tail{0};
  static inline std::atomic<uint64_t> rung{0};
  static inline std::atomic<uint64_t> backwards{0};

  static void ring(const xio::DoorbellTarget& target, uint32_t value) {
    if (target.word == sq_word) {
      // Who goes back announces nearly a whole ring, more than can be in flight.
      const uint32_t before = tail.exchange(value);
      const uint32_t step = (value - before) & sq_mask;
      rung += step;
      if (step == 0 || step > depth) ++backwards;
    }
    xio::MmioDoorbell::ring(target, value);
  }
  static void ring_each(const xio::DoorbellTarget& target, uint32_t value) { ring(target, value); }
};

template <Sharing S, class Policy>
void reads(const QueueHandle& handle, uint64_t bus, uint32_t rounds) {
  Queue<S, xio::Policy<Policy, xio::RingBy<WatchedDoorbell>>> queue(handle);
  for (uint32_t i = 0; i < rounds; ++i) {
    const Token first = queue.submit(xio::nvme::read(i, 1), ContiguousPages{bus}, soon());
    const Token second = queue.submit(xio::nvme::read(i + 1, 1), ContiguousPages{bus}, soon());
    EXPECT_OK(queue.wait(first, soon()));
    EXPECT_OK(queue.wait(second, soon()));
  }
}

template <Sharing S, class Policy>
void watch(uint32_t waves, uint32_t wave_size, uint64_t seed) {
  CAPTURE(waves, wave_size, seed);
  NvmeConfig config;
  config.poison_fetched_entries = true;
  Rig rig(config);
  rig.model.faults().reorder(5);
  const NvmeQueue queue = rig.queue(11, [](QueueOptions& options) { options.completion_slots = 4096; });
  WatchedDoorbell::sq_word = queue.handle().sq_doorbell;
  WatchedDoorbell::sq_mask = queue.handle().sq_mask;
  WatchedDoorbell::depth = queue.handle().depth;
  WatchedDoorbell::tail = 0;
  WatchedDoorbell::rung = 0;
  WatchedDoorbell::backwards = 0;
  const bool blocks = S == Sharing::grid;
  Grid grid = Grid::of_waves(blocks ? waves : 1, blocks ? 1 : waves, wave_size);
  grid.jitter_seed = seed;
  grid.split_groups = true;
  const uint32_t rounds = 160 / (waves * wave_size) + 2;
  REQUIRE_NOTHROW(xio::simt::launch(grid, reads<S, Policy>, queue.handle(), rig.bus(), rounds));
  const uint64_t commands = uint64_t{waves} * wave_size * rounds * 2;
  CHECK(WatchedDoorbell::backwards == 0);
  CHECK(WatchedDoorbell::rung == commands);
  const auto seen = rig.statistics(queue);
  CHECK(seen.completions == commands);
  CHECK(seen.stale_fetches + seen.suspicious_tails + seen.command_id_conflicts == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("H10 doorbells only go forward, and never ahead of the entries", "", xio::Policy<>,
                   Policy<Deferred<4>>) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    watch<Sharing::grid, TestType>(4, 1, seed);
    watch<Sharing::grid, TestType>(2, 32, seed);
    watch<Sharing::block, TestType>(3, 8, seed);
    watch<Sharing::wave, TestType>(1, 64, seed);
  }
}

TEST_CASE("H17 H38: random schedules at every access, with groups split at will") {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    run_exchange({Sharing::grid, exchange_blocks<Sharing::grid, xio::Policy<>>}, {64, 2, ~uint64_t{0}}, 8, seed, true);
    run_exchange({Sharing::block, exchange_blocks<Sharing::block, Policy<Deferred<5>, Notify>>}, {8, 3, 0xff}, 16, seed,
                 true);
    run_exchange({Sharing::wave, exchange_blocks<Sharing::wave, Policy<Deferred<5>>>}, {64, 1, 0xffffffff00000000}, 16,
                 seed, false);
    run_exchange({Sharing::thread, exchange_blocks<Sharing::thread, xio::Policy<>>}, {8, 1, 0xff}, 3, seed, false);
  }
}

namespace {

/// Counts coherent accesses.
class CountingWave final : public xio::arch::WaveOps {
 public:
  CountingWave() { xio::arch::current_wave = this; }
  ~CountingWave() override { xio::arch::current_wave = nullptr; }
  CountingWave(const CountingWave&) = delete;
  CountingWave& operator=(const CountingWave&) = delete;
  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override {}
  void access(const void*, uint32_t) override { ++accesses; }
  uint64_t accesses = 0;
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("A fence whose deadline has passed does not look through the whole table", "", ((Sharing S), S),
                       Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(64, [](QueueOptions& options) { options.completion_slots = 32768; });
  const QueueHandle& handle = queue.handle();
  // Long in use: all slots have been used, and one command is in flight, the last one.
  const uint64_t slots = uint64_t{handle.slot_mask} + 1;
  for (uint32_t i = 0; i < slots; ++i) handle.slots[i].word = 10 * slots << 16;
  handle.slots[slots - 1].word = 9 * slots << 16;
  xio::protocol::begin_at(*handle.state, 10 * slots);
  handle.state->retired = 10 * slots - 1;
  Queue<S> view(handle);
  CountingWave wave;
  CHECK(view.fence(Deadline{1}) == Status::timed_out);
  CHECK(wave.accesses < 8 * xio::arch::looks_per_clock);
}

namespace {

/// Every lane waits for what it submitted some rounds ago, while others use its slots again.
void ask_some_rounds_later(const QueueHandle& handle, uint64_t bus) {
  constexpr uint32_t rounds = 24;
  constexpr uint32_t later = 3;
  Queue<Sharing::grid> queue(handle);
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  Token tokens[rounds];
  for (uint32_t i = 0; i < rounds + later; ++i) {
    if (i < rounds) tokens[i] = queue.submit(xio::nvme::read((me + i) % 3, 1), ContiguousPages{bus}, soon());
    if (i < later) continue;
    const bool bad = (me + i - later) % 3 == 1;
    EXPECT(code_of(queue.wait(tokens[i - later], soon())) == (bad ? 0x281 : 0));
  }
}

}  // namespace

TEST_CASE("A failure that moves from the table to the log while somebody waits for it is told once") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Rig rig;
    rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
    const NvmeQueue queue = rig.tight_queue(4);
    Grid grid = Grid::of_waves(4, 1, 8);
    grid.jitter_seed = seed;
    grid.split_groups = true;
    REQUIRE_NOTHROW(xio::simt::launch(grid, ask_some_rounds_later, queue.handle(), rig.bus()));
    CHECK(queue.handle().state->error_count == 0);
    CHECK(queue.handle().failures->lost == 0);
    Queue<Sharing::grid> view(queue.handle());
    CHECK(view.errors().count == 0);
  }
}
