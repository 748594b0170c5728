// SPDX-License-Identifier: MIT

/// @file
/// @brief Receives that are asked for late, in any order, and by others than those who posted: each gets the answer of
/// its own message.

#include <random>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint32_t late_lanes = 8;

/// Two queue pairs; the far one receives. The NIC works when told.
template <class Kit, Sharing S = Sharing::grid, class Policy = xio::Policy<>>
struct Messages {
  RdmaRig<Kit> rig;
  Sends<Kit> qp{rig.near.handle()};
  Receives<Kit, S, Policy> receives{rig.far.receive_handle()};
  uint64_t sent = 0;

  Token post() { return receives.post(rig.far_local.at(0, 256), xio::Now{}); }
  static uint32_t bytes_of(uint64_t number) { return static_cast<uint32_t>(mix(number, 5) % 257); }
  static uint32_t immediate_of(uint64_t number) { return static_cast<uint32_t>(mix(number, 6)); }
  void send() {
    REQUIRE(qp.send_immediate(rig.local.at(0, bytes_of(sent)), immediate_of(sent), soon()).submitted());
    ++sent;
    settle(rig.nic);
    qp.drain();
    receives.drain();
  }
  /// test() takes few completions at a time.
  Received ask(const Token& token) {
    Received received;
    for (uint32_t looks = 0; looks < 200; ++looks) {
      received = receives.test(token);
      if (received.status != Status::pending) break;
    }
    return received;
  }
  /// Whether the receive with this token got its own message, which `received` says.
  static bool is_right(const Token& token, const Received& received) {
    return received.status.is_ok() && received.bytes == bytes_of(token.last) &&
           received.immediate == immediate_of(token.last);
  }
};

/// Many messages, asked for at random; then one that is too long, and the same again in a new life.
template <class Kit, Sharing S>
void ask_for_many_messages(uint32_t lives) {
  CAPTURE(static_cast<int>(S));
  Messages<Kit, S> it;
  std::mt19937 random(2);
  uint32_t wrong = 0;
  for (uint32_t life = 0; life < lives; ++life) {
    std::vector<Token> open;
    for (it.sent = 0; it.sent < 1000 || !open.empty();) {
      while (it.sent < 1000) {
        const Token token = it.post();
        if (!token.submitted()) break;
        open.push_back(token);
        it.send();
      }
      // Some stay for later, the oldest ones seldom for long.
      std::shuffle(open.begin(), open.end(), random);
      const size_t keep = random() % 4 == 0 || it.sent == 1000 ? 0 : random() % open.size();
      for (; open.size() > keep; open.pop_back()) {
        const Received received = random() % 2 == 0 ? it.ask(open.back()) : it.receives.wait(open.back(), soon());
        if (!it.is_right(open.back(), received)) ++wrong;
      }
    }
    const Token last = it.post();
    REQUIRE(it.qp.send(it.rig.local.at(0, 1000), soon()).submitted());
    settle(it.rig.nic);
    if (it.receives.wait(last, soon()).status != Status::length_error) ++wrong;
    if (it.qp.quiet(soon()) != Status::remote_error) ++wrong;
    it.rig.near.recover();
    it.rig.far.recover();
  }
  CHECK(wrong == 0);
  CHECK(it.rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("wait: many messages are asked for late and in any order -> each gets its own", "[H16]",
                        Vendors) {
  ask_for_many_messages<TestType, Sharing::grid>(1 + 5 / XIO_TESTS_SHARE);
  ask_for_many_messages<TestType, Sharing::thread>(1 + 3 / XIO_TESTS_SHARE);
  ask_for_many_messages<TestType, Sharing::block>(1);
}

TEMPLATE_LIST_TEST_CASE("post: lanes wait for room for their receives -> they get it together or none does", "",
                        Vendors) {
  Messages<TestType> it;
  const uint32_t depth = it.receives.handle().depth;
  for (uint32_t i = 0; i + late_lanes - 1 < depth; ++i) REQUIRE(it.post().submitted());
  std::vector<Token> tokens(late_lanes);
  const auto post = [&](auto until) {
    xio::simt::launch(Grid::of_waves(1, 1, late_lanes),
                      [&] { tokens[xio::arch::lane()] = it.receives.post(xio::rdma::NoPayload{}, until()); });
  };
  // Nobody would read the results of lanes that were served while the last one waits for a place of theirs.
  post([] { return xio::deadline(1_ms); });
  for (const Token& token : tokens) CHECK(token.status == Status::timed_out);
  CHECK(it.receives.handle().state->queue.reserved == depth + 1 - late_lanes);
  post([] { return xio::Now{}; });
  for (uint32_t lane = 0; lane + 1 < late_lanes; ++lane) CHECK(tokens[lane].submitted());
  CHECK(tokens[late_lanes - 1].status == Status::would_block);
}

TEMPLATE_LIST_TEST_CASE("post: lanes wait for room for their receives -> others get what there is", "", Vendors) {
  Messages<TestType> it;
  const uint32_t depth = it.receives.handle().depth;
  for (uint32_t i = 0; i + late_lanes - 1 < depth; ++i) REQUIRE(it.post().submitted());
  const uint64_t& reservation = it.receives.handle().state->queue.reservation;
  bool reserved = false;
  Token token;
  xio::simt::launch(Grid::of_waves(2, 1, late_lanes), [&] {
    if (xio::arch::block_index() == 0) {
      (void)it.receives.post(xio::rdma::NoPayload{}, xio::deadline(100_ms));
    } else if (xio::arch::lane() == 0) {
      for (const Deadline until = xio::deadline(60_ms); !until.passed();) {
        reserved = reserved || xio::arch::load<xio::arch::Scope::agent>(&reservation) != 0;
        xio::arch::pause(8);
      }
      token = it.receives.post(xio::rdma::NoPayload{}, xio::deadline(20_ms));
    }
  });
  CHECK(!reserved);
  CHECK(token.submitted());
}

TEMPLATE_LIST_TEST_CASE("post: a message has arrived -> it is not posted over before somebody asks or gives up",
                        "[H16]", Vendors) {
  Messages<TestType> it;
  const uint32_t depth = it.receives.handle().depth;
  const uint32_t entries = it.receives.handle().shape.entries;
  std::vector<Token> tokens;
  const auto fill = [&] {
    for (;;) {
      const Token token = it.post();
      if (!token.submitted()) break;
      tokens.push_back(token);
    }
  };
  fill();
  REQUIRE(tokens.size() == depth);
  // Who has not got an answer has not asked.
  CHECK(it.receives.test(tokens[0]).status == Status::pending);
  CHECK(it.receives.wait(tokens[0], Deadline{0}).status == Status::timed_out);
  for (uint32_t i = 0; i < depth; ++i) it.send();
  fill();
  CHECK(tokens.size() == entries);
  CHECK(it.receives.post(xio::rdma::NoPayload{}, xio::deadline(1_ms)).status == Status::timed_out);
  // The second one does not help as long as the first one's place is taken.
  CHECK(it.is_right(tokens[1], it.ask(tokens[1])));
  CHECK(it.post().status == Status::would_block);
  CHECK(it.is_right(tokens[0], it.ask(tokens[0])));
  fill();
  CHECK(tokens.size() == entries + 2);
  // It may be asked again, until another message has come to its place.
  CHECK(it.is_right(tokens[0], it.ask(tokens[0])));
  it.receives.forget(tokens[2]);
  it.receives.forget(tokens[3]);
  it.receives.forget(tokens[3]);
  fill();
  CHECK(tokens.size() == entries + 4);
  // Given up before anything arrives: of those that were posted last.
  for (uint32_t i = entries; i < entries + 4; ++i) it.receives.forget(tokens[i]);
  while (it.sent < tokens.size()) it.send();
  CHECK(it.receives.test(tokens[0]).status == Status::expired);
  for (uint32_t i = 4; i < tokens.size(); ++i) CHECK(it.is_right(tokens[i], it.ask(tokens[i])));
  fill();
  CHECK(tokens.size() == entries + 4 + depth);
  // An old token gives nothing of a new one away.
  it.receives.forget(tokens[5]);
  CHECK(it.receives.test(tokens[5]).status.is_ok());
  while (it.sent < tokens.size()) it.send();
  CHECK(it.ask(tokens.back()).status.is_ok());
  CHECK(it.receives.test(tokens[5]).status == Status::expired);
  it.receives.forget(tokens[5]);
  fill();
  CHECK(tokens.size() == entries + 4 + entries);
  CHECK(it.rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("post: nobody asks and the policy says so -> there is always room", "", Vendors) {
  Messages<TestType, Sharing::grid, xio::Policy<xio::Unasked>> it;
  const Token first = it.post();
  it.send();
  CHECK(it.is_right(first, it.ask(first)));
  for (uint32_t i = 0; i < 1000; ++i) {
    REQUIRE(it.post().submitted());
    it.send();
  }
  CHECK(it.receives.test(first).status == Status::expired);
  CHECK(it.rig.violations() == "");
}

namespace {

/// One wave posts receives, one sends, two ask for what arrived: each lane for the newer one of two messages first.
template <class Kit>
void ask_for_others(uint32_t count) {
  RdmaRig<Kit> rig;
  rig.running();
  std::vector<Token> tokens(count);
  std::vector<uint32_t> is_posted(count);
  using xio::arch::Scope;
  const auto pause_until = [](auto condition) {
    for (const Deadline until = soon(); !condition(); xio::arch::pause(0)) EXPECT(!until.passed());
  };
  const auto posted = [&](uint32_t number) { return xio::arch::observe<Scope::system>(&is_posted[number]) != 0; };
  const xio::rdma::ReceiveQueueHandle handle = rig.far.receive_handle();
  constexpr uint32_t askers = 2 * late_lanes;
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(4, 1, late_lanes), [&] {
    Receives<Kit, Sharing::grid> receives(handle);
    const uint32_t lane = xio::arch::lane();
    if (xio::arch::block_index() == 0) {
      for (uint32_t i = lane; i < count; i += late_lanes) {
        const Token token = receives.post(rig.far_local.at(0, 64), soon());
        EXPECT_OK(token.status);
        tokens[token.last] = token;
        xio::arch::publish<Scope::system>(&is_posted[token.last], 1u);
      }
    } else if (xio::arch::block_index() == 1) {
      if (lane != 0) return;
      Sends<Kit> qp(rig.near.handle());
      for (uint32_t i = 0; i < count; ++i) {
        pause_until([&] { return posted(i); });
        EXPECT_OK(qp.send_immediate(rig.local.at(0, i % 64), i, soon()).status);
      }
      EXPECT_OK(qp.quiet(soon()));
    } else {
      const uint32_t me = (xio::arch::block_index() - 2) * late_lanes + lane;
      for (uint32_t i = me; i < count; i += 2 * askers) {
        pause_until([&] { return posted(i + askers); });
        for (const uint32_t number : {i + askers, i}) {
          const Received received = receives.wait(tokens[number], soon());
          EXPECT_OK(received.status);
          EXPECT(received.immediate == number);
          EXPECT(received.bytes == number % 64);
        }
      }
    }
  }));
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("wait: one wave posts and another one asks -> each receive gets its own message", "[H17]",
                        Vendors) {
  ask_for_others<TestType>(3200 / XIO_TESTS_SHARE);
}
