// SPDX-License-Identifier: MIT

/// @file
/// @brief After an error: the flushed operations and receives each get their answer, and the host makes the queue pair
/// usable again.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::rdma::ReceiveQueue;

namespace {

template <class Kit>
void use(RdmaRig<Kit>& rig, uint32_t round) {
  QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  ReceiveQueue<typename Kit::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  // More than the rings hold, so that counters pass their ends.
  for (uint32_t i = 0; i < 300; ++i) {
    std::memset(rig.near_bytes.data(), static_cast<int>(round + i), 64);
    const Token receive = receives.post(far.at(4096, 64), soon());
    const Token put = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon());
    const Token send = qp.send(rig.local.at(0, 64), soon());
    REQUIRE(qp.wait(send, soon()).is_ok());
    REQUIRE(qp.wait(put, soon()).is_ok());
    REQUIRE(receives.wait(receive, soon()).status.is_ok());
    REQUIRE(std::memcmp(rig.far_bytes.data(), rig.near_bytes.data(), 64) == 0);
    REQUIRE(std::memcmp(rig.far_bytes.data() + 4096, rig.near_bytes.data(), 64) == 0);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H16 after an error the queue pair is recovered and used again", "", Vendors) {
  RdmaRig<TestType> rig;
  for (uint32_t round = 0; round < 4; ++round) {
    CAPTURE(round);
    rig.running();
    use(rig, round);
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
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
    CHECK(
        QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>>(rig.near.handle()).quiet(soon()).is_ok());
  }
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("H16 receives of a queue pair in error end, or are given up by their deadline", "", Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  ReceiveQueue<typename TestType::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  Token tokens[3];
  for (uint32_t i = 0; i < 3; ++i) tokens[i] = receives.post(far.at(64 * i, 64), soon());
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
    for (uint32_t i = 0; i < 5000 && more.status.is_ok(); ++i) more = receives.post(far.at(0, 64), soon());
    CHECK(more.status == Status::broken);
  }
  // Who writes to it learns that it does not answer.
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  CHECK(qp.wait(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon()), soon()) == Status::retry_exceeded);
  rig.nic.stop();
  rig.near.recover();
  rig.far.recover();
  rig.running();
  use(rig, 9);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}
