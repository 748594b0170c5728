// SPDX-License-Identifier: MIT

/// @file
/// @brief A controller that never answers: every wait of the library ends, for all lanes together, and says so.

#include <thread>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

Deadline shortly() { return xio::deadline(2_ms); }

/// Lanes whose deadlines differ, as they do on a GPU where each lane reads the clock.
Deadline lanes_differ() { return xio::deadline(xio::Duration{1000000 + xio::arch::lane() * 20000}); }

template <Sharing S, class Policy>
void never_answered(const std::vector<QueueHandle>& queues, uint64_t bus, uint64_t lanes) {
  if (!(lanes >> xio::arch::lane() & 1)) return;
  Queue<S, Policy> queue(queues[S == Sharing::thread ? xio::arch::thread_index() : 0], in_wave(lanes));
  const auto read = [&](Deadline until) { return queue.submit(xio::nvme::read(1, 1), ContiguousPages{bus}, until); };
  const Token token = read(shortly());
  EXPECT(token.submitted());

  EXPECT(queue.wait(token, Deadline{0}) == Status::timed_out);
  EXPECT(queue.wait(token, lanes_differ()) == Status::timed_out);
  EXPECT(queue.test(token) == Status::pending);
  EXPECT(queue.wait_all(&token, 1, lanes_differ()) == Status::timed_out);
  uint32_t which = 9;
  EXPECT(queue.wait_any(&token, 1, lanes_differ(), which) == Status::timed_out);
  EXPECT(queue.fence(lanes_differ()) == Status::timed_out);
  EXPECT(queue.quiet(lanes_differ()) == Status::timed_out);
  if constexpr (S != Sharing::thread) EXPECT(queue.wait_batch(token, lanes_differ()) == Status::timed_out);

  // A full queue: there is no room until the deadline.
  Token more;
  for (uint32_t i = 0; i < 1000 && more.status.is_ok(); ++i) more = read(lanes_differ());
  EXPECT(more.status == Status::timed_out);
  EXPECT(!more.submitted());
  EXPECT(queue.try_submit(xio::nvme::read(1, 1), ContiguousPages{bus}).status == Status::would_block);
  const xio::nvme::Piece pieces[] = {{0, bus, 1}, {1, bus, 1}};
  EXPECT(queue.submit_batch(xio::nvme::Opcode::read, pieces, 2, lanes_differ()).status == Status::timed_out);
  EXPECT(queue.submit_batch(xio::nvme::Opcode::read, pieces, 2, xio::Now{}).status == Status::would_block);
  // The parts of a long command find no room either.
  EXPECT(queue.submit(xio::nvme::read(0, 4096), ContiguousPages{bus}, lanes_differ()).status == Status::timed_out);
  EXPECT(queue.try_submit(xio::nvme::read(0, 4096), ContiguousPages{bus}).status == Status::would_block);
  if constexpr (Policy::notifications) {
    Notification progress{};
    EXPECT(queue.transfer(xio::nvme::Opcode::read, pieces, 2, lanes_differ(), progress) == Status::timed_out);
  }
}

template <Sharing S, class Policy>
void run_all() {
  for (const uint32_t wave_size : {1u, 64u}) {
    for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xffffffff00000000}}) {
      if (wave_size == 1 && !(lanes & 1)) continue;
      CAPTURE(wave_size, lanes);
      NvmeConfig config = stepped();
      config.mdts = 8;
      Rig rig(config, size_t{2} << 20);
      std::vector<NvmeQueue> queues;
      std::vector<QueueHandle> handles;
      for (uint32_t i = 0; i < (S == Sharing::thread ? wave_size : 1); ++i) {
        queues.push_back(rig.queue(S == Sharing::thread ? 4 : 128));
        handles.push_back(queues.back().handle());
      }
      REQUIRE_NOTHROW(
          xio::simt::launch(Grid::of_waves(1, 1, wave_size), never_answered<S, Policy>, handles, rig.bus(), lanes));
      // Then the controller wakes up: everything comes back, and the queue works.
      PausingWave wave([&](uint64_t) { rig.model.step(); });
      Queue<S, Policy> queue(handles.back());
      REQUIRE(queue.quiet(soon()).is_ok());
      REQUIRE(queue.wait(queue.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()), soon()).is_ok());
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("H14 no wait outlives its deadline when the controller never answers", "", xio::Policy<>,
                   (Policy<Deferred<3>, Notify>)) {
  run_all<Sharing::thread, TestType>();
  run_all<Sharing::wave, TestType>();
  run_all<Sharing::grid, TestType>();
}

namespace {
/// Every other lane does not wait at all; what all of them wait for comes a little later.
template <Sharing S>
void patient_and_impatient(const QueueHandle& handle, uint64_t bus) {
  Queue<S> queue(handle);
  const bool patient = xio::arch::lane() % 2 == 1;
  const auto until = [&] { return patient ? soon() : Deadline{0}; };
  const auto right = [&](Status status) {
    return patient ? status.is_ok() : status.is_ok() || status == Status::timed_out;
  };
  const auto read = [&](Deadline limit) { return queue.submit(xio::nvme::read(1, 1), ContiguousPages{bus}, limit); };
  const Token waited = read(soon());
  EXPECT(right(queue.wait(waited, until())));
  const Token one_of = read(soon());
  uint32_t which = 9;
  EXPECT(right(queue.wait_any(&one_of, 1, until(), which)));
  const Token fenced = read(soon());
  EXPECT(right(queue.fence(until())));
  EXPECT_OK(queue.test(patient ? fenced : Token()));
  // There is no room for all of them at once: the lanes wait for it together.
  for (uint32_t i = 0; i < 3; ++i) {
    const Token token = read(until());
    EXPECT(patient ? token.submitted() : token.submitted() || token.status == Status::timed_out);
  }
  EXPECT_OK(queue.quiet(soon()));
}
}  // namespace

TEST_CASE("H14 lanes that wait together give up when the most patient of them does") {
  const auto run = [](auto kernel) {
    Rig rig;
    rig.model.faults().delay_us(Match(), 3000, 3000);
    const NvmeQueue queue = rig.queue(8);
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), kernel, queue.handle(), rig.bus()));
  };
  run(patient_and_impatient<Sharing::wave>);
  run(patient_and_impatient<Sharing::grid>);
}

TEST_CASE("H14 a word that nobody writes") {
  uint64_t word = 4;
  CHECK(xio::wait_until(&word, 5, shortly()) == Status::timed_out);
  CHECK(xio::wait_until(&word, 4, Deadline{0}).is_ok());
  CHECK(xio::poll_until([] { return false; }, shortly()) == Status::timed_out);
}

namespace {
/// Polls while the waiter does not run from look number `suspended` until its deadline has passed, and what it waits
/// for comes meanwhile. False: the deadline had passed before, so that nothing is shown.
bool poll_suspended(uint32_t suspended, xio::Duration limit, Status& answer) {
  const Deadline until = xio::deadline(limit);
  uint32_t looks = 0;
  bool in_time = false;
  bool arrived = false;
  const auto look = [&] {
    const bool seen = arrived;
    if (++looks == suspended) {
      in_time = !until.passed();
      while (!until.passed()) std::this_thread::yield();
      arrived = true;
    }
    return seen;
  };
  answer = xio::poll_until(look, until);
  return in_time;
}
}  // namespace

TEST_CASE("H14 what came while the waiter was not running counts, though the deadline has passed") {
  // Whether the waiter is suspended just before it reads the clock, or just after.
  for (const uint32_t suspended : {xio::arch::looks_per_clock - 1, xio::arch::looks_per_clock}) {
    CAPTURE(suspended);
    // A busy machine may suspend it earlier: then it gets more time.
    Status answer = Status::timed_out;
    xio::Duration limit = 2_ms;
    while (!poll_suspended(suspended, limit, answer) && limit.nanoseconds < patience().nanoseconds) {
      limit.nanoseconds *= 2;
    }
    CHECK(answer.is_ok());
  }
}

TEST_CASE("H14 a wave that vanished between its ticket and its entry holds up what is behind it, and breaks nothing") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  xio::QueueState& state = *queue.handle().state;
  Queue<Sharing::grid> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto read = [&](xio::Deadline until) {
    return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, until);
  };
  const Token before = read(soon());
  REQUIRE(before.submitted());
  const uint64_t vanished = state.reserved++;
  std::vector<Token> after;
  for (uint32_t i = 0; i < 6; ++i) after.push_back(read(soon()));
  for (const Token& token : after) REQUIRE(token.submitted());
  CHECK(view.wait(before, soon()).is_ok());
  CHECK(view.wait(after.front(), xio::deadline(2_ms)) == Status::timed_out);
  CHECK(view.fence(xio::deadline(2_ms)) == Status::timed_out);
  CHECK(state.tail == vanished << 1);
  // In time, too, where the queue is full.
  while (state.reserved - state.retired < queue.handle().depth) after.push_back(read(soon()));
  CHECK(read(xio::deadline(2_ms)).status == Status::timed_out);
  CHECK(state.broken == 0);
  // It goes on: what it does is what any wave does.
  queue.handle().sq[vanished & queue.handle().sq_mask] = queue.handle().sq[before.last & queue.handle().sq_mask];
  uint32_t& cdw0 = queue.handle().sq[vanished & queue.handle().sq_mask].cdw0;
  cdw0 = (cdw0 & 0xffff) | static_cast<uint32_t>(vanished & queue.handle().slot_mask) << 16;
  reinterpret_cast<uint64_t*>(&state + 1)[vanished & queue.handle().sq_mask] = vanished + 1;
  for (const Token& token : after) CHECK(view.wait(token, soon()).is_ok());
  CHECK(view.fence(soon()).is_ok());
}

TEST_CASE("H14 a broken queue refuses at once, in every mode") {
  const auto refuses = [](auto view, Rig& rig) {
    const auto read = [&](auto until) {
      return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, until).status;
    };
    const xio::nvme::Piece pieces[2] = {{1, rig.bus(), 1}, {2, rig.bus(), 1}};
    CHECK(read(soon()) == Status::broken);
    CHECK(view.try_submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}).status == Status::broken);
    CHECK(view.submit_batch(xio::nvme::Opcode::read, pieces, 2, soon()).status == Status::broken);
  };
  const auto run = [&](auto make) {
    Rig rig(stepped());
    rig.model.faults().duplicate(Match().at(1));
    const NvmeQueue queue = rig.queue(8);
    PausingWave wave([&](uint64_t) { rig.model.run(); });
    auto view = make(queue.handle());
    const auto read = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
    REQUIRE(view.wait(read(), soon()).is_ok());
    REQUIRE(view.wait(read(), soon()).is_ok());
    const uint64_t retired = queue.handle().state->retired;
    view.drain();
    REQUIRE(queue.handle().state->broken != 0);
    // The completion that belongs to nothing was not counted.
    CHECK(queue.handle().state->retired == retired);
    const uint64_t rings = rig.statistics(queue).commands;
    refuses(view, rig);
    rig.model.run();
    CHECK(rig.statistics(queue).commands == rings);
  };
  run([](const QueueHandle& handle) { return Queue<Sharing::thread>(handle); });
  run([](const QueueHandle& handle) { return Queue<Sharing::thread, xio::Unchecked>(handle); });
  run([](const QueueHandle& handle) { return Queue<Sharing::wave>(handle); });
  run([](const QueueHandle& handle) { return Queue<Sharing::block>(handle); });
  run([](const QueueHandle& handle) { return Queue<Sharing::grid>(handle); });
}

TEST_CASE("H14 completions that belong to no operation break the queue") {
  for (const bool shared : {false, true}) {
    CAPTURE(shared);
    Rig rig(stepped());
    rig.model.faults().duplicate(Match().at(1));
    const NvmeQueue queue = rig.queue(8);
    const auto run = [&](auto view) {
      PausingWave wave([&](uint64_t) { rig.model.run(); });
      const auto read = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
      REQUIRE(view.wait(read(), soon()).is_ok());
      const Token token = read();
      REQUIRE(view.wait(token, soon()).is_ok());
      view.drain();
      REQUIRE(queue.handle().state->broken != 0);
    };
    if (shared) {
      run(Queue<Sharing::grid>(queue.handle()));
    } else {
      run(Queue<Sharing::thread>(queue.handle()));
    }
  }
}

namespace {
template <Sharing S>
void drain_once(const QueueHandle& handle) {
  Queue<S> queue(handle);
  // The second one stays where it is.
  EXPECT(queue.drain() == 4);
}
}  // namespace

TEST_CASE("H14 a completion that comes twice is noticed also where one look takes both") {
  const auto run = [](auto view, Rig& rig, const NvmeQueue& queue, auto kernel) {
    for (uint32_t i = 0; i < 4; ++i) {
      REQUIRE(view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon()).submitted());
    }
    rig.model.run();
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), kernel, queue.handle()));
    CHECK(queue.handle().state->broken != 0);
  };
  for (const bool shared : {false, true}) {
    CAPTURE(shared);
    Rig rig(stepped());
    rig.model.faults().duplicate(Match().at(3));
    const NvmeQueue queue = rig.queue(8);
    if (shared) {
      run(Queue<Sharing::grid>(queue.handle()), rig, queue, drain_once<Sharing::grid>);
    } else {
      run(Queue<Sharing::wave>(queue.handle()), rig, queue, drain_once<Sharing::wave>);
    }
  }
}
