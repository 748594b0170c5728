// SPDX-License-Identifier: MIT

/// @file
/// @brief How operations end: every status of a device reaches the caller, each token gets its own answer, and nothing
/// waits for ever.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

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

}  // namespace

TEMPLATE_LIST_TEST_CASE("H16 every failure of a device reaches the one whose operation it was", "", Vendors) {
  for (const Expected& expected : outcomes) {
    CAPTURE(static_cast<int>(expected.outcome));
    RdmaRig<TestType> rig;
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
    rig.near.model().faults().fail(2, expected.outcome);
    Token tokens[5];
    for (uint32_t i = 0; i < 5; ++i) {
      tokens[i] = qp.put(rig.remote.at(64 * i, 64), rig.local.at(64 * i, 64), xio::Now{});
      REQUIRE(tokens[i].submitted());
    }
    settle(rig.nic);
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
    const Token late = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
    settle(rig.nic);
    const Status status = late.submitted() ? qp.wait(late, shortly()) : late.status;
    CHECK((status == Status::flushed || status == Status::broken));
    CHECK(rig.far_bytes[64 * 3] == 0x22);
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("H16 wrong keys and addresses are answered, and change nothing", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  const auto fails = [](auto adjust, Status::Code code) {
    RdmaRig<TestType> rig;
    Region local = rig.local;
    RemoteMemory remote = rig.remote;
    adjust(local, remote);
    QueuePair<Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
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
  QueuePair<typename Kit::Vendor, S, xio::Policy<>> qp(rig.near.handle());
  const auto refused = [&](const Token& token, Status::Code code) {
    CHECK_FALSE(token.submitted());
    CHECK(token.status.code == code);
    CHECK(qp.wait(token, Deadline{0}).code == code);
  };
  const auto local = rig.local;
  const auto remote = rig.remote;
  refused(qp.put(remote.at(remote.length - 8, 16), local.at(0, 16), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(remote.length + 1, 0), local.at(0, 0), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(0, 16), local.at(local.length - 8, 16), xio::Now{}), Status::out_of_range);
  refused(qp.put(remote.at(0, 16), local.at(0, 8), xio::Now{}), Status::invalid_argument);
  refused(qp.get(local.at(0, 16), remote.at(~uint64_t{0} - 3, 16), xio::Now{}), Status::out_of_range);
  refused(qp.fetch_add(remote.at(0, 4), 1, local.at(0, 8), xio::Now{}), Status::invalid_argument);
  refused(qp.fetch_add(remote.at(4, 8), 1, local.at(0, 8), xio::Now{}), Status::misaligned);
  std::vector<xio::rdma::Sge> many(20, {local.base, 8, local.key});
  xio::rdma::Work work;
  work.remote = remote.base;
  work.rkey = remote.rkey;
  refused(qp.try_submit(work, xio::rdma::SgeList{many.data(), 20}), Status::out_of_range);
  if constexpr (Kit::has_inline) {
    const uint8_t bytes[400] = {};
    refused(qp.try_submit(work, xio::rdma::InlineBytes{bytes, 400}), Status::out_of_range);
    work.operation = xio::rdma::Operation::get;
    refused(qp.try_submit(work, xio::rdma::InlineBytes{bytes, 8}), Status::invalid_argument);
  }
  CHECK(rig.near.state().reserved == 0);
  CHECK(qp.quiet(shortly()).is_ok());
  CHECK_FALSE(rig.nic.pass());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H37 what cannot be right is refused, and leaves no trace", "", Vendors) {
  refuses_what_cannot_be_right<TestType, Sharing::thread>();
  refuses_what_cannot_be_right<TestType, Sharing::wave>();
  refuses_what_cannot_be_right<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("H11 atomics on memory that cannot take them are refused before anything is posted", "",
                        Vendors) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  RemoteMemory remote = rig.remote;
  remote.atomics = false;
  CHECK(qp.fetch_add(remote.at(0, 8), 1, rig.local.at(0, 8), xio::Now{}).status == Status::unsupported);
  CHECK(qp.compare_swap(remote.at(0, 8), 1, 2, rig.local.at(0, 8), xio::Now{}).status == Status::unsupported);
  CHECK(rig.near.state().reserved == 0);
  CHECK(qp.put(remote.at(0, 8), rig.local.at(0, 8), xio::Now{}).submitted());
  CHECK(qp.fetch_add(rig.remote.at(0, 8), 1, rig.local.at(0, 8), xio::Now{}).submitted());
}

TEMPLATE_LIST_TEST_CASE("H6 an error that comes after any number of polls is seen", "", Vendors) {
  for (uint32_t polls = 0; polls < 12; ++polls) {
    RdmaRig<TestType> rig;
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
    rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
    rig.near.model().faults().delay(polls);
    const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
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

TEMPLATE_LIST_TEST_CASE("unsignalled operations: nobody waits for ever, since the library asks for a completion", "",
                        Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  xio::rdma::Work work;
  work.remote = rig.remote.base;
  work.rkey = rig.remote.rkey;
  const xio::rdma::OneSge piece{{rig.local.base, 64, rig.local.key}};
  for (uint32_t i = 0; i < 3; ++i) {
    const Token token = qp.submit(work, piece, soon());
    REQUIRE(token.submitted());
    CHECK(qp.wait(token, soon()).is_ok());
  }
  // More than the ring holds: at least one in each quarter is signalled.
  Token last;
  for (uint32_t i = 0; i < 1000; ++i) {
    last = qp.submit(work, piece, soon());
    REQUIRE(last.submitted());
  }
  CHECK(qp.quiet(soon()).is_ok());
  rig.nic.stop();
  const auto statistics = rig.near.model().statistics();
  CHECK(statistics.signaled >= 1000 / (rig.near.config().sq_units / 4));
  CHECK(statistics.signaled <= 100);
  CHECK(rig.violations() == "");
}
