// SPDX-License-Identifier: MIT

/// @file
/// @brief Completion queues that are collapsed to one entry, which the device overwrites: nothing is lost while
/// operations succeed, and nothing succeeds that did not.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_exchange.hpp"

using namespace rdma_tests;

namespace {

struct Mlx5Collapsed : xio::mlx5::Options {
  static constexpr bool collapsed = true;
};
struct Mlx5LargeCollapsed : Mlx5Collapsed {
  static constexpr uint32_t cqe_bytes = 128;
};
struct IonicCollapsed : xio::ionic::Options {
  static constexpr bool collapsed = true;
};
using Mlx5Kit = xio::emulation::Mlx5Kit<Mlx5Collapsed>;
using IonicKit = xio::emulation::IonicKit<IonicCollapsed>;
using Kits = std::tuple<Mlx5Kit, IonicKit>;

template <class Kit>
using Pair = QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>>;

template <class Kit>
Token put(RdmaRig<Kit>& rig, Pair<Kit>& qp, uint64_t number) {
  return qp.put(rig.remote.at(64 * number, 64), rig.local.at(64 * number, 64), xio::Now{});
}

/// Puts stamped words one after the other, at most `depth` in flight, and looks at each on the other side.
template <class Kit>
void stream(RdmaRig<Kit>& rig, uint32_t count, uint32_t depth) {
  Pair<Kit> qp(rig.near.handle());
  auto* const near = reinterpret_cast<uint64_t*>(rig.near_bytes.data());
  auto* const far = reinterpret_cast<uint64_t*>(rig.far_bytes.data());
  std::vector<Token> tokens(count);
  uint32_t right = 0;
  for (uint32_t i = 0; i < count + depth; ++i) {
    if (i >= depth) {
      const uint32_t done = i - depth;
      REQUIRE(qp.wait(tokens[done], soon()).is_ok());
      right += far[done % depth] == mix(done, 1) ? 1 : 0;
    }
    if (i < count) {
      near[i % depth] = mix(i, 1);
      tokens[i] = qp.put(rig.remote.at(8 * (i % depth), 8), rig.local.at(8 * (i % depth), 8), soon());
    }
  }
  CHECK(right == count);
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(rig.violations() == "");
}

/// What tells a device how far its completion queue was read.
template <class Kit>
std::pair<uint64_t, uint32_t> told(RdmaRig<Kit>& rig) {
  const auto memory = rig.near.memory();
  return {*memory.cq_doorbell, memory.cq_record ? *memory.cq_record : 0};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H23 collapsed: a queue pair of a thread or a wave moves data", "", Kits) {
  exchange_in_all_shapes<TestType, Sharing::thread, xio::Policy<>>(1);
  exchange_in_all_shapes<TestType, Sharing::wave, xio::Policy<>>(1);
}
TEMPLATE_LIST_TEST_CASE("H23 H17 H22 collapsed: a queue pair of a block or the grid moves data", "", Kits) {
  exchange_in_all_shapes<TestType, Sharing::block, xio::Policy<>>(2);
  exchange_in_all_shapes<TestType, Sharing::grid, xio::Policy<>>(3);
}

TEMPLATE_LIST_TEST_CASE("H2 collapsed: counters wrap at 16 and 24 bits, from every offset", "", Kits) {
  const uint64_t bases[] = {uint64_t{1} << 16, uint64_t{1} << 23, uint64_t{1} << 24, (uint64_t{1} << 40) + (1 << 24)};
  for (const uint64_t base : bases) {
    for (uint64_t before = 0; before < 80; before += 1 + before % 7) {
      CAPTURE(base, before);
      RdmaRig<TestType> rig;
      rig.near.start_at(base - before, 0, base - before);
      rig.running();
      stream(rig, 100, 8);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("H2 collapsed: many laps of rings of every size, and 16 bits of them", "", Kits) {
  for (const uint32_t units : {2u, 8u, 64u}) {
    CAPTURE(units);
    RdmaQueueConfig config = TestType::config();
    config.sq_units = units;
    RdmaRig<TestType> rig(config);
    rig.running();
    stream(rig, 700, TestType::depth(config));
  }
  RdmaRig<TestType> rig;
  rig.running();
  stream(rig, 70000, 64);
}

TEMPLATE_LIST_TEST_CASE("H2 collapsed: the last completion, which stays, is not taken for one of what comes next", "",
                        Kits) {
  RdmaRig<TestType> rig;
  Pair<TestType> qp(rig.near.handle());
  (void)put(rig, qp, 0);
  settle(rig.nic);
  CHECK(qp.wait(put(rig, qp, 0), Deadline{0}) == Status::timed_out);
  settle(rig.nic);
  CHECK(qp.quiet(shortly()).is_ok());
  // A whole ring of others in flight, and of each size that a counter can be off by.
  for (uint32_t round = 0; round < 200; ++round) {
    std::vector<Token> tokens;
    for (;;) {
      const Token token = put(rig, qp, tokens.size());
      if (!token.submitted()) break;
      tokens.push_back(token);
      if (tokens.size() == 1 + round % 130) break;
    }
    REQUIRE(!tokens.empty());
    for (const Token& token : tokens) REQUIRE(qp.test(token) == Status::pending);
    settle(rig.nic);
    for (const Token& token : tokens) REQUIRE(qp.test(token).is_ok());
    REQUIRE(qp.drain() == 0);
  }
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("H24 collapsed: the device is told nothing of completions", "", Kits) {
  RdmaRig<TestType> rig;
  const auto before = told(rig);
  rig.running();
  stream(rig, 1000, 100);
  rig.nic.stop();
  CHECK(told(rig) == before);
  CHECK(rig.near.config().cq_entries == 1);
  CHECK(rig.near.handle().depth > 100);
}

TEMPLATE_LIST_TEST_CASE("H16 collapsed: a failure that is seen in time reaches its operation", "", Kits) {
  for (const RdmaOutcome outcome : {RdmaOutcome::remote_access, RdmaOutcome::retry_exceeded}) {
    RdmaRig<TestType> rig;
    Pair<TestType> qp(rig.near.handle());
    rig.near.model().faults().fail(2, outcome);
    rig.near.model().faults().one_a_pass(true);
    Token tokens[5];
    for (uint32_t i = 0; i < 5; ++i) tokens[i] = put(rig, qp, i);
    for (uint32_t pass = 0; pass < 30; ++pass) {
      rig.nic.pass();
      qp.drain();
    }
    const Status::Code code = outcome == RdmaOutcome::remote_access ? Status::access_denied : Status::retry_exceeded;
    CHECK(qp.wait(tokens[4], shortly()) == Status::flushed);
    CHECK(qp.wait(tokens[2], shortly()).code == code);
    CHECK(qp.wait(tokens[2], shortly()).vendor != 0);
    CHECK(qp.wait(tokens[1], shortly()).is_ok());
    CHECK(qp.wait(tokens[0], shortly()).is_ok());
    CHECK(qp.wait(tokens[3], shortly()) == Status::flushed);
    CHECK(qp.quiet(shortly()).code == code);
    const Token late = put(rig, qp, 5);
    settle(rig.nic);
    const Status status = late.submitted() ? qp.wait(late, shortly()) : late.status;
    CHECK((status == Status::flushed || status == Status::broken));
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("H16 collapsed: where a failure was overwritten, what is not known to have ended was flushed",
                        "", Kits) {
  for (uint32_t seen = 0; seen <= 2; ++seen) {
    CAPTURE(seen);
    RdmaRig<TestType> rig;
    Pair<TestType> qp(rig.near.handle());
    rig.near.model().faults().fail(2, RdmaOutcome::remote_access);
    Token tokens[5];
    for (uint32_t i = 0; i < 5; ++i) {
      if (i == seen) {
        settle(rig.nic);
        qp.drain();
      }
      tokens[i] = put(rig, qp, i);
    }
    settle(rig.nic);
    for (uint32_t i = 5; i-- > 0;) {
      CAPTURE(i);
      CHECK(qp.wait(tokens[i], shortly()) == (i < seen ? Status::ok : Status::flushed));
    }
    CHECK(qp.quiet(shortly()) == Status::flushed);
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("H16 collapsed: a NIC that fails while others look; no operation succeeds that did not", "",
                        Kits) {
  for (uint32_t round = 0; round < 60; ++round) {
    CAPTURE(round);
    RdmaRig<TestType> rig;
    const uint32_t failing = 3 + round % 20;
    rig.near.model().faults().fail(failing, RdmaOutcome::remote_access);
    rig.running();
    const QueuePairHandle handle = rig.near.handle();
    xio::simt::launch(Grid::of_waves(2, 1, 8), [&] {
      QueuePair<typename TestType::Vendor, Sharing::grid, xio::Policy<>> qp(handle);
      for (uint32_t i = 0; i < 8; ++i) {
        const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon());
        const Status status = token.submitted() ? qp.wait(token, soon()) : token.status;
        if (token.submitted() && token.last < failing) {
          EXPECT(status.is_ok() || status == Status::flushed);
        } else if (token.submitted() && token.last == failing) {
          EXPECT(status == Status::access_denied || status == Status::flushed);
        } else {
          EXPECT(status == Status::flushed || status == Status::broken);
        }
      }
    });
    rig.nic.stop();
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("H6 collapsed: an error that comes after any number of polls is seen", "", Kits) {
  for (uint32_t polls = 0; polls < 12; ++polls) {
    RdmaRig<TestType> rig;
    Pair<TestType> qp(rig.near.handle());
    rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
    rig.near.model().faults().delay(polls);
    rig.near.model().faults().one_a_pass(true);
    const Token token = put(rig, qp, 0);
    Status status = Status::pending;
    uint32_t looks = 0;
    for (; status == Status::pending && looks < 100; ++looks) {
      rig.nic.pass();
      status = qp.test(token);
    }
    CHECK(status == Status::access_denied);
    CHECK(looks >= polls);
  }
}

TEMPLATE_LIST_TEST_CASE("H4 collapsed: unsignalled operations, and quiet", "", Kits) {
  RdmaRig<TestType> rig;
  rig.running();
  Pair<TestType> qp(rig.near.handle());
  xio::rdma::Work work;
  work.remote = rig.remote.base;
  work.rkey = rig.remote.rkey;
  const xio::rdma::OneSge piece{{rig.local.base, 64, rig.local.key}};
  for (uint32_t i = 0; i < 1000; ++i) {
    const Token token = qp.submit(work, piece, soon());
    REQUIRE(token.submitted());
    if (i % 100 == 0) REQUIRE(qp.wait(token, soon()).is_ok());
  }
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(rig.near.state().retired == rig.near.state().reserved);
  for (uint32_t i = 0; i < 3; ++i) CHECK(qp.quiet(Deadline{0}).is_ok());
  rig.nic.stop();
  CHECK(rig.near.model().statistics().signaled <= 100);
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("H5 collapsed: what lies in the entry before the first completion is none", "", Kits) {
  RdmaRig<TestType> rig;
  Pair<TestType> qp(rig.near.handle());
  auto* const entry = rig.near.memory().cq;
  const Token token = put(rig, qp, 0);
  for (uint32_t i = 0; i < 50; ++i) REQUIRE(qp.test(token) == Status::pending);
  // Whatever it is, it names nothing that is in flight.
  for (uint32_t fill = 1; fill < 256; ++fill) {
    CAPTURE(fill);
    const bool is_last = fill >> 5 == 3;  // IONIC: the end of a local operation, which is 0
    if (is_last) continue;
    std::memset(entry, static_cast<int>(fill), TestType::Wire::cqe_bytes);
    REQUIRE(qp.test(token) == Status::pending);
  }
  settle(rig.nic);
  CHECK(qp.test(token).is_ok());
}

TEMPLATE_LIST_TEST_CASE("H14 collapsed: a NIC that does nothing: every wait ends", "", Kits) {
  RdmaRig<TestType> rig;
  Pair<TestType> qp(rig.near.handle());
  const Token token = put(rig, qp, 0);
  CHECK(qp.wait(token, shortly()) == Status::timed_out);
  Token more;
  for (uint32_t i = 0; i < 1000 && more.status.is_ok(); ++i) more = put(rig, qp, 0);
  CHECK(more.status == Status::would_block);
  settle(rig.nic);
  CHECK(qp.quiet(shortly()).is_ok());
}

TEMPLATE_LIST_TEST_CASE("collapsed: receives end in a ring of their own", "", Kits) {
  RdmaRig<TestType> rig;
  rig.running();
  Pair<TestType> qp(rig.near.handle());
  xio::rdma::ReceiveQueue<typename TestType::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  for (uint32_t i = 0; i < 300; ++i) {
    const Token receive = receives.post(far.at(0, 64), soon());
    const Token send = qp.send(rig.local.at(0, 1 + i % 64), soon());
    REQUIRE(qp.wait(send, soon()).is_ok());
    REQUIRE(receives.wait(receive, soon()).bytes == 1 + i % 64);
  }
}

TEST_CASE("collapsed: completions of 128 bytes") {
  RdmaRig<xio::emulation::Mlx5Kit<Mlx5LargeCollapsed>> rig;
  rig.running();
  stream(rig, 500, 30);
}

TEST_CASE("H2 collapsed: IONIC's local operations end there too") {
  RdmaRig<IonicKit> rig;
  const uint32_t key = rig.fabric.keys().add(rig.near_bytes.data(), 4096);
  rig.running();
  Pair<IonicKit> qp(rig.near.handle());
  for (uint32_t i = 0; i < 5; ++i) CHECK(qp.wait(put(rig, qp, i), soon()).is_ok());
  CHECK(qp.invalidate(key, soon()).is_ok());
  rig.near.model().faults().hold(true);
  const Token held = put(rig, qp, 0);
  for (uint32_t i = 0; i < 10; ++i) REQUIRE(qp.test(held) == Status::pending);
  rig.near.model().faults().hold(false);
  CHECK(qp.wait(held, soon()).is_ok());
  stream(rig, 300, 20);
  CHECK_FALSE(qp.invalidate(key, soon()).is_ok());
}

namespace {

/// An entry that is overwritten before its `when`-th load.
struct Changing {
  const uint64_t* before;
  const uint64_t* after;
  uint32_t when;
  uint32_t loads = 0;
  uint64_t operator()(uint32_t offset) { return (loads++ < when ? before : after)[offset / sizeof(uint64_t)]; }
};

template <class Entry>
xio::rdma::WorkCompletion decode_changing(const uint64_t* before, const uint64_t* after, uint32_t when) {
  Changing entry{before, after, when};
  const auto read = [&](uint32_t offset) { return entry(offset); };
  const xio::rdma::Progress known{5, 5};
  const uint64_t word = Entry::look(read);
  if (!Entry::is_new(word, known, 100)) return {};
  const xio::rdma::WorkCompletion success = Entry::decode_success(word, read);
  return success.kind == xio::rdma::CompletionKind::send ? success : Entry::decode(read, known, 100);
}

}  // namespace

TEST_CASE("H27 collapsed: an entry that is overwritten while it is read gives no mixture of two") {
  using xio::rdma::CompletionKind;
  uint64_t first[8] = {};
  uint64_t second[8] = {};
  const auto mlx5 = [](uint64_t* words, uint16_t counter, xio::mlx5::CqeOpcode opcode, xio::mlx5::Syndrome syndrome) {
    words[6] = static_cast<uint64_t>(syndrome) << 56;
    words[7] = static_cast<uint64_t>(opcode) << 60 | uint64_t{xio::byte_swap(counter)} << 32;
  };
  mlx5(first, 7, xio::mlx5::CqeOpcode::request_error, xio::mlx5::Syndrome::remote_access);
  mlx5(second, 9, xio::mlx5::CqeOpcode::request_error, xio::mlx5::Syndrome::flushed);
  for (uint32_t when = 0; when < 8; ++when) {
    CAPTURE(when);
    const auto seen = decode_changing<xio::mlx5::CollapsedDecoder<>>(first, second, when);
    const bool none = seen.kind == CompletionKind::nothing;
    CHECK((none || (seen.counter == 7 ? seen.status == Status::access_denied : seen.status == Status::flushed)));
  }
  const auto ionic = [](uint64_t* words, uint32_t number, bool error, uint32_t status) {
    words[0] = uint64_t{xio::byte_swap(number)} << 32;
    const uint32_t flags = static_cast<uint32_t>(xio::ionic::CqeType::send_msn) << xio::ionic::cqe_word::type_shift |
                           (error ? xio::ionic::cqe_word::error : 0u);
    words[3] = uint64_t{xio::byte_swap(flags)} << 32 | xio::byte_swap(status);
  };
  ionic(first, 7, false, 64);
  ionic(second, 8, true, static_cast<uint32_t>(xio::ionic::CqeStatus::remote_access));
  for (uint32_t when = 0; when < 8; ++when) {
    CAPTURE(when);
    const auto seen = decode_changing<xio::ionic::CollapsedDecoder>(first, second, when);
    const bool none = seen.kind == CompletionKind::nothing;
    CHECK((none || seen.status.is_ok() == (seen.counter == 7)));
  }
}
