// SPDX-License-Identifier: MIT

/// @file
/// @brief Many waves on one queue pair: completions that come late and for several operations at once, operations that
/// ask for none.

#include <xio/host/simt/simt.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint32_t put_bytes = 64;
constexpr uint32_t waves = 4;
constexpr uint32_t rounds = 12;

/// Each lane posts unsignalled writes, then asks for quiet: its own must be on the other side.
template <class Kit, class Policy, class Quiet>
void post_and_quiet(uint32_t wave_size, uint32_t depth, uint32_t delay, Quiet quiet) {
  CAPTURE(wave_size, depth, delay);
  RdmaRig<Kit> rig;
  rig.near.limit_depth(depth);
  rig.near.model().faults().delay(delay);
  rig.running();
  const auto handle = rig.near.handle();
  const auto kernel = [&] {
    QueuePair<typename Kit::Vendor, Sharing::grid, Policy> qp(handle);
    const uint32_t me = xio::arch::block_index() * wave_size + xio::arch::lane();
    const uint64_t at = uint64_t{me} * put_bytes;
    xio::rdma::Work work;
    work.remote = rig.remote.base + at;
    work.rkey = rig.remote.rkey;
    for (uint32_t round = 0; round < rounds; ++round) {
      auto* const mine = &rig.near_bytes[at];
      for (uint32_t i = 0; i < put_bytes; ++i) mine[i] = static_cast<unsigned char>(mix(me * 100 + round, i));
      const Token token = qp.submit(work, xio::rdma::OneSge{{rig.local.base + at, put_bytes, rig.local.key}}, soon());
      EXPECT_OK(token.status);
      EXPECT_OK(quiet(qp));
      EXPECT(std::memcmp(mine, &rig.far_bytes[at], put_bytes) == 0);
    }
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), kernel));
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

/// Waits in a kernel for what another wave does.
template <class Condition>
void pause_until(Condition condition) {
  const Deadline until = soon();
  while (!condition()) {
    EXPECT(!until.passed());
    xio::arch::pause(0);
  }
}

/// One put_bytes of memory, which is asked for between the claim of an operation and its publication: the operation
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
  using Pair = QueuePair<typename Kit::Vendor, S, Policy>;

  TwoWaves() : pair(rig.near.handle()) {
    work.remote = rig.remote.base;
    work.rkey = rig.remote.rkey;
    put_bytes = {{rig.local.base, piece_bytes, rig.local.key}};
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
      Pair own(pair.handle());
      if (xio::arch::block_index() + xio::arch::thread_index() / wave_size == 0) {
        first(own);
      } else {
        second(own);
      }
    }));
  }

  static constexpr uint32_t piece_bytes = 64;
  RdmaRig<Kit> rig;
  Pair pair;
  xio::rdma::Work work;
  xio::rdma::OneSge put_bytes{};
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
    EXPECT_OK(own.submit(two.work, HeldSge<decltype(may_pass)>(two.put_bytes, may_pass), soon()).status);
  };
  const auto second = [&](auto& own) {
    pause_until([&] { return two.claimed() == first_end; });
    EXPECT_OK(own.submit(two.work, two.put_bytes, soon()).status);
  };
  two.launch(wave_size, first, second);
  CHECK(two.tail() == end);
  CHECK(two.pair.quiet(soon()).is_ok());
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
    if (posts) token = own.submit(two.work, two.put_bytes, soon());
    EXPECT_OK(token.status);
    pause_until([&] { return two.claimed() == end; });
    EXPECT_OK(wait(own, token));
  };
  const auto other = [&](auto& own) {
    pause_until([&] { return two.claimed() == before; });
    // A waiter takes completions when it has looked at what is posted.
    const auto may_pass = [&] { return two.claimed() == before || two.retired() != 0; };
    EXPECT_OK(own.submit(two.work, HeldSge<decltype(may_pass)>(two.put_bytes, may_pass), soon()).status);
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

/// Posts one unsignalled operation, for which nobody waits.
template <class Rig, class Queue>
Token post_unsignaled(Rig& rig, Queue& qp) {
  xio::rdma::Work work;
  work.remote = rig.remote.base;
  work.rkey = rig.remote.rkey;
  return qp.submit(work, xio::rdma::OneSge{{rig.local.base, 64, rig.local.key}}, soon());
}

/// Behind it, a batch of as many pieces as may be.
template <class Kit, Sharing S>
void longest_batch_behind_unsignaled() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  rig.running();
  const auto handle = rig.near.handle();
  REQUIRE(handle.signal_every > 1);
  QueuePair<typename Kit::Vendor, S> qp(handle);
  REQUIRE(post_unsignaled(rig, qp).submitted());
  const xio::rdma::OneSge piece{{rig.local.base, 64, rig.local.key}};
  const uint32_t most = handle.most_units() / Kit::Vendor::Send::units(handle.shape, xio::rdma::Work{}, piece);
  const std::vector<xio::rdma::Piece> pieces(most + 1, {rig.remote.at(0, 64), rig.local.at(0, 64)});
  const auto put = xio::rdma::Operation::put;
  CHECK(qp.submit_batch(put, pieces.data(), most + 1, soon()).status == Status::invalid_argument);
  const Token batch = qp.submit_batch(put, pieces.data(), most, soon());
  CHECK(batch.status == Status::ok);
  CHECK(qp.wait_batch(batch, soon()) == Status::ok);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

/// Behind it, all lanes of a wave post together.
template <class Kit>
void row_behind_unsignaled() {
  RdmaRig<Kit> rig;
  rig.running();
  const auto handle = rig.near.handle();
  const auto kernel = [&] {
    QueuePair<typename Kit::Vendor, Sharing::grid> qp(handle);
    if (xio::arch::lane() == 0) EXPECT(post_unsignaled(rig, qp).submitted());
    xio::arch::converge(~uint64_t{0});
    const uint64_t at = uint64_t{xio::arch::lane()} * 64;
    const Token token = qp.put(rig.remote.at(at, 64), rig.local.at(at, 64), soon());
    EXPECT_OK(token.status);
    EXPECT_OK(qp.wait(token, soon()));
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 64), kernel));
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H4 quiet and fence: the caller's own operations have ended, however late completions are", "",
                        Vendors) {
  const auto quiet = [](auto& qp) { return qp.quiet(soon()); };
  const auto fence = [](auto& qp) { return qp.fence(soon()); };
  for (const uint32_t delay : {0u, 1u, 7u}) {
    post_and_quiet<TestType, xio::Policy<>>(8, 60, delay, quiet);
    post_and_quiet<TestType, xio::Policy<>>(1, 9, delay, fence);
  }
  post_and_quiet<TestType, xio::Policy<>>(32, 40, 3, quiet);
}

TEMPLATE_LIST_TEST_CASE("H4 of unsignalled operations the last one counts, whoever publishes last", "", Vendors) {
  for (const uint32_t wave_size : {1u, 8u}) {
    publish_in_turn<TestType, Sharing::grid>(wave_size);
    publish_in_turn<TestType, Sharing::block>(wave_size);
  }
}

TEMPLATE_LIST_TEST_CASE("H4 what another wave publishes unsignalled, while somebody waits already, ends all the same",
                        "", Vendors) {
  publish_behind_waiters<TestType, Sharing::grid>(1);
  publish_behind_waiters<TestType, Sharing::grid>(8);
  publish_behind_waiters<TestType, Sharing::block>(8);
}

TEMPLATE_LIST_TEST_CASE("H3 what another wave publishes unannounced, while somebody waits already, is announced", "",
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

TEMPLATE_LIST_TEST_CASE("H4 who waits for a signalled operation posts nothing, whatever others post meanwhile", "",
                        Vendors) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::grid> qp(rig.near.handle());
  xio::rdma::Work work;
  work.remote = rig.remote.base;
  work.rkey = rig.remote.rkey;
  const xio::rdma::OneSge from{{rig.local.base, 64, rig.local.key}};
  const uint64_t looks = xio::arch::looks_per_clock;
  PausingWave wave([&](uint64_t pause) {
    if (pause == looks / 2) REQUIRE(qp.try_submit(work, from).submitted());
    if (pause > 4 * looks) rig.nic.pass();
  });
  const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  CHECK(qp.wait(token, soon()).is_ok());
  CHECK(wave.pauses > 4 * looks);
  CHECK(rig.near.posted() == 2);
  // Nobody posts in vain for what has ended either.
  CHECK(qp.wait(token, soon()).is_ok());
  CHECK(rig.near.posted() == 2);
}

TEMPLATE_LIST_TEST_CASE("H4 what needs most of the queue is served behind an operation that nobody waits for", "",
                        Vendors) {
  longest_batch_behind_unsignaled<TestType, Sharing::thread>();
  longest_batch_behind_unsignaled<TestType, Sharing::wave>();
  longest_batch_behind_unsignaled<TestType, Sharing::grid>();
  row_behind_unsignaled<TestType>();
}

TEMPLATE_LIST_TEST_CASE("H3 a deferred queue pair that stays full is not rung for each operation", "", Vendors) {
  constexpr uint32_t all = 200;
  constexpr uint32_t every = 4;
  RdmaQueueConfig config = TestType::config();
  RdmaRig<TestType> rig(config);
  rig.near.limit_depth(16);
  QueuePairHandle handle = rig.near.handle();
  handle.signal_every = 4;
  rig.near.model().faults().one_a_pass(true);
  PausingWave wave([&](uint64_t) { rig.nic.pass(); });
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<xio::Deferred<every>>> qp(handle);
  for (uint32_t i = 0; i < all; ++i) REQUIRE(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon()).submitted());
  CHECK(rig.near.model().statistics().doorbells <= all / every + 1);
  CHECK(qp.quiet(soon()).is_ok());
}
