// SPDX-License-Identifier: MIT

/// @file
/// @brief Waits, look by look: of what never comes, of what comes late, and of a device that moves only when the
/// library pauses.

#include <thread>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

Deadline briefly() { return xio::deadline(2_ms); }

/// Lanes whose deadlines differ, as they do on a GPU where each lane reads the clock.
Deadline lanes_differ() { return xio::deadline(xio::Duration{1000000 + xio::arch::lane() * 20000}); }

/// Lanes of a wave; conformance.cpp has the calls of one lane.
template <Sharing S>
void never_answered(const QueueHandle& handle, uint64_t bus, uint64_t lanes) {
  if (!(lanes >> xio::arch::lane() & 1)) return;
  Queue<S, Policy<Deferred<3>, Notify>> queue(handle, in_wave(lanes));
  const auto read = [&](uint32_t blocks) {
    return queue.submit(xio::nvme::read(0, blocks), ContiguousPages{bus}, lanes_differ());
  };
  const Token token = read(1);
  EXPECT(token.submitted());
  EXPECT(queue.wait(token, Deadline{0}) == Status::timed_out);
  EXPECT(queue.wait(token, lanes_differ()) == Status::timed_out);
  EXPECT(queue.test(token) == Status::pending);
  EXPECT(queue.wait_all(&token, 1, lanes_differ()) == Status::timed_out);
  uint32_t which = 9;
  EXPECT(queue.wait_any(&token, 1, lanes_differ(), which) == Status::timed_out);
  EXPECT(queue.wait_batch(token, lanes_differ()) == Status::timed_out);
  EXPECT(queue.fence(lanes_differ()) == Status::timed_out);
  EXPECT(queue.quiet(lanes_differ()) == Status::timed_out);
  Notification counted{};
  EXPECT(queue.wait_count(counted, 1, lanes_differ()) == Status::timed_out);
  EXPECT(queue.wait_count(counted, 0, lanes_differ()).is_ok());

  // A full queue: there is no room until the deadline, for one command, several, or the parts of a long one.
  Token more;
  for (uint32_t i = 0; i < 1000 && more.status.is_ok(); ++i) more = read(1);
  EXPECT(more.status == Status::timed_out);
  EXPECT(!more.submitted());
  EXPECT(queue.try_submit(xio::nvme::read(1, 1), ContiguousPages{bus}).status == Status::would_block);
  const xio::nvme::Piece pieces[] = {{0, bus, 1}, {1, bus, 1}};
  EXPECT(queue.submit_batch(xio::nvme::Opcode::read, pieces, 2, lanes_differ()).status == Status::timed_out);
  EXPECT(queue.submit_batch(xio::nvme::Opcode::read, pieces, 2, xio::Now{}).status == Status::would_block);
  EXPECT(read(4096).status == Status::timed_out);
  EXPECT(queue.try_submit(xio::nvme::read(0, 4096), ContiguousPages{bus}).status == Status::would_block);
  Notification progress{};
  EXPECT(queue.transfer(xio::nvme::Opcode::read, pieces, 2, lanes_differ(), progress) == Status::timed_out);
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("every wait: a controller that never answers -> timed out at the deadline", "[H14]",
                       ((Sharing S), S), Sharing::wave, Sharing::grid) {
  for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xffffffff00000000}}) {
    CAPTURE(lanes);
    NvmeConfig config = stepped();
    config.mdts = 8;
    Rig rig(config, size_t{2} << 20);
    const NvmeQueue queue = rig.queue(128);
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 64), never_answered<S>, queue.handle(), rig.bus(), lanes));
    // Then the controller wakes up: everything comes back, and the queue works.
    PausingWave wave([&](uint64_t) { rig.model.step(); });
    Queue<S, Policy<Deferred<3>, Notify>> view(queue.handle());
    REQUIRE(view.quiet(soon()).is_ok());
    REQUIRE(view.wait(view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()), soon()).is_ok());
  }
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

TEST_CASE("wait: lanes with different deadlines -> the most patient one decides", "[H14]") {
  const auto run = [](auto kernel) {
    Rig rig;
    rig.model.faults().delay_us(Match(), 3000, 3000);
    const NvmeQueue queue = rig.queue(8);
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), kernel, queue.handle(), rig.bus()));
  };
  run(patient_and_impatient<Sharing::wave>);
  run(patient_and_impatient<Sharing::grid>);
}

namespace {

/// Each lane waits for another number of the wave's reads, of which the last one fails.
template <Sharing S>
void counted_by_lane(const QueueHandle& handle, uint64_t bus, uint64_t lanes, Notification* counted) {
  if (!(lanes >> xio::arch::lane() & 1)) return;
  Queue<S, Policy<Deferred<3>, Notify>> queue(handle, in_wave(lanes));
  const uint32_t lane = xio::arch::lane();
  const uint32_t all = xio::arch::count_lanes(lanes);
  EXPECT(queue.wait_count(counted[0], 0, soon()).is_ok());
  EXPECT(queue.submit(xio::nvme::read(lane, 1), ContiguousPages{bus}, soon(), xio::Options().notify(counted[0]))
             .submitted());
  EXPECT(queue.wait_count(counted[0], all - lane % 3, soon()).is_ok());
  EXPECT(queue.wait_count(counted[0], all, soon()).is_ok());
  EXPECT(xio::arch::load<xio::arch::Scope::system>(&counted[0].done) == all);
  EXPECT(queue.submit(xio::nvme::read(lane + 100, 1), ContiguousPages{bus}, soon(), xio::Options().notify(counted[1]))
             .submitted());
  EXPECT(queue.wait_count(counted[1], all, soon()) == Status(Status::read_error, 0x281));
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("wait_count: of lanes with counts of their own -> all ended, or the first error", "[H14]",
                       ((Sharing S), S), Sharing::wave, Sharing::grid) {
  for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xffffffff00000000}}) {
    CAPTURE(lanes);
    Rig rig;
    rig.model.faults().fail(Match().with_lba(163, 163), 0x281);
    const NvmeQueue queue = rig.queue(16);
    Notification counted[2]{};
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 64), counted_by_lane<S>, queue.handle(), rig.bus(), lanes,
                                      static_cast<Notification*>(counted)));
  }
}

TEST_CASE("wait_count: operations of an earlier user, in any number of calls -> counted", "[H14]") {
  Rig rig(stepped());
  PausingWave wave([&](uint64_t) { rig.model.step(1); });
  const NvmeQueue owner = rig.queue(16);
  Queue<Sharing::thread, Policy<Notify>> queue(owner.handle());
  Notification counted{};
  for (uint32_t i = 0; i < 40; ++i) {
    REQUIRE(queue.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().notify(counted))
                .submitted());
    if (i % 3 == 0) REQUIRE(queue.wait_count(counted, i, soon()).is_ok());
  }
  CHECK(queue.wait_count(counted, 40, soon()).is_ok());
  CHECK(counted.done == 40);
  CHECK(queue.wait_count(counted, 41, briefly()) == Status::timed_out);
}

TEST_CASE("wait_count: a broken queue -> broken", "[H14]") {
  Rig rig(stepped());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const NvmeQueue owner = rig.queue(16);
  Queue<Sharing::grid, Policy<Notify>> queue(owner.handle());
  Notification counted{};
  owner.handle().state->broken = 1;
  CHECK(queue.wait_count(counted, 1, soon()) == Status::broken);
}

TEST_CASE("wait_until: a word that nobody writes -> timed out", "[H14]") {
  uint64_t word = 4;
  CHECK(xio::wait_until(&word, 5, briefly()) == Status::timed_out);
  CHECK(xio::wait_until(&word, 4, Deadline{0}).is_ok());
  CHECK(xio::poll_until([] { return false; }, briefly()) == Status::timed_out);
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

TEST_CASE("poll_until: a word stored while the waiter was suspended -> ok after the deadline", "[H14]") {
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

TEST_CASE("submit: a wave that stopped before its entry -> later waves time out, and go on after it", "[H14]") {
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

TEST_CASE("submit: a broken queue -> refused at once in every mode", "[H14]") {
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

namespace {
template <Sharing S>
void drain_once(const QueueHandle& handle) {
  Queue<S> queue(handle);
  // The second one stays where it is.
  EXPECT(queue.drain() == 4);
}
}  // namespace

TEST_CASE("drain: a completion twice in one look -> broken", "[H14]") {
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

namespace {
template <Sharing S>
void drain_eight(const QueueHandle& handle) {
  Queue<S, Policy<Notify>> queue(handle);
  EXPECT(queue.drain() == 8);
}

/// Eight commands, of which the drive completes the second one twice: of nine completions a look takes eight.
template <Sharing S>
void count_twice() {
  Rig rig(stepped());
  const NvmeQueue made = rig.queue(8);
  Queue<S, Policy<Notify>> queue(made.handle());
  rig.model.faults().duplicate(Match().with_lba(1, 1));
  Notification told[8] = {};
  for (uint32_t i = 0; i < 8; ++i) {
    const auto options = xio::Options().notify(told[i]);
    REQUIRE(queue.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon(), options).submitted());
  }
  rig.model.run();
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), drain_eight<S>, made.handle()));
  CHECK(told[1].done == 2);
  queue.drain();  // the look at the ninth
  CHECK(made.handle().state->broken != 0);
  CHECK(told[7].done == 0);
  CHECK(queue.wait_count(told[7], 1, soon()) == Status::broken);
  for (uint32_t i = 0; i < 7; ++i) CHECK(told[i].done == (i == 1 ? 2 : 1));
}
}  // namespace

TEST_CASE("drain: a completion twice in one look, notified -> counted twice, and broken at the last one", "[H14]") {
  count_twice<Sharing::wave>();
  count_twice<Sharing::block>();
  count_twice<Sharing::grid>();
}

namespace {

constexpr uint16_t unrecovered_read = 0x281;

/// A queue of a stepped controller, driven by a wave of one lane; the device moves at pauses that the test chooses.
template <Sharing S, class Policy>
struct Bench {
  Bench() : rig(stepped()), queue(rig.queue(8)), view(queue.handle()) {}
  Token read(uint64_t lba) { return view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon()); }
  uint64_t doorbells() const { return rig.statistics(queue).sq_doorbells; }

  Rig rig;
  NvmeQueue queue;
  Queue<S, Policy> view;
};

template <Sharing S, class Policy>
void error_after(uint64_t pauses) {
  CAPTURE(pauses);
  Bench<S, Policy> bench;
  bench.rig.model.faults().fail(Match().with_lba(3, 3), unrecovered_read);
  const Token good = bench.read(1);
  const Token bad = bench.read(3);
  PausingWave wave([&](uint64_t number) {
    if (number == pauses) bench.rig.model.run();
  });
  if (pauses == 0) {
    bench.view.ring();
    bench.rig.model.run();
  }
  const Status status = bench.view.wait(bad, soon());
  REQUIRE(status == Status(Status::read_error, unrecovered_read));
  REQUIRE(wave.pauses == pauses);
  REQUIRE(bench.view.wait(good, soon()).is_ok());
  REQUIRE(bench.view.quiet(soon()).is_ok());
}

}  // namespace

TEMPLATE_TEST_CASE("wait: an error after any number of looks -> reported", "[H6]", xio::Policy<>, Policy<Deferred<4>>) {
  constexpr uint64_t most = XIO_TSAN ? 10 : 140;
  for (uint64_t pauses = 0; pauses < most; ++pauses) {
    error_after<Sharing::thread, TestType>(pauses);
    error_after<Sharing::wave, TestType>(pauses);
    error_after<Sharing::grid, TestType>(pauses);
  }
}

TEST_CASE("wait: an operation that ended before the deadline passed -> ok", "[H21]") {
  Bench<Sharing::grid, xio::Policy<>> bench;
  const Token token = bench.read(1);
  bench.rig.model.run();
  PausingWave wave([](uint64_t) { FAIL("a wait for what is there pauses"); });
  CHECK(bench.view.wait(token, Deadline{0}).is_ok());
}

TEMPLATE_TEST_CASE("test: an operation in flight -> pending, without a pause", "", xio::Policy<>, Policy<Deferred<4>>) {
  const auto once = [](auto&& bench) {
    PausingWave wave([](uint64_t) { FAIL("test pauses"); });
    const Token token = bench.read(1);
    REQUIRE(bench.view.test(token) == Status::pending);
    REQUIRE(bench.view.test(token) == Status::pending);
    bench.rig.model.run();
    REQUIRE(bench.view.test(token).is_ok());
    REQUIRE(bench.view.test(token).is_ok());
    REQUIRE(bench.view.test(Token::refused(Status::would_block)) == Status::would_block);
    REQUIRE(bench.view.test(Token::refused(Status::out_of_range)) == Status::out_of_range);
    uint32_t which = 9;
    const Token refused = Token::refused(Status::would_block);
    REQUIRE(bench.view.wait_any(&refused, 1, soon(), which) == Status::would_block);
    REQUIRE(which == 0);
  };
  once(Bench<Sharing::thread, TestType>());
  once(Bench<Sharing::wave, TestType>());
  once(Bench<Sharing::grid, TestType>());
}

TEST_CASE("every wait: deferred entries -> announced by one doorbell", "[H3]") {
  using P = Policy<Deferred<100>, Notify>;
  const auto each = [](auto wait) {
    for (const uint32_t waiting : {1u, 5u}) {
      CAPTURE(waiting);
      Bench<Sharing::grid, P> shared;
      Bench<Sharing::thread, P> own;
      const auto run = [&](auto& bench) {
        Token token;
        for (uint32_t i = 0; i < waiting; ++i) token = bench.read(i);
        bench.rig.model.run();
        REQUIRE(bench.doorbells() == 0);
        PausingWave wave([&](uint64_t) { bench.rig.model.run(); });
        REQUIRE(wait(bench.view, token).is_ok());
        REQUIRE(bench.doorbells() == 1);
      };
      run(shared);
      run(own);
    }
  };
  each([](auto& queue, const Token& token) { return queue.wait(token, soon()); });
  each([](auto& queue, const Token& token) { return queue.wait_batch(token, soon()); });
  each([](auto& queue, const Token& token) { return queue.wait_all(&token, 1, soon()); });
  each([](auto& queue, const Token& token) {
    uint32_t which = 7;
    return queue.wait_any(&token, 1, soon(), which);
  });
  each([](auto& queue, const Token&) { return queue.fence(soon()); });
  each([](auto& queue, const Token&) { return queue.quiet(soon()); });
  each([](auto& queue, const Token& token) {
    Status status = Status::pending;
    while (status == Status::pending) {
      status = queue.test(token);
      xio::arch::pause(0);
    }
    return status;
  });
}

namespace {

constexpr uint32_t all_reads = 200;

/// Submits to a queue that stays full: the device ends one command while the caller waits or, without a deadline, each
/// time it is refused.
template <Sharing S, class Policy>
uint64_t doorbells_when_full(bool waits) {
  Bench<S, Policy> bench;
  PausingWave wave([&](uint64_t) { bench.rig.model.step(1); });
  for (uint32_t submitted = 0, refused = 0; submitted < all_reads;) {
    Token token;
    if (waits) {
      token = bench.read(submitted % 10);
      REQUIRE(token.submitted());
    } else {
      token = bench.view.try_submit(xio::nvme::read(1, 1), ContiguousPages{bench.rig.bus()});
    }
    submitted += token.count;
    if (token.submitted()) continue;
    REQUIRE(token.status == Status::would_block);
    REQUIRE(++refused < 4 * all_reads);
    bench.rig.model.step(1);
    bench.view.drain();
  }
  const uint64_t result = bench.doorbells();
  REQUIRE(bench.view.quiet(soon()).is_ok());
  REQUIRE(bench.rig.statistics(bench.queue).completions == all_reads);
  return result;
}

template <bool Waits>
void fill_deferred() {
  // More than the ring holds are to be announced together: it is announced when it is full.
  doorbells_when_full<Sharing::thread, Policy<Deferred<1000>>>(Waits);
  doorbells_when_full<Sharing::wave, Policy<Deferred<1000>>>(Waits);
  doorbells_when_full<Sharing::grid, Policy<Deferred<1000>>>(Waits);
  // It is not rung for each command.
  CHECK(doorbells_when_full<Sharing::thread, Policy<Deferred<4>>>(Waits) <= all_reads / 4 + 1);
  CHECK(doorbells_when_full<Sharing::wave, Policy<Deferred<4>>>(Waits) <= all_reads / 4 + 1);
  CHECK(doorbells_when_full<Sharing::grid, Policy<Deferred<4>>>(Waits) <= all_reads / 4 + 1);
}

}  // namespace

TEST_CASE("submit: a full ring of deferred entries -> announced, and not for each command", "[H3]") {
  fill_deferred<true>();
}

TEST_CASE("try_submit: a full ring of deferred entries -> announced, and not for each command", "[H3]") {
  fill_deferred<false>();
}
