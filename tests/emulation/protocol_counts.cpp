// SPDX-License-Identifier: MIT

/// @file
/// @brief What operations cost: stores, fences, atomics and doorbells, counted where they are executed.
///
/// The host runs every lane by itself, so that one instruction of a wave counts once for each active lane. What all
/// lanes do (store a part of an entry, release, acquire) is therefore divided by the number of lanes; what the leader
/// does for all (doorbells, atomics) counts as it is. The device moves only when the kernel has stopped: all
/// completions of a batch are there together.

#include "catch.hpp"
#include "emulation/protocol.hpp"

#if !XIO_COUNT_OPERATIONS
#error "this test counts operations"
#endif

using namespace protocol_tests;
using xio::arch::OperationCounts;

namespace {

/// Looks at what an SQ doorbell finds: the leader has released, once, since the last one.
struct CheckedDoorbell {
  static inline const uint32_t* sq_word = nullptr;
  static inline OperationCounts last;
  static inline uint64_t lanes = 1;
  static inline uint64_t sq_doorbells = 0;
  static inline bool released = true;
  static inline bool write_through = false;

  static void ring(const xio::DoorbellTarget& target, uint32_t value) {
    if (target.word == sq_word) {
      const OperationCounts& now = xio::arch::operation_counts;
      const uint64_t releases = now.releases - last.releases;
      // The other lanes, which have stored their parts before, may release before the leader or after it.
      if (write_through ? now.store_waits == last.store_waits || releases != 0 : releases == 0 || releases > 2 * lanes)
        released = false;
      ++sq_doorbells;
      last = now;
    }
    xio::MmioDoorbell::ring(target, value);
  }
  static void ring_each(const xio::DoorbellTarget& target, uint32_t value) { ring(target, value); }
  static void begin(const QueueHandle& handle, uint64_t active) {
    sq_word = handle.sq_doorbell;
    last = xio::arch::operation_counts;
    lanes = active;
    sq_doorbells = 0;
    released = true;
  }
};

/// Counts of one phase: of the calling thread, waves of simt::launch included.
template <class Phase>
OperationCounts count(Phase phase) {
  const OperationCounts before = xio::arch::operation_counts;
  phase();
  return xio::arch::operation_counts - before;
}

constexpr uint32_t batch = 64;
constexpr uint32_t rounds = 32;

struct Totals {
  OperationCounts submit, wait;
  uint64_t cq_doorbells = 0;
};

template <class Q>
void submit_lanes(const QueueHandle& handle, uint64_t bus, Token* tokens) {
  Q queue(handle);
  tokens[xio::arch::lane()] = queue.submit(xio::nvme::read(xio::arch::lane(), 1), ContiguousPages{bus}, soon());
}
template <class Q>
void submit_pieces(const QueueHandle& handle, const xio::nvme::Piece* pieces, Token* tokens) {
  Q queue(handle);
  tokens[xio::arch::lane()] = queue.submit_batch(xio::nvme::Opcode::read, pieces, batch, soon());
}
template <class Q>
void wait_lanes(const QueueHandle& handle, const Token* tokens, bool whole) {
  Q queue(handle);
  const Token& token = tokens[xio::arch::lane()];
  EXPECT_OK(whole ? queue.wait_batch(token, soon()) : queue.wait(token, soon()));
}

/// Rounds of 64 operations by one wave; `lanes` of it submit one each, or the wave submits all of them as a batch.
template <class Q>
Totals run_wave(bool as_batch) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(batch);
  const QueueHandle handle = queue.handle();
  REQUIRE(handle.cq_mask + 1 == 2 * (handle.sq_mask + 1));
  const Grid grid = Grid::of_waves(1, 1, 64);
  Token tokens[64];
  std::vector<xio::nvme::Piece> pieces;
  for (uint32_t i = 0; i < batch; ++i) pieces.push_back({i, rig.bus(), 1});
  Totals totals;
  const OperationCounts before = xio::arch::operation_counts;
  CheckedDoorbell::begin(handle, 64);
  for (uint32_t round = 0; round < rounds; ++round) {
    if (as_batch) {
      xio::simt::launch(grid, submit_pieces<Q>, handle, pieces.data(), tokens);
    } else {
      xio::simt::launch(grid, submit_lanes<Q>, handle, rig.bus(), tokens);
    }
    totals.submit = xio::arch::operation_counts - before - totals.wait;
    rig.model.run();
    xio::simt::launch(grid, wait_lanes<Q>, handle, tokens, as_batch);
    totals.wait = xio::arch::operation_counts - before - totals.submit;
  }
  rig.model.run();
  const auto seen = rig.statistics(queue);
  REQUIRE(seen.completions == rounds * batch);
  totals.cq_doorbells = seen.cq_doorbells;
  CHECK(seen.sq_doorbells == CheckedDoorbell::sq_doorbells);
  CHECK(CheckedDoorbell::released);
  return totals;
}

void check_wave(const Totals& totals, uint64_t atomics_to_submit, uint64_t atomics_to_wait) {
  const uint64_t lanes = 64;
  const uint64_t laps = rounds * batch / 256 + 1;
  CHECK(totals.submit.entry_stores() == rounds * batch * 4);  // 64 lanes store 4 parts: 4 instructions for 64 entries
  CHECK(totals.submit.releases == rounds * lanes);            // one instruction for each batch
  CHECK(totals.submit.mmio_stores == rounds);
  CHECK(totals.submit.atomics == rounds * atomics_to_submit);
  CHECK(totals.submit.acquires == 0);
  CHECK(totals.wait.acquires == rounds * lanes);
  CHECK(totals.wait.entry_stores() + totals.wait.releases == 0);
  CHECK(totals.wait.atomics == rounds * atomics_to_wait);
  CHECK(totals.wait.mmio_stores <= 2 * laps);
  CHECK(totals.cq_doorbells == totals.wait.mmio_stores);
  CHECK(totals.submit.full_fences + totals.wait.full_fences == 0);
}

}  // namespace

TEST_CASE("submit: one thread -> 4 stores, one release, one doorbell, no atomic", "[H9]") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(31);
  const QueueHandle handle = queue.handle();
  REQUIRE(handle.cq_mask == 63);
  Queue<Sharing::thread, xio::Policy<xio::RingBy<CheckedDoorbell>>> view(handle);
  const uint64_t total = 640;
  CheckedDoorbell::begin(handle, 1);
  uint64_t cq_doorbells = 0;
  for (uint64_t i = 0; i < total; ++i) {
    Token token;
    const OperationCounts one =
        count([&] { token = view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon()); });
    REQUIRE(one.entry_stores() == 4);
    REQUIRE(one.releases == 1);
    REQUIRE(one.mmio_stores == 1);
    REQUIRE(one.atomics + one.acquires + one.full_fences == 0);
    REQUIRE(CheckedDoorbell::released);
    rig.model.run();
    const OperationCounts other = count([&] { REQUIRE(view.wait(token, soon()).is_ok()); });
    REQUIRE(other.acquires == 1);
    REQUIRE(other.entry_stores() + other.releases + other.atomics + other.full_fences == 0);
    cq_doorbells += other.mmio_stores;
  }
  CHECK(cq_doorbells <= 2 * (total / 64));
  CHECK(cq_doorbells >= total / 64);
  // As a batch: one release and one doorbell for all of it.
  std::vector<xio::nvme::Piece> pieces(31, {0, rig.bus(), 1});
  const OperationCounts many =
      count([&] { REQUIRE(view.submit_batch(xio::nvme::Opcode::read, pieces.data(), 31, soon()).submitted()); });
  CHECK(many.entry_stores() == 31 * 4);
  CHECK(many.releases == 1);
  CHECK(many.mmio_stores == 1);
  CHECK(many.atomics == 0);
}

TEST_CASE("submit: a wave of 64 -> one release, one doorbell, one acquire, no atomic", "[H9]") {
  using Q = Queue<Sharing::wave, xio::Policy<xio::RingBy<CheckedDoorbell>>>;
  for (const bool as_batch : {false, true}) {
    CAPTURE(as_batch);
    check_wave(run_wave<Q>(as_batch), 0, 0);
  }
}

TEST_CASE("submit: a wave of 64 on a queue of the grid -> three atomics, of the claim, the tail and the ring", "[H9]") {
  using Q = Queue<Sharing::grid, xio::Policy<xio::RingBy<CheckedDoorbell>>>;
  for (const bool as_batch : {false, true}) {
    CAPTURE(as_batch);
    // To take the completions of the batch costs one claim of the drain.
    check_wave(run_wave<Q>(as_batch), 3, 1);
  }
}

TEST_CASE("submit: ringing at once, and blocks -> the same cost") {
  check_wave(run_wave<Queue<Sharing::grid, xio::Policy<xio::RingBy<CheckedDoorbell>>>>(false), 3, 1);
  check_wave(run_wave<Queue<Sharing::block, xio::Policy<xio::RingBy<CheckedDoorbell>>>>(true), 3, 1);
}

TEST_CASE("submit: WriteThrough -> no release, and a wait for the stores before the doorbell") {
  CheckedDoorbell::write_through = true;
  const Totals wave = run_wave<Queue<Sharing::wave, xio::Policy<WriteThrough, xio::RingBy<CheckedDoorbell>>>>(false);
  CHECK(wave.submit.releases + wave.wait.releases == 0);
  CHECK(wave.submit.store_waits >= rounds);
  CHECK(wave.submit.entry_stores() == rounds * batch * 4);
  const Totals grid = run_wave<Queue<Sharing::grid, xio::Policy<WriteThrough, xio::RingBy<CheckedDoorbell>>>>(false);
  CHECK(grid.submit.releases + grid.wait.releases == 0);
  CheckedDoorbell::write_through = false;
}

TEST_CASE("submit: NarrowSlots -> stores of 8 bytes only", "[H18]") {
  const Totals wave =
      run_wave<Queue<Sharing::wave, xio::Policy<xio::NarrowSlots, xio::RingBy<CheckedDoorbell>>>>(false);
  CHECK(wave.submit.narrow_entry_stores == rounds * batch * 8);
  CHECK(wave.submit.wide_entry_stores == 0);
  CheckedDoorbell::write_through = true;
  const Totals whole =
      run_wave<Queue<Sharing::grid, xio::Policy<WriteThrough, xio::NarrowSlots, xio::RingBy<CheckedDoorbell>>>>(true);
  CHECK(whole.submit.narrow_entry_stores == rounds * batch * 8);
  CHECK(whole.submit.wide_entry_stores == 0);
  CHECK(whole.submit.releases == 0);
  CheckedDoorbell::write_through = false;
}

TEST_CASE("submit: lanes with queues of their own -> each doorbell rung", "[H1]") {
  NvmeConfig config = stepped();
  Rig rig(config);
  std::vector<NvmeQueue> queues;
  std::vector<QueueHandle> handles;
  for (uint32_t i = 0; i < 64; ++i) {
    queues.push_back(rig.queue(4));
    handles.push_back(queues.back().handle());
  }
  const auto kernel = [](const std::vector<QueueHandle>& all, uint64_t bus, Token* tokens) {
    const uint32_t lane = xio::arch::lane();
    Queue<Sharing::thread, xio::Policy<>> queue(all[lane]);
    for (uint32_t i = 0; i < 3; ++i)
      tokens[lane] = queue.submit(xio::nvme::read(lane, 1), ContiguousPages{bus}, soon());
  };
  Token tokens[64];
  const OperationCounts all =
      count([&] { xio::simt::launch(Grid::of_waves(1, 1, 64), kernel, handles, rig.bus(), tokens); });
  CHECK(all.mmio_stores == 64 * 3);
  CHECK(all.atomics == 0);
  rig.model.run();
  for (uint32_t i = 0; i < 64; ++i) {
    CAPTURE(i);
    const auto seen = rig.statistics(queues[i]);
    CHECK(seen.sq_doorbells == 1);  // three stores between two looks of the controller
    CHECK(seen.completions == 3);
  }
}

TEST_CASE("submit: telemetry -> the same accesses, and none where it is off", "[H30]") {
  const auto run = [](auto telemetry, OperationCounts& submit, OperationCounts& wait) {
    Rig rig(stepped());
    const NvmeQueue queue = rig.queue(16);
    Queue<Sharing::thread> view(queue.handle());
    for (uint32_t i = 0; i < 100; ++i) {
      Token token;
      const OperationCounts one = count([&] {
        token =
            view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().measure(telemetry));
      });
      rig.model.run();
      const OperationCounts other =
          count([&] { REQUIRE(view.wait(token, soon(), xio::Options().measure(telemetry)).is_ok()); });
      if (i == 0) {
        submit = one;
        wait = other;
      }
    }
    return telemetry;
  };
  OperationCounts off_submit, off_wait, on_submit, on_wait;
  run(xio::telemetry::Off(), off_submit, off_wait);
  const xio::telemetry::Steps steps = run(xio::telemetry::Steps(), on_submit, on_wait);
  CHECK(off_submit == on_submit);
  CHECK(off_wait == on_wait);
  static_assert(sizeof(xio::telemetry::Off) == 1);
  using xio::telemetry::Step;
  const auto times = [&](Step step) { return steps.times[static_cast<uint32_t>(step)]; };
  CHECK(times(Step::build) == 100);
  CHECK(times(Step::enqueue) == 100);
  CHECK(times(Step::sq_doorbell) == 100);
  CHECK(times(Step::cq_poll) == 100);
  CHECK(times(Step::cq_doorbell) >= 2);
  CHECK(times(Step::cq_doorbell) <= 4);
}
