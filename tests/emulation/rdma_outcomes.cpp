// SPDX-License-Identifier: MIT

/// @file
/// @brief How operations end: every status of a device reaches the caller, each token gets its own answer, nothing
/// waits for ever, and the host makes a failed queue pair usable again. What is not ours ends nothing.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::rdma::Operation;
using xio::rdma::Work;

namespace {

namespace access = xio::emulation::rdma_access;

struct Expected {
  RdmaOutcome outcome;
  Status::Code code;
};
constexpr Expected outcomes[] = {
    {RdmaOutcome::local_length, Status::length_error},
    {RdmaOutcome::local_operation, Status::invalid_command},
    {RdmaOutcome::local_protection, Status::bad_address},
    {RdmaOutcome::bad_response, Status::path_error},
    {RdmaOutcome::remote_invalid, Status::remote_error},
    {RdmaOutcome::remote_access, Status::access_denied},
    {RdmaOutcome::remote_operation, Status::remote_error},
    {RdmaOutcome::retry_exceeded, Status::retry_exceeded},
    {RdmaOutcome::receiver_not_ready, Status::receiver_not_ready},
    {RdmaOutcome::flushed, Status::flushed},
};

/// Five puts, of which the third fails. A collapsed queue must be looked at before the entry is overwritten.
template <class Kit>
void fail_third(const Expected& expected) {
  CAPTURE(static_cast<int>(expected.outcome));
  RdmaRig<Kit> rig;
  Sends<Kit> qp(rig.near.handle());
  const bool is_collapsed = rig.near.config().cq_entries == 1;
  rig.near.model().faults().fail(2, expected.outcome);
  rig.near.model().faults().one_a_pass(is_collapsed);
  Token tokens[5];
  for (uint32_t i = 0; i < 5; ++i) {
    tokens[i] = rig.put(qp, i);
    REQUIRE(tokens[i].submitted());
  }
  for (uint32_t pass = 0; pass < 30; ++pass) {
    rig.nic.pass();
    if (is_collapsed) qp.drain();
  }
  // The last one first: each gets the answer to its own.
  CHECK(qp.wait(tokens[4], shortly()) == Status::flushed);
  CHECK(qp.wait(tokens[2], shortly()).code == expected.code);
  if (expected.outcome != RdmaOutcome::flushed) CHECK(qp.wait(tokens[2], shortly()).vendor != 0);
  CHECK(qp.wait(tokens[1], shortly()).is_ok());
  CHECK(qp.wait(tokens[0], shortly()).is_ok());
  CHECK(qp.wait(tokens[3], shortly()) == Status::flushed);
  CHECK(qp.quiet(shortly()).code == expected.code);
  CHECK(qp.test(tokens[2]).code == expected.code);
  // What is posted now is not executed either.
  const Token late = rig.put(qp);
  settle(rig.nic);
  const Status status = late.submitted() ? qp.wait(late, shortly()) : late.status;
  CHECK((status == Status::flushed || status == Status::broken));
  CHECK(rig.far_bytes[64 * 3] == 0x22);
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("wait: a device's operation fails -> the one whose operation it was gets its status", "[H16]",
                        WithCollapsed) {
  for (const Expected& expected : outcomes) fail_third<TestType>(expected);
}

TEMPLATE_LIST_TEST_CASE(
    "wait: a collapsed queue's failure was overwritten -> what is not known to have ended is flushed", "[H16]",
    Collapsed) {
  for (uint32_t seen = 0; seen <= 2; ++seen) {
    CAPTURE(seen);
    RdmaRig<TestType> rig;
    Sends<TestType> qp(rig.near.handle());
    rig.near.model().faults().fail(2, RdmaOutcome::remote_access);
    Token tokens[5];
    for (uint32_t i = 0; i < 5; ++i) {
      if (i == seen) {
        settle(rig.nic);
        qp.drain();
      }
      tokens[i] = rig.put(qp, i);
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

TEMPLATE_LIST_TEST_CASE("put: a key or an address is wrong -> an answer and nothing changes", "[H16]", Vendors) {
  const auto fails = [](auto adjust, Status::Code code) {
    RdmaRig<TestType> rig;
    Region local = rig.local;
    RemoteMemory remote = rig.remote;
    adjust(local, remote);
    Sends<TestType> qp(rig.near.handle());
    const Token token = qp.put(remote.at(0, 64), local.at(0, 64), xio::Now{});
    settle(rig.nic);
    CHECK(qp.wait(token, shortly()).code == code);
    CHECK(rig.far_bytes[0] == 0x22);
    CHECK(rig.violations() == "");
  };
  fails([](Region&, RemoteMemory& remote) { remote.rkey += 1; }, Status::access_denied);
  fails([](Region& local, RemoteMemory&) { local.key += 1; }, Status::bad_address);
  fails([](Region&, RemoteMemory& remote) { remote.base += remote.length; }, Status::access_denied);
  fails([](Region& local, RemoteMemory&) { local.base -= 8; }, Status::bad_address);
}

namespace {

template <class Kit, Sharing S>
void refuses_what_cannot_be_right() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  Sends<Kit, S> qp(rig.near.handle());
  const auto local = rig.local;
  const auto remote = rig.remote;
  const auto refused = [&](const Token& token, Status::Code code) {
    CHECK_FALSE(token.submitted());
    CHECK(token.status.code == code);
    CHECK(qp.wait(token, Deadline{0}).code == code);
  };
  refused(qp.put(remote.at(remote.length - 8, 16), local.at(0, 16), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(remote.length + 1, 0), local.at(0, 0), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(0, 16), local.at(local.length - 8, 16), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(0, 16), local.at(0, 8), xio::Now{}), Status::invalid_argument);
  refused(qp.get(local.at(0, 16), remote.at(~uint64_t{0} - 3, 16), xio::Now{}), Status::out_of_range);
  refused(qp.fetch_add(remote.at(0, 4), 1, local.at(0, 8), xio::Now{}), Status::invalid_argument);
  refused(qp.fetch_add(remote.at(4, 8), 1, local.at(0, 8), xio::Now{}), Status::misaligned);
  std::vector<xio::rdma::Sge> many(20, {local.base, 8, local.key});
  Work work = rig.unsignaled();
  refused(qp.try_submit(work, xio::rdma::SgeList{many.data(), 20}), Status::out_of_range);
  if constexpr (Kit::has_inline) {
    const uint8_t bytes[400] = {};
    refused(qp.try_submit(work, xio::rdma::InlineBytes{bytes, 400}), Status::out_of_range);
    work.operation = Operation::get;
    refused(qp.try_submit(work, xio::rdma::InlineBytes{bytes, 8}), Status::invalid_argument);
  }
  // A put with a signal is refused whole, and so is a batch with one such piece.
  const auto signals = [&](const xio::rdma::RemoteSpan& to, const xio::rdma::RemoteSpan& signal, Status::Code code) {
    refused(qp.put_signal(to, local.at(0, 64), signal, local.at(64, 8), soon()), code);
  };
  signals(remote.at(remote.length, 64), remote.at(0, 8), Status::out_of_range);
  signals(remote.at(0, 64), remote.at(remote.length - 4, 8), Status::out_of_range);
  signals(remote.at(0, 64), remote.at(0, 4), Status::invalid_argument);
  signals(remote.at(0, 32), remote.at(0, 8), Status::invalid_argument);
  const auto batch = [&](Operation operation, const xio::rdma::Piece& wrong, Status::Code code) {
    xio::rdma::Piece pieces[5];
    for (xio::rdma::Piece& piece : pieces) piece = {remote.at(0, 64), local.at(0, 64)};
    pieces[3] = wrong;
    CHECK(qp.submit_batch(operation, pieces, 5, soon()).status.code == code);
  };
  batch(Operation::put, {remote.at(remote.length - 32, 64), local.at(0, 64)}, Status::out_of_range);
  batch(Operation::get, {remote.at(0, 64), local.at(local.length, 64)}, Status::out_of_range);
  batch(Operation::put, {remote.at(0, 64), local.at(0, 32)}, Status::invalid_argument);
  batch(Operation::send, {remote.at(0, 64), local.at(0, 64)}, Status::invalid_argument);
  CHECK(rig.near.state().reserved == 0);
  CHECK(rig.near.posted() == 0);
  CHECK(qp.quiet(shortly()).is_ok());
  CHECK_FALSE(rig.nic.pass());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: what cannot be right -> it is refused and leaves no trace", "[H37]", Vendors) {
  refuses_what_cannot_be_right<TestType, Sharing::thread>();
  refuses_what_cannot_be_right<TestType, Sharing::wave>();
  refuses_what_cannot_be_right<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("fetch_add: memory that cannot take atomics -> it is refused before anything is posted",
                        "[H11]", Vendors) {
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  RemoteMemory remote = rig.remote;
  remote.atomics = false;
  CHECK(qp.fetch_add(remote.at(0, 8), 1, rig.local.at(0, 8), xio::Now{}).status == Status::unsupported);
  CHECK(qp.compare_swap(remote.at(0, 8), 1, 2, rig.local.at(0, 8), xio::Now{}).status == Status::unsupported);
  CHECK(rig.near.state().reserved == 0);
  CHECK(qp.put(remote.at(0, 8), rig.local.at(0, 8), xio::Now{}).submitted());
  CHECK(qp.fetch_add(rig.remote.at(0, 8), 1, rig.local.at(0, 8), xio::Now{}).submitted());
}

TEMPLATE_LIST_TEST_CASE("test: an error comes after any number of polls -> it is seen", "[H6]", WithCollapsed) {
  for (uint32_t polls = 0; polls < 12; ++polls) {
    RdmaRig<TestType> rig;
    Sends<TestType> qp(rig.near.handle());
    rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
    rig.near.model().faults().delay(polls);
    rig.near.model().faults().one_a_pass(rig.near.config().cq_entries == 1);
    const Token token = rig.put(qp);
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

TEMPLATE_LIST_TEST_CASE("submit: unsignalled operations -> the library signals one in each quarter of the ring", "[H4]",
                        WithCollapsed) {
  RdmaRig<TestType> rig;
  rig.running();
  Sends<TestType> qp(rig.near.handle());
  for (uint32_t i = 0; i < 3; ++i) {
    const Token token = qp.submit(rig.unsignaled(), rig.piece(), soon());
    REQUIRE(token.submitted());
    CHECK(qp.wait(token, soon()).is_ok());
  }
  for (uint32_t i = 0; i < 1000; ++i) REQUIRE(qp.submit(rig.unsignaled(), rig.piece(), soon()).submitted());
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(rig.near.state().retired == rig.near.posted());
  for (uint32_t i = 0; i < 3; ++i) CHECK(qp.quiet(Deadline{0}).is_ok());
  rig.nic.stop();
  const auto statistics = rig.near.model().statistics();
  CHECK(statistics.signaled >= 1000 / (rig.near.config().sq_units / 4));
  CHECK(statistics.signaled <= 100);
  CHECK(rig.violations() == "");
}

// A completion that names another queue pair.

namespace {

using AllForms = Joined<Forms, Collapsed>;

/// As many puts as there are statuses, of which the completion of the one before the last names another queue pair.
template <class Kit, Sharing S, class Policy, size_t Number>
void wait_with_one_misnamed(Status (&statuses)[Number]) {
  RdmaRig<Kit> rig;
  rig.near.model().faults().misname(Number - 2);
  Sends<Kit, S, Policy> qp(rig.near.handle());
  Token tokens[Number];
  for (size_t i = 0; i < Number; ++i) {
    // One after the other is read: what comes behind stands for what was before, with some.
    tokens[i] = rig.put(qp, i);
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
  CAPTURE(static_cast<int>(S));
  Status statuses[4];
  wait_with_one_misnamed<Kit, S, xio::Policy<>>(statuses);
  CHECK(statuses[0].is_ok());
  CHECK(statuses[1].is_ok());
  CHECK(statuses[2] == Status::broken);
  CHECK_FALSE(statuses[3] == Status::timed_out);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("wait: a completion names another queue pair -> it ends none of ours", "[H2]", AllForms) {
  notices_another_queue_pair<TestType, Sharing::thread>();
  notices_another_queue_pair<TestType, Sharing::grid>();
  if (TestType::config().cq_entries == 1) return;
  notices_another_queue_pair<TestType, Sharing::wave>();
  // The first failure, and the end of the queue, must be ours too.
  RdmaRig<TestType> rig;
  rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
  rig.near.model().faults().misname(0);
  Sends<TestType> qp(rig.near.handle());
  const Token token = rig.put(qp);
  settle(rig.nic);
  CHECK_FALSE(qp.wait(token, shortly()) == Status::access_denied);
  CHECK_FALSE(qp.test(token) == Status::pending);
  CHECK(rig.near.state().broken != 0);
}

TEMPLATE_LIST_TEST_CASE("wait: a policy is told not to look at the queue pair of a completion -> it ends ours", "",
                        Forms) {
  Status statuses[4];
  wait_with_one_misnamed<TestType, Sharing::thread, xio::Unchecked>(statuses);
  for (const Status status : statuses) CHECK(status.is_ok());
}

TEMPLATE_LIST_TEST_CASE("wait: lanes take entries together and one names another queue pair -> broken", "[H2]", Forms) {
  RdmaRig<TestType> rig;
  rig.near.model().faults().misname(5);
  const QueuePairHandle handle = rig.near.handle();
  Sends<TestType, Sharing::wave> host(handle);
  Token last;
  for (uint32_t i = 0; i < 6; ++i) last = rig.put(host);
  REQUIRE(last.submitted());
  settle(rig.nic);
  xio::simt::launch(Grid::of_waves(1, 1, 32), [&] {
    Sends<TestType, Sharing::wave> qp(handle);
    EXPECT(qp.wait(last, shortly()) == Status::broken);
  });
}

TEMPLATE_LIST_TEST_CASE("wait: a received message names another queue pair -> it fills no receive of ours", "[H2]",
                        Forms) {
  RdmaRig<TestType> rig;
  rig.far.model().faults().misname_receive(1);
  Sends<TestType> qp(rig.near.handle());
  Receives<TestType> receives(rig.far.receive_handle());
  for (const Status::Code expected : {Status::ok, Status::broken}) {
    const Token token = receives.post(rig.far_local.at(0, 64), xio::Now{});
    REQUIRE(token.submitted());
    REQUIRE(qp.send(rig.local.at(0, 64), xio::Now{}).submitted());
    settle(rig.nic);
    CHECK(receives.wait(token, shortly()).status.code == expected);
  }
}

// A peer that does not allow everything.

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
    Receives<Kit> receives(rig.far.receive_handle());
    Sends<Kit, S> qp(rig.near.handle());
    Work work = rig.unsignaled();
    work.operation = kind.operation;
    for (uint32_t i = 0; i < 20; ++i) {
      Token token;
      for (uint32_t posted = 0; posted <= i % 3; ++posted) {
        if (kind.operation == Operation::send) REQUIRE(receives.post(rig.far_local.at(0, 8), soon()).submitted());
        token = qp.submit(work, rig.piece(0, 8), soon());
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

TEMPLATE_LIST_TEST_CASE("wait: unsignalled operations at a peer that allows only them -> they end", "[H4]", Vendors) {
  waits_for_unsignalled<TestType, Sharing::thread>();
  waits_for_unsignalled<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("try_submit: the peer does not allow the operation -> remote_error without data too", "",
                        Vendors) {
  for (const OperationKind& kind : kinds) {
    if (kind.access == 0) continue;
    CAPTURE(static_cast<int>(kind.operation));
    RdmaRig<TestType> rig(allowing<TestType>(access::all & ~kind.access));
    Sends<TestType> qp(rig.near.handle());
    Work work = rig.signaled();
    work.operation = kind.operation;
    const Token token = xio::rdma::is_atomic(kind.operation) ? qp.try_submit(work, rig.piece(0, 8))
                                                             : qp.try_submit(work, xio::rdma::NoPayload{});
    settle(rig.nic);
    CHECK(qp.wait(token, shortly()) == Status::remote_error);
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("try_submit: an operation that does nothing -> it ends after all before it", "", Vendors) {
  RdmaRig<TestType> rig(allowing<TestType>(access::remote_write));
  Sends<TestType> qp(rig.near.handle());
  const Token before = rig.put(qp);
  Work work;
  work.operation = Operation::nop;
  work.flags = xio::rdma::work_flag::signaled;
  const Token token = qp.try_submit(work, xio::rdma::NoPayload{});
  if constexpr (TestType::Vendor::has_nop) {
    settle(rig.nic);
    CHECK(qp.wait(token, shortly()).is_ok());
    CHECK(qp.wait(before, shortly()).is_ok());
    CHECK(qp.try_submit(work, rig.piece(0, 8)).status == Status::invalid_argument);
    CHECK(qp.try_submit(work, xio::rdma::InlineValue{1}).status == Status::invalid_argument);
  } else {
    CHECK(token.status == Status::unsupported);
    CHECK(qp.try_submit(work, rig.piece(0, 8)).status == Status::unsupported);
  }
  CHECK(rig.violations() == "");
}

// After an error.

namespace {

template <class Kit>
void use(RdmaRig<Kit>& rig, uint32_t round) {
  Sends<Kit> qp(rig.near.handle());
  Receives<Kit> receives(rig.far.receive_handle());
  // More than the rings hold, so that counters pass their ends.
  for (uint32_t i = 0; i < 300; ++i) {
    std::memset(rig.near_bytes.data(), static_cast<int>(round + i), 64);
    const Token receive = receives.post(rig.far_local.at(4096, 64), soon());
    const Token put = rig.put(qp, 0, soon());
    const Token send = qp.send(rig.local.at(0, 64), soon());
    REQUIRE(qp.wait(send, soon()).is_ok());
    REQUIRE(qp.wait(put, soon()).is_ok());
    REQUIRE(receives.wait(receive, soon()).status.is_ok());
    REQUIRE(std::memcmp(rig.far_bytes.data(), rig.near_bytes.data(), 64) == 0);
    REQUIRE(std::memcmp(rig.far_bytes.data() + 4096, rig.near_bytes.data(), 64) == 0);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("recover: a queue pair has failed -> it is used again", "[H16]", Vendors) {
  RdmaRig<TestType> rig;
  for (uint32_t round = 0; round < 4; ++round) {
    CAPTURE(round);
    rig.running();
    use(rig, round);
    Sends<TestType> qp(rig.near.handle());
    RemoteMemory wrong = rig.remote;
    wrong.rkey += 1;
    Token tokens[6];
    rig.near.model().faults().hold(true);
    for (uint32_t i = 0; i < 6; ++i)
      tokens[i] = qp.put((i == 2 ? wrong : rig.remote).at(0, 64), rig.local.at(0, 64), soon());
    rig.near.model().faults().hold(false);
    for (uint32_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      const Status expected = i < 2 ? Status::ok : i == 2 ? Status::access_denied : Status::flushed;
      CHECK(qp.wait(tokens[i], soon()).code == expected.code);
    }
    CHECK(qp.quiet(soon()) == Status::access_denied);
    rig.nic.stop();
    // Half done: the other side knows nothing of the error, and starts again with us.
    rig.near.recover();
    rig.far.recover();
    CHECK(Sends<TestType>(rig.near.handle()).quiet(soon()).is_ok());
  }
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("wait: receives of a queue pair in error -> they end or are given up by their deadline",
                        "[H16]", Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  Receives<TestType> receives(rig.far.receive_handle());
  Token tokens[3];
  for (uint32_t i = 0; i < 3; ++i) tokens[i] = receives.post(rig.far_local.at(64 * i, 64), soon());
  CHECK(receives.test(tokens[0]).status == Status::pending);
  rig.far.model().fail();
  for (const Token& token : tokens) {
    const bool told = TestType::Wire::flushes || TestType::Wire::ends_receives;
    const Status status = receives.wait(token, told ? soon() : xio::deadline(2_ms)).status;
    CHECK(status == (told ? Status::flushed : Status::timed_out));
  }
  // Once full, the queue refuses receives at once: no completion will make room.
  if constexpr (TestType::Wire::ends_receives) {
    Token more;
    for (uint32_t i = 0; i < 5000 && more.status.is_ok(); ++i) more = receives.post(rig.far_local.at(0, 64), soon());
    CHECK(more.status == Status::broken);
  }
  // Who writes to it learns that it does not answer.
  Sends<TestType> qp(rig.near.handle());
  CHECK(qp.wait(rig.put(qp, 0, soon()), soon()) == Status::retry_exceeded);
  rig.nic.stop();
  rig.near.recover();
  rig.far.recover();
  rig.running();
  use(rig, 9);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}
