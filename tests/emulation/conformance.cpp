// SPDX-License-Identifier: MIT

/// @file
/// @brief What every queue does, whatever the format of its entries and completions: the same tests for all of them, in
/// each way of sharing.

#include <random>

#include "emulation/conformance.hpp"

using namespace conformance;

namespace {

using Maker = std::unique_ptr<Device> (*)(const Setup&);

template <class Format>
std::unique_ptr<Device> make(const Setup& setup) {
  return std::make_unique<Format>(setup);
}

constexpr Sharing sharings[] = {Sharing::thread, Sharing::wave, Sharing::grid};

void for_each_sharing(Maker make, void (*check)(Maker make, Setup setup)) {
  for (const Sharing sharing : sharings) {
    CAPTURE(static_cast<int>(sharing));
    Setup setup;
    setup.sharing = sharing;
    check(make, setup);
  }
}

/// Lets the device work whenever the library waits.
struct Working {
  explicit Working(Device& device) : wave([&device](uint64_t) { device.settle(); }) {}
  PausingWave wave;
};

void moves_everything(Maker make, Setup setup) {
  for (const uint32_t depth : {1u, 3u, 8u}) {
    CAPTURE(depth);
    setup.depth = depth;
    const auto device = make(setup);
    const auto queue = device->queue();
    const Working working(*device);
    // Many laps of the ring, with all room in use and with some.
    for (uint32_t i = 0; i < Device::pieces; ++i) {
      REQUIRE_FALSE(device->has(i));
      const Token token = queue->put(i, soon());
      REQUIRE(token.submitted());
      if (i % 5 == 0) REQUIRE(queue->wait(token, soon()).is_ok());
    }
    CHECK(queue->quiet(soon()).is_ok());
    for (uint32_t i = 0; i < Device::pieces; ++i) REQUIRE(device->has(i));
    CHECK(device->operations() == Device::pieces);
    CHECK(device->most_in_flight() <= depth);
    CHECK(device->violations() == "");
  }
}

void is_full(Maker make, Setup setup) {
  const auto device = make(setup);
  const auto queue = device->queue();
  for (uint32_t i = 0; i < setup.depth; ++i) REQUIRE(queue->try_put(i).submitted());
  // Nothing has ended, or it was not looked for.
  device->settle();
  CHECK(queue->try_put(9).status == Status::would_block);
  CHECK(queue->try_batch(9, 2).status == Status::would_block);
  // Who waits takes completions, also where the time is over.
  const Token token = queue->put(9, Deadline{0});
  CHECK(token.submitted());
  // A refused one is answered at once.
  const Token refused = Token::refused(Status::would_block);
  CHECK(queue->wait(refused, Deadline{0}) == Status::would_block);
  CHECK(queue->test(refused) == Status::would_block);
  CHECK(queue->test(token) == Status::pending);
  const Token either[] = {token, refused};
  uint32_t which = 9;
  CHECK(queue->wait_any(either, 2, soon(), which) == Status::would_block);
  CHECK(which == 1);
  device->settle();
  CHECK(queue->wait(token, soon()).is_ok());
  CHECK(device->operations() == setup.depth + 1);
}

void ends_at_the_deadline(Maker make, Setup setup) {
  const auto device = make(setup);
  const auto queue = device->queue();
  const Token token = queue->try_put(0);
  uint32_t which = 9;
  CHECK(queue->test(token) == Status::pending);
  CHECK(queue->wait(token, shortly()) == Status::timed_out);
  CHECK(queue->wait(token, Deadline{0}) == Status::timed_out);
  CHECK(queue->wait_all(&token, 1, shortly()) == Status::timed_out);
  CHECK(queue->wait_any(&token, 1, shortly(), which) == Status::timed_out);
  CHECK(queue->wait_batch(token, shortly()) == Status::timed_out);
  CHECK(queue->fence(shortly()) == Status::timed_out);
  CHECK(queue->quiet(shortly()) == Status::timed_out);
  CHECK(queue->put_batch(0, setup.depth, shortly()).status == Status::timed_out);
  for (uint32_t i = 1; i < setup.depth; ++i) REQUIRE(queue->try_put(i).submitted());
  CHECK(queue->put(9, shortly()).status == Status::timed_out);
  CHECK(queue->put_batch(9, 2, shortly()).status == Status::timed_out);
  // What was given up is still in flight, and what was refused has left no trace.
  const Working working(*device);
  CHECK(queue->quiet(soon()).is_ok());
  CHECK(queue->test(token).is_ok());
  CHECK(queue->wait(queue->put(9, soon()), soon()).is_ok());
  CHECK(device->operations() == setup.depth + 1);
  CHECK(device->violations() == "");
}

void is_idle(Maker make, Setup setup) {
  const auto device = make(setup);
  const auto queue = device->queue();
  for (uint32_t i = 0; i < 3; ++i) CHECK(queue->quiet(Deadline{0}).is_ok());
  CHECK(queue->fence(Deadline{0}).is_ok());
  const Token token = queue->try_put(0);
  device->settle();
  CHECK(queue->wait(token, soon()).is_ok());
  for (uint32_t i = 0; i < 3; ++i) CHECK(queue->quiet(Deadline{0}).is_ok());
}

/// How the operation `number` ends where the one of number `failing` fails.
Status::Code expected(const Device& device, uint64_t number, uint64_t failing) {
  if (number == failing) return device.failure();
  return number < failing || device.goes_on_after_a_failure() ? Status::ok : Status::flushed;
}

void tells_of_a_failure(Maker make, Setup setup) {
  for (const uint32_t failing : {0u, 3u, 7u}) {
    CAPTURE(failing);
    const auto device = make(setup);
    const auto queue = device->queue();
    device->fail(failing);
    Token tokens[8];
    for (uint32_t i = 0; i < 8; ++i) tokens[i] = queue->try_put(i);
    device->settle();
    const Working working(*device);
    // The last one first; asked again, the same.
    for (uint32_t i = 8; i-- > 0;) {
      CAPTURE(i);
      CHECK(queue->wait(tokens[i], soon()).code == expected(*device, i, failing));
      CHECK(queue->test(tokens[i]).code == expected(*device, i, failing));
      CHECK(device->has(i) == (expected(*device, i, failing) == Status::ok));
    }
    uint32_t which = 9;
    CHECK(queue->wait_all(tokens, 8, soon()).code == device->failure());
    CHECK(queue->wait_any(&tokens[failing], 1, soon(), which).code == device->failure());
    CHECK(which == 0);
    CHECK(queue->fence(soon()).is_ok());
  }
}

void refuses_when_broken(Maker make, Setup setup) {
  const auto device = make(setup);
  const auto queue = device->queue();
  device->confuse(2);
  const Working working(*device);
  Token token;
  for (uint32_t i = 0; i < 4 && token.status.is_ok(); ++i) {
    token = queue->put(i, soon());
    if (token.submitted()) (void)queue->wait(token, soon());
  }
  REQUIRE(queue->put(5, soon()).status == Status::broken);
  const uint64_t operations = device->operations();
  CHECK(queue->try_put(5).status == Status::broken);
  CHECK(queue->put_batch(5, 2, soon()).status == Status::broken);
  CHECK(queue->try_batch(5, 2).status == Status::broken);
  device->settle();
  CHECK(device->operations() == operations);
  CHECK_FALSE(device->has(5));
}

void waits_unannounced(Maker make, Setup setup) {
  setup.deferred = true;
  const auto device = make(setup);
  const auto queue = device->queue();
  const auto put = [&](uint32_t first, uint32_t count) {
    Token token;
    for (uint32_t i = 0; i < count; ++i) token = queue->try_put(first + i);
    device->settle();
    return token;
  };
  Token token = put(0, 3);
  CHECK(device->operations() == 0);
  queue->ring();
  device->settle();
  CHECK(device->operations() == 3);
  CHECK(queue->wait(token, soon()).is_ok());
  // The fourth one takes the others along.
  token = put(3, 4);
  CHECK(device->operations() == 7);
  CHECK(queue->wait(token, soon()).is_ok());
  // Waits announce, for one operation and for all, and so does who finds no room.
  const Working working(*device);
  CHECK(queue->wait(put(7, 1), soon()).is_ok());
  CHECK(device->operations() == 8);
  (void)put(8, 2);
  CHECK(queue->quiet(soon()).is_ok());
  CHECK(device->operations() == 10);
  for (uint32_t i = 0; i < 3 * setup.depth; ++i) REQUIRE(queue->put(10 + i, soon()).submitted());
  CHECK(queue->fence(soon()).is_ok());
  CHECK(device->operations() == 10 + 3 * setup.depth);
  CHECK(device->violations() == "");
}

void posts_batches(Maker make, Setup setup) {
  setup.depth = 16;
  const auto device = make(setup);
  const auto queue = device->queue();
  CHECK(queue->put_batch(0, 0, soon()).status == Status::invalid_argument);
  CHECK(queue->put_batch(0, setup.depth + 1, soon()).status == Status::invalid_argument);
  const Working working(*device);
  uint32_t first = 0;
  for (uint32_t count = 1; count <= setup.depth; ++count) {
    CAPTURE(count);
    const Token token = queue->put_batch(first, count, soon());
    REQUIRE(token.count == count);
    REQUIRE(queue->wait_batch(token, soon()).is_ok());
    for (uint32_t i = 0; i < count; ++i) REQUIRE(device->has(first + i));
    REQUIRE_FALSE(device->has(first + count));
    first += count;
  }
  // All of it or nothing.
  REQUIRE(queue->put(first, soon()).submitted());
  CHECK(queue->try_batch(first, setup.depth).status == Status::would_block);
  CHECK(queue->try_batch(first, setup.depth - 1).submitted());
  CHECK(queue->quiet(soon()).is_ok());
  CHECK(device->operations() == first + setup.depth);
  // Who waits for a batch is told of the piece that failed.
  device->fail(5);
  const Token token = queue->put_batch(first, 8, soon());
  CHECK(queue->wait_batch(token, soon()).code == device->failure());
  CHECK(queue->wait(token, soon()).code == device->failure());
  CHECK(queue->test(token).code == device->failure());
  CHECK(device->violations() == "");
}

/// Queue and sessions in turn, with operations in flight from one to the next.
void goes_on_in_a_session(Maker make, Setup setup) {
  if (setup.sharing == Sharing::grid) return;
  const auto device = make(setup);
  const Working working(*device);
  Token before;
  for (uint32_t turn = 0; turn < 8; ++turn) {
    const auto queue = turn % 2 == 0 ? device->queue() : device->session();
    CHECK(queue->wait(before, soon()).is_ok());
    for (uint32_t i = 0; i < 19; ++i) REQUIRE(queue->put(turn * 20 + i, soon()).submitted());
    CHECK(queue->fence(soon()).is_ok());
    before = queue->put(turn * 20 + 19, soon());
  }
  CHECK(device->queue()->quiet(soon()).is_ok());
  CHECK(device->operations() == 160);
  for (uint32_t i = 0; i < 160; ++i) REQUIRE(device->has(i));
  CHECK(device->violations() == "");
  // What a session learns of a failure, the queue knows.
  device->fail(0);
  const Token token = device->session()->put(160, soon());
  CHECK(device->session()->wait(token, soon()).code == device->failure());
  CHECK(device->queue()->wait(token, soon()).code == device->failure());
}

/// Waves of several lanes: each lane for itself, then each wave with batches.
void acts_in_groups(Maker make, Setup setup) {
  if (setup.sharing == Sharing::thread) return;
  constexpr uint32_t lanes = 8;
  const uint32_t waves = setup.sharing == Sharing::wave ? 1 : 3;
  setup.depth = 24;
  setup.running = true;
  const auto device = make(setup);
  const auto kernel = [&] {
    const auto queue = device->queue();
    const uint32_t wave = xio::arch::block_index();
    const uint32_t first = 80 * wave;
    Token tokens[3];
    for (uint32_t i = 0; i < 3; ++i) {
      tokens[i] = queue->put(first + 3 * xio::arch::lane() + i, soon());
      EXPECT_OK(tokens[i].status);
    }
    for (const uint32_t i : {2u, 0u, 1u}) EXPECT_OK(queue->wait(tokens[i], soon()));
    uint32_t at = first + 3 * lanes;
    for (const uint32_t count : {1u, 7u, 8u, 9u, 23u}) {
      const Token token = queue->put_batch(at, count, soon());
      EXPECT(token.count == count);
      EXPECT_OK(queue->wait_batch(token, soon()));
      at += count;
    }
    EXPECT_OK(queue->quiet(soon()));
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), kernel));
  device->stop();
  for (uint32_t i = 0; i < 80 * waves; ++i) REQUIRE(device->has(i) == (i % 80 < 72));
  CHECK(device->operations() == 72 * waves);
  CHECK(device->violations() == "");
}

/// Tokens of long ago, in any order.
void answers_late(Maker make, Setup setup) {
  const auto device = make(setup);
  const auto queue = device->queue();
  constexpr uint32_t count = 200;
  constexpr uint64_t failing = 150;
  device->fail(failing);
  const Working working(*device);
  std::vector<std::pair<uint32_t, Token>> tokens;
  for (uint32_t i = 0; i < count; ++i) {
    const Token token = queue->put(i, soon());
    if (!token.submitted()) break;
    tokens.emplace_back(i, token);
  }
  REQUIRE(tokens.size() > failing);
  std::shuffle(tokens.begin(), tokens.end(), std::mt19937(setup.depth));
  for (const auto& [i, token] : tokens) {
    CAPTURE(i);
    REQUIRE(queue->wait(token, soon()).code == expected(*device, i, failing));
    REQUIRE(queue->test(token).code == expected(*device, i, failing));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("Everything that is submitted moves, lap after lap, and ends", "", Formats) {
  for_each_sharing(make<TestType>, moves_everything);
}

TEMPLATE_LIST_TEST_CASE("A full queue says so, and takes more once something has ended", "", Formats) {
  for_each_sharing(make<TestType>, is_full);
}

TEMPLATE_LIST_TEST_CASE("a device that does nothing: every call ends at its deadline", "[H14]", Formats) {
  for_each_sharing(make<TestType>, ends_at_the_deadline);
}

TEMPLATE_LIST_TEST_CASE("quiet on an idle queue returns at once, any number of times", "[H21]", Formats) {
  for_each_sharing(make<TestType>, is_idle);
}

TEMPLATE_LIST_TEST_CASE("a failure is told to those whose operation it was, as often as they ask", "[H16]", Formats) {
  for_each_sharing(make<TestType>, tells_of_a_failure);
}

TEMPLATE_LIST_TEST_CASE("tokens of long ago are answered rightly, in any order", "[H16]", Formats) {
  for_each_sharing(make<TestType>, answers_late);
}

TEMPLATE_LIST_TEST_CASE("a broken queue refuses every call at once", "[H14]", Formats) {
  for_each_sharing(make<TestType>, refuses_when_broken);
}

TEMPLATE_LIST_TEST_CASE("deferred entries wait for more, for ring(), and for nobody who waits for them", "[H3]",
                        Formats) {
  for_each_sharing(make<TestType>, waits_unannounced);
}

TEMPLATE_LIST_TEST_CASE("a batch is posted as a whole or not at all, and tells of its first failure", "[H37]",
                        Formats) {
  for_each_sharing(make<TestType>, posts_batches);
}

TEMPLATE_LIST_TEST_CASE("A session takes the queue over, and gives it back", "", Formats) {
  for_each_sharing(make<TestType>, goes_on_in_a_session);
}

TEMPLATE_LIST_TEST_CASE("lanes of a wave act together, and each is told of its own", "[H23]", Formats) {
  for_each_sharing(make<TestType>, acts_in_groups);
}
