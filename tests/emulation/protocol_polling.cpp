// SPDX-License-Identifier: MIT

/// @file
/// @brief Waits, look by look: the device moves only when the library pauses.

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

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

TEMPLATE_TEST_CASE("H6 an error is seen after any number of looks", "", xio::Policy<>, Policy<Deferred<4>>) {
  constexpr uint64_t most = XIO_TSAN ? 10 : 140;
  for (uint64_t pauses = 0; pauses < most; ++pauses) {
    error_after<Sharing::thread, TestType>(pauses);
    error_after<Sharing::wave, TestType>(pauses);
    error_after<Sharing::grid, TestType>(pauses);
  }
}

TEMPLATE_TEST_CASE("H21 quiet on an idle queue returns at once, any number of times", "", xio::Policy<>,
                   Policy<Deferred<4>>) {
  const auto idle = [](auto& bench) {
    PausingWave wave([](uint64_t) { FAIL("quiet waits on an idle queue"); });
    const uint64_t doorbells = bench.doorbells();
    for (int i = 0; i < 3; ++i) {
      REQUIRE(bench.view.quiet(Deadline{0}).is_ok());
      REQUIRE(bench.view.fence(Deadline{0}).is_ok());
    }
    bench.rig.model.run();
    REQUIRE(bench.doorbells() == doorbells);
  };
  const auto twice = [&](auto&& bench) {
    idle(bench);
    const Token token = bench.read(1);
    bench.view.ring();
    bench.rig.model.run();
    REQUIRE(bench.view.quiet(soon()).is_ok());
    idle(bench);
    REQUIRE(bench.view.wait(token, Deadline{0}).is_ok());
  };
  twice(Bench<Sharing::thread, TestType>());
  twice(Bench<Sharing::wave, TestType>());
  twice(Bench<Sharing::block, TestType>());
  twice(Bench<Sharing::grid, TestType>());
}

TEST_CASE("H21 an operation that ended in time counts, also where the deadline has passed") {
  Bench<Sharing::grid, xio::Policy<>> bench;
  const Token token = bench.read(1);
  bench.rig.model.run();
  PausingWave wave([](uint64_t) { FAIL("a wait for what is there pauses"); });
  CHECK(bench.view.wait(token, Deadline{0}).is_ok());
}

TEMPLATE_TEST_CASE("test looks once and never pauses", "", xio::Policy<>, Policy<Deferred<4>>) {
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

TEST_CASE("H3 every wait announces deferred entries first") {
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

TEST_CASE("H3 a full deferred ring is announced before the library waits for room") {
  const auto fill = [](auto&& bench) {
    PausingWave wave([&](uint64_t) { bench.rig.model.run(); });
    for (uint32_t i = 0; i < 100; ++i) REQUIRE(bench.read(i % 10).submitted());
    REQUIRE(bench.view.quiet(soon()).is_ok());
    REQUIRE(bench.rig.statistics(bench.queue).completions == 100);
  };
  fill(Bench<Sharing::thread, Policy<Deferred<1000>>>());
  fill(Bench<Sharing::wave, Policy<Deferred<1000>>>());
  fill(Bench<Sharing::grid, Policy<Deferred<1000>>>());
}

TEST_CASE("H3 a full deferred ring is announced also where the caller does not wait for room") {
  const auto fill = [](auto&& bench) {
    uint32_t submitted = 0;
    for (uint32_t round = 0; round < 200 && submitted < 50; ++round) {
      const Token token = bench.view.try_submit(xio::nvme::read(1, 1), ContiguousPages{bench.rig.bus()});
      submitted += token.count;
      if (token.submitted()) continue;
      REQUIRE(token.status == Status::would_block);
      bench.rig.model.run();
      bench.view.drain();
    }
    REQUIRE(submitted == 50);
  };
  fill(Bench<Sharing::thread, Policy<Deferred<1000>>>());
  fill(Bench<Sharing::wave, Policy<Deferred<1000>>>());
  fill(Bench<Sharing::grid, Policy<Deferred<1000>>>());
}

TEST_CASE("H3 a deferred queue that stays full is not rung for each command") {
  constexpr uint32_t all = 200;
  constexpr uint32_t every = 4;
  const auto fill = [](auto&& bench) {
    PausingWave wave([&](uint64_t) { bench.rig.model.step(1); });
    for (uint32_t i = 0; i < all; ++i) REQUIRE(bench.read(i % 10).submitted());
    CHECK(bench.doorbells() <= all / every + 1);
    REQUIRE(bench.view.quiet(soon()).is_ok());
  };
  fill(Bench<Sharing::thread, Policy<Deferred<every>>>());
  fill(Bench<Sharing::wave, Policy<Deferred<every>>>());
  fill(Bench<Sharing::grid, Policy<Deferred<every>>>());
  // Also where the caller does not wait for room.
  const auto try_all = [](auto&& bench) {
    for (uint32_t submitted = 0; submitted < all;) {
      const Token token = bench.view.try_submit(xio::nvme::read(1, 1), ContiguousPages{bench.rig.bus()});
      submitted += token.count;
      if (token.submitted()) continue;
      bench.rig.model.step(1);
      bench.view.drain();
    }
    CHECK(bench.doorbells() <= all / every + 1);
  };
  try_all(Bench<Sharing::thread, Policy<Deferred<every>>>());
  try_all(Bench<Sharing::grid, Policy<Deferred<every>>>());
}
