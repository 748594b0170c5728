// SPDX-License-Identifier: MIT

/// @file
/// @brief Two waves on one queue pair: operations that ask for no completion, and those that others post meanwhile.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

/// Waits in a kernel for what another wave does.
template <class Condition>
void pause_until(Condition condition) {
  const Deadline until = soon();
  while (!condition()) {
    EXPECT(!until.passed());
    xio::arch::pause(0);
  }
}

/// A piece of memory, which is asked for between the claim of an operation and its publication: the operation
/// stops there until `may_pass`.
template <class MayPass>
struct HeldSge : xio::rdma::OneSge {
  MayPass may_pass;
  HeldSge(const xio::rdma::OneSge& one, MayPass condition) : OneSge(one), may_pass(condition) {}
  xio::rdma::Sge at(uint32_t) const {
    pause_until(may_pass);
    return sge;
  }
};

/// A queue pair shared by two waves, which has done one operation.
template <class Kit, Sharing S, class Policy = xio::Policy<>>
struct TwoWaves {
  TwoWaves() : pair(rig.near.handle()), work(rig.unsignaled()) {
    REQUIRE(pair.put(rig.remote.at(0, 8), rig.local.at(0, 8), xio::Now{}).submitted());
    pair.ring();
    rig.nic.pass();  // now there is a completion that nobody has taken
    rig.running();
  }
  uint64_t claimed() const { return rig.near.posted(); }
  uint64_t retired() const { return xio::arch::load<xio::arch::Scope::system>(&pair.handle().state->retired); }
  uint64_t tail() const { return xio::arch::load<xio::arch::Scope::system>(&pair.handle().send->unsignaled_end); }

  template <class First, class Second>
  void launch(uint32_t wave_size, First first, Second second) {
    const auto grid = S == Sharing::grid ? Grid::of_waves(2, 1, wave_size) : Grid::of_waves(1, 2, wave_size);
    REQUIRE_NOTHROW(xio::simt::launch(grid, [&] {
      Sends<Kit, S, Policy> own(pair.handle());
      if (xio::arch::block_index() + xio::arch::thread_index() / wave_size == 0) {
        first(own);
      } else {
        second(own);
      }
    }));
  }

  RdmaRig<Kit> rig;
  Sends<Kit, S, Policy> pair;
  xio::rdma::Work work;
};

/// Two waves post unsignalled operations; the one whose turn comes first publishes last.
template <class Kit, Sharing S>
void publish_in_turn(uint32_t wave_size) {
  CAPTURE(wave_size);
  TwoWaves<Kit, S> two;
  const uint64_t first_end = 1 + wave_size;
  const uint64_t end = first_end + wave_size;
  const auto first = [&](auto& own) {
    const auto may_pass = [&] { return two.claimed() == 1 || two.tail() == end; };
    EXPECT_OK(own.submit(two.work, HeldSge<decltype(may_pass)>(two.rig.piece(), may_pass), soon()).status);
  };
  const auto second = [&](auto& own) {
    pause_until([&] { return two.claimed() == first_end; });
    EXPECT_OK(own.submit(two.work, two.rig.piece(), soon()).status);
  };
  two.launch(wave_size, first, second);
  CHECK(two.tail() == end);
  CHECK(two.pair.quiet(soon()).is_ok());
  two.rig.nic.stop();
  CHECK(two.rig.violations() == "");
}

/// One wave waits, if `posts` for its own operation; the other has claimed another one then, publishes it when the
/// first one has looked, and waits for nothing.
/// @param extra how many empty writes must be posted for that
template <class Kit, Sharing S, class Policy, class Wait>
void publish_behind_a_waiter(uint32_t wave_size, bool posts, uint32_t flags, uint32_t extra, Wait wait) {
  CAPTURE(wave_size, posts, flags);
  TwoWaves<Kit, S, Policy> two;
  two.work.flags = flags;
  const uint64_t before = posts ? 1 + wave_size : 1;
  const uint64_t end = before + wave_size;
  const auto waiter = [&](auto& own) {
    Token token;
    if (posts) token = own.submit(two.work, two.rig.piece(), soon());
    EXPECT_OK(token.status);
    pause_until([&] { return two.claimed() == end; });
    EXPECT_OK(wait(own, token));
  };
  const auto other = [&](auto& own) {
    pause_until([&] { return two.claimed() == before; });
    // A waiter takes completions when it has looked at what is posted.
    const auto may_pass = [&] { return two.claimed() == before || two.retired() != 0; };
    EXPECT_OK(own.submit(two.work, HeldSge<decltype(may_pass)>(two.rig.piece(), may_pass), soon()).status);
  };
  two.launch(wave_size, waiter, other);
  CHECK(two.claimed() == end + extra);
  two.rig.nic.stop();
  CHECK(two.rig.violations() == "");
}

template <class Kit, Sharing S>
void publish_behind_waiters(uint32_t wave_size) {
  const auto wait = [](auto& qp, const Token& token) { return qp.wait(token, soon()); };
  const auto wait_all = [](auto& qp, const Token& token) {
    const Token tokens[] = {Token(), token};
    return qp.wait_all(tokens, 2, soon());
  };
  const auto quiet = [](auto& qp, const Token&) { return qp.quiet(soon()); };
  const auto fence = [](auto& qp, const Token&) { return qp.fence(soon()); };
  publish_behind_a_waiter<Kit, S, xio::Policy<>>(wave_size, true, 0, 1, wait);
  publish_behind_a_waiter<Kit, S, xio::Policy<>>(wave_size, true, 0, 1, wait_all);
  publish_behind_a_waiter<Kit, S, xio::Policy<>>(wave_size, false, 0, 1, quiet);
  publish_behind_a_waiter<Kit, S, xio::Policy<>>(wave_size, true, 0, 1, fence);
}

/// Behind an unsignalled operation, a batch of as many pieces as may be.
template <class Kit, Sharing S>
void longest_batch_behind_unsignaled() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  rig.running();
  const auto handle = rig.near.handle();
  REQUIRE(handle.signal_every > 1);
  Sends<Kit, S> qp(handle);
  REQUIRE(qp.submit(rig.unsignaled(), rig.piece(), soon()).submitted());
  const uint32_t most = handle.most_units() / Kit::Vendor::Send::units(handle.shape, xio::rdma::Work{}, rig.piece());
  const std::vector<xio::rdma::Piece> pieces(most + 1, {rig.remote.at(0, 64), rig.local.at(0, 64)});
  const auto put = xio::rdma::Operation::put;
  CHECK(qp.submit_batch(put, pieces.data(), most + 1, soon()).status == Status::invalid_argument);
  const Token batch = qp.submit_batch(put, pieces.data(), most, soon());
  CHECK(batch.status == Status::ok);
  CHECK(qp.wait_batch(batch, soon()) == Status::ok);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

/// Behind it, the lanes of a wave post together, or in the parts in which they come.
template <class Kit>
void row_behind_unsignaled() {
  for (const uint64_t seed : {0u, 1u, 2u, 3u, 4u}) {
    CAPTURE(seed);
    RdmaRig<Kit> rig;
    rig.running();
    const auto handle = rig.near.handle();
    Grid grid = Grid::of_waves(1, 1, 64);
    grid.jitter_seed = seed;
    grid.split_groups = seed != 0;
    CHECK_NOTHROW(xio::simt::launch(grid, [&] {
      Sends<Kit, Sharing::grid> qp(handle);
      if (xio::arch::lane() == 0) EXPECT(qp.submit(rig.unsignaled(), rig.piece(), soon()).submitted());
      xio::arch::converge(~uint64_t{0});
      const Token token = rig.put(qp, xio::arch::lane(), soon());
      EXPECT_OK(token.status);
      EXPECT_OK(qp.wait(token, soon()));
    }));
    rig.nic.stop();
    CHECK(std::memcmp(rig.far_bytes.data(), rig.near_bytes.data(), 64 * 64) == 0);
    CHECK(rig.violations() == "");
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("submit: two waves publish unsignalled operations in either order -> the last one counts",
                        "[H4]", Vendors) {
  for (const uint32_t wave_size : {1u, 8u}) {
    publish_in_turn<TestType, Sharing::grid>(wave_size);
    publish_in_turn<TestType, Sharing::block>(wave_size);
  }
}

TEMPLATE_LIST_TEST_CASE("wait: another wave publishes an unsignalled operation behind it -> it ends all the same",
                        "[H4]", Vendors) {
  publish_behind_waiters<TestType, Sharing::grid>(1);
  publish_behind_waiters<TestType, Sharing::grid>(8);
  publish_behind_waiters<TestType, Sharing::block>(8);
}

TEMPLATE_LIST_TEST_CASE("quiet: another wave publishes a deferred operation meanwhile -> it is announced", "[H3]",
                        Vendors) {
  // Vendors whose doorbell repeats an entry have no deferred ones on shared queues.
  if constexpr (!TestType::Vendor::doorbell_repeats_entry) {
    const auto quiet = [](auto& qp, const Token&) { return qp.quiet(soon()); };
    for (const uint32_t wave_size : {1u, 8u}) {
      publish_behind_a_waiter<TestType, Sharing::grid, xio::Policy<xio::Deferred<64>>>(
          wave_size, false, xio::rdma::work_flag::signaled, 0, quiet);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("wait: others post behind a signalled operation -> the wait posts nothing", "[H4]", Vendors) {
  RdmaRig<TestType> rig;
  Sends<TestType, Sharing::grid> qp(rig.near.handle());
  const uint64_t looks = xio::arch::looks_per_clock;
  PausingWave wave([&](uint64_t pause) {
    if (pause == looks / 2) REQUIRE(qp.try_submit(rig.unsignaled(), rig.piece()).submitted());
    if (pause > 4 * looks) rig.nic.pass();
  });
  const Token token = rig.put(qp);
  CHECK(qp.wait(token, soon()).is_ok());
  CHECK(wave.pauses > 4 * looks);
  CHECK(rig.near.posted() == 2);
  // Nobody posts in vain for what has ended either.
  CHECK(qp.wait(token, soon()).is_ok());
  CHECK(rig.near.posted() == 2);
}

TEMPLATE_LIST_TEST_CASE("put: nobody waits for an unsignalled operation -> what needs most of the queue gets room",
                        "[H4]", Vendors) {
  longest_batch_behind_unsignaled<TestType, Sharing::thread>();
  longest_batch_behind_unsignaled<TestType, Sharing::wave>();
  longest_batch_behind_unsignaled<TestType, Sharing::grid>();
  row_behind_unsignaled<TestType>();
}

TEMPLATE_LIST_TEST_CASE("put: a deferred queue pair stays full -> it is not rung for each operation", "[H3]", Vendors) {
  constexpr uint32_t all = 200;
  constexpr uint32_t every = 4;
  RdmaRig<TestType> rig;
  rig.near.limit_depth(16);
  QueuePairHandle handle = rig.near.handle();
  handle.signal_every = 4;
  rig.near.model().faults().one_a_pass(true);
  PausingWave wave([&](uint64_t) { rig.nic.pass(); });
  Sends<TestType, Sharing::thread, Policy<Deferred<every>>> qp(handle);
  for (uint32_t i = 0; i < all; ++i) REQUIRE(rig.put(qp, 0, soon()).submitted());
  CHECK(rig.near.model().statistics().doorbells <= all / every + 1);
  CHECK(qp.quiet(soon()).is_ok());
}
