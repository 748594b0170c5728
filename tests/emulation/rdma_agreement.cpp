// SPDX-License-Identifier: MIT

/// @file
/// @brief What device and library must agree on: whose completions a queue holds, how many, and what a peer allows.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

namespace access = xio::emulation::rdma_access;
using xio::rdma::Operation;
using xio::rdma::ReceiveQueue;
using xio::rdma::Work;

struct Mlx5Collapsed : xio::mlx5::Options {
  static constexpr bool collapsed = true;
};
struct IonicCollapsed : xio::ionic::Options {
  static constexpr bool collapsed = true;
};
struct LargeCqes : xio::mlx5::Options {
  static constexpr uint32_t cqe_bytes = 128;
};
struct Variable : xio::bnxt::Options {
  static constexpr xio::bnxt::WqeMode mode = xio::bnxt::WqeMode::variable;
};
using Collapsed = std::tuple<xio::emulation::Mlx5Kit<Mlx5Collapsed>, xio::emulation::IonicKit<IonicCollapsed>>;
using Named = decltype(std::tuple_cat(
    Vendors{}, std::tuple<xio::emulation::Mlx5Kit<LargeCqes>, xio::emulation::BnxtKit<Variable>>{}));

/// As many puts as there are statuses, of which the completion of the one before the last names another queue pair.
template <class Kit, Sharing S, class Policy, size_t Number>
void wait_with_one_misnamed(Status (&statuses)[Number]) {
  RdmaRig<Kit> rig;
  rig.near.model().faults().misname(Number - 2);
  QueuePair<typename Kit::Vendor, S, Policy> qp(rig.near.handle());
  Token tokens[Number];
  for (size_t i = 0; i < Number; ++i) {
    // One after the other is read: what comes behind stands for what was before, with some.
    tokens[i] = qp.put(rig.remote.at(64 * i, 64), rig.local.at(64 * i, 64), xio::Now{});
    if (rig.near.state().broken != 0) {
      CHECK(tokens[i].status == Status::broken);
    } else {
      REQUIRE(tokens[i].submitted());
    }
    settle(rig.nic);
    if (i < Number - 1) statuses[i] = qp.wait(tokens[i], shortly());
  }
  statuses[Number - 1] = qp.wait(tokens[Number - 1], shortly());
  CHECK((rig.near.state().broken != 0) == !std::is_same<Policy, xio::Unchecked>::value);
  CHECK(rig.violations() == "");
}

template <class Kit, Sharing S>
void notices_another_queue_pair() {
  Status statuses[4];
  wait_with_one_misnamed<Kit, S, xio::Policy<>>(statuses);
  CHECK(statuses[0].is_ok());
  CHECK(statuses[1].is_ok());
  CHECK(statuses[2] == Status::broken);
  CHECK_FALSE(statuses[3] == Status::timed_out);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H2 a completion that names another queue pair is not taken for one of ours", "", Named) {
  notices_another_queue_pair<TestType, Sharing::thread>();
  notices_another_queue_pair<TestType, Sharing::wave>();
  notices_another_queue_pair<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("H2 collapsed: a completion that names another queue pair is not taken for one of ours", "",
                        Collapsed) {
  notices_another_queue_pair<TestType, Sharing::thread>();
  notices_another_queue_pair<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("H2 the first failure, and the end of the queue, must be ours too", "", Named) {
  RdmaRig<TestType> rig;
  rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
  rig.near.model().faults().misname(0);
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  settle(rig.nic);
  CHECK_FALSE(qp.wait(token, shortly()) == Status::access_denied);
  CHECK_FALSE(qp.test(token) == Status::pending);
  CHECK(rig.near.state().broken != 0);
}

TEMPLATE_LIST_TEST_CASE("a policy can be told not to look at the queue pair of a completion", "", Named) {
  Status statuses[4];
  wait_with_one_misnamed<TestType, Sharing::thread, xio::Unchecked>(statuses);
  for (const Status status : statuses) CHECK(status.is_ok());
}

TEMPLATE_LIST_TEST_CASE("H2 lanes of a wave that take entries together: what names another queue pair ends nothing", "",
                        Named) {
  RdmaRig<TestType> rig;
  rig.near.model().faults().misname(5);
  const QueuePairHandle handle = rig.near.handle();
  QueuePair<typename TestType::Vendor, Sharing::wave, xio::Policy<>> host(handle);
  Token last;
  for (uint32_t i = 0; i < 6; ++i) last = host.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  REQUIRE(last.submitted());
  settle(rig.nic);
  xio::simt::launch(Grid::of_waves(1, 1, 32), [&] {
    QueuePair<typename TestType::Vendor, Sharing::wave, xio::Policy<>> qp(handle);
    EXPECT(qp.wait(last, shortly()) == Status::broken);
  });
}

TEMPLATE_LIST_TEST_CASE("H2 a received message that names another queue pair is not taken for one of ours", "", Named) {
  RdmaRig<TestType> rig;
  rig.far.model().faults().misname_receive(1);
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  const auto receive = [&](auto policy) {
    ReceiveQueue<typename TestType::Vendor, Sharing::thread, decltype(policy)> receives(rig.far.receive_handle());
    Status status[2];
    for (Status& one : status) {
      const Token token = receives.post(far.at(0, 64), xio::Now{});
      REQUIRE(token.submitted());
      REQUIRE(qp.send(rig.local.at(0, 64), xio::Now{}).submitted());
      settle(rig.nic);
      one = receives.wait(token, shortly()).status;
    }
    return std::pair<Status, Status>(status[0], status[1]);
  };
  const auto [first, second] = receive(xio::Policy<>());
  CHECK(first.is_ok());
  CHECK(second == Status::broken);
}

TEMPLATE_LIST_TEST_CASE("H7 a completion queue that is exactly full", "", Vendors) {
  for (const bool together : {false, true}) {
    RdmaQueueConfig config = TestType::config();
    config.cq_entries = 16;
    RdmaRig<TestType> rig(config);
    const auto room = static_cast<uint32_t>(TestType::Wire::cq_capacity(config.cq_entries));
    rig.near.limit_depth(room);
    const QueuePairHandle handle = rig.near.handle();
    QueuePair<typename TestType::Vendor, Sharing::wave, xio::Policy<>> qp(handle);
    for (uint32_t lap = 0; lap < 9; ++lap) {
      CAPTURE(together, lap);
      std::vector<Token> tokens;
      for (uint32_t i = 0; i < room; ++i)
        tokens.push_back(qp.put(rig.remote.at(8 * i, 8), rig.local.at(8 * i, 8), xio::Now{}));
      REQUIRE(tokens.back().submitted());
      CHECK(qp.put(rig.remote.at(0, 8), rig.local.at(0, 8), xio::Now{}).status == Status::would_block);
      settle(rig.nic);
      REQUIRE(rig.near.model().statistics().completions == (lap + 1) * room);
      if (together) {
        xio::simt::launch(Grid::of_waves(1, 1, 64), [&] {
          QueuePair<typename TestType::Vendor, Sharing::wave, xio::Policy<>> wave(handle);
          EXPECT(wave.quiet(shortly()).is_ok());
        });
      }
      for (const Token& token : tokens) CHECK(qp.wait(token, shortly()).is_ok());
    }
    CHECK(rig.violations() == "");
  }
}

namespace {

template <class Kit>
RdmaQueueConfig allowing(uint32_t allowed) {
  RdmaQueueConfig config = Kit::config();
  config.access = access::local_write | allowed;
  return config;
}

struct OperationKind {
  Operation operation;
  uint32_t access;
};
constexpr OperationKind kinds[] = {
    {Operation::put, access::remote_write},
    {Operation::get, access::remote_read},
    {Operation::compare_swap, access::remote_atomic},
    {Operation::fetch_add, access::remote_atomic},
    {Operation::send, 0},
};

template <class Kit, Sharing S>
void waits_for_unsignalled() {
  for (const OperationKind& kind : kinds) {
    CAPTURE(static_cast<int>(kind.operation));
    RdmaRig<Kit> rig(allowing<Kit>(kind.access));
    rig.running();
    ReceiveQueue<typename Kit::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
    const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
    QueuePair<typename Kit::Vendor, S, xio::Policy<>> qp(rig.near.handle());
    Work work;
    work.operation = kind.operation;
    work.remote = rig.remote.base;
    work.rkey = rig.remote.rkey;
    const xio::rdma::OneSge piece{{rig.local.base, 8, rig.local.key}};
    for (uint32_t i = 0; i < 20; ++i) {
      Token token;
      for (uint32_t posted = 0; posted <= i % 3; ++posted) {
        if (kind.operation == Operation::send) REQUIRE(receives.post(far.at(0, 8), soon()).submitted());
        token = qp.submit(work, piece, soon());
        REQUIRE(token.submitted());
      }
      REQUIRE(qp.wait(token, soon()).is_ok());
      REQUIRE(qp.quiet(soon()).is_ok());
    }
    rig.nic.stop();
    // Nothing took a receive that was meant for others.
    CHECK(rig.far.model().statistics().receive_completions == (kind.operation == Operation::send ? 39u : 0u));
    CHECK(rig.violations() == "");
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H4 the end of unsignalled operations is learnt of without more rights than they need", "",
                        Vendors) {
  waits_for_unsignalled<TestType, Sharing::thread>();
  waits_for_unsignalled<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("a peer that does not allow an operation refuses it, without data too", "", Vendors) {
  for (const OperationKind& kind : kinds) {
    if (kind.access == 0) continue;
    CAPTURE(static_cast<int>(kind.operation));
    RdmaRig<TestType> rig(allowing<TestType>(access::all & ~kind.access));
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
    Work work;
    work.operation = kind.operation;
    work.flags = xio::rdma::work_flag::signaled;
    work.remote = rig.remote.base;
    work.rkey = rig.remote.rkey;
    const bool empty = !xio::rdma::is_atomic(kind.operation);
    const Token token = empty ? qp.try_submit(work, xio::rdma::NoPayload{})
                              : qp.try_submit(work, xio::rdma::OneSge{{rig.local.base, 8, rig.local.key}});
    settle(rig.nic);
    CHECK(qp.wait(token, shortly()) == Status::remote_error);
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("an operation that does nothing ends after all before it, where the vendor has one", "",
                        Vendors) {
  RdmaRig<TestType> rig(allowing<TestType>(access::remote_write));
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const Token before = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  Work work;
  work.operation = Operation::nop;
  work.flags = xio::rdma::work_flag::signaled;
  const Token token = qp.try_submit(work, xio::rdma::NoPayload{});
  const xio::rdma::OneSge data{{rig.local.base, 8, rig.local.key}};
  if constexpr (TestType::Vendor::has_nop) {
    settle(rig.nic);
    CHECK(qp.wait(token, shortly()).is_ok());
    CHECK(qp.wait(before, shortly()).is_ok());
    CHECK(qp.try_submit(work, data).status == Status::invalid_argument);
    CHECK(qp.try_submit(work, xio::rdma::InlineValue{1}).status == Status::invalid_argument);
  } else {
    CHECK(token.status == Status::unsupported);
    CHECK(qp.try_submit(work, data).status == Status::unsupported);
  }
  CHECK(rig.violations() == "");
}
