// SPDX-License-Identifier: MIT

/// @file
/// @brief Sends, receives, immediates, atomics, inline data of every length: what arrives on the other side, and what
/// does not change there.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::rdma::Operation;
using xio::rdma::Received;
using xio::rdma::ReceiveQueue;
using xio::rdma::Work;

namespace {

/// A queue pair and its peer's receive queue.
template <class Kit>
struct Pair : RdmaRig<Kit> {
  QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>> qp{this->near.handle()};
  ReceiveQueue<typename Kit::Vendor, Sharing::thread, xio::Policy<>> receives{this->far.receive_handle()};
  Pair() { this->running(); }
  /// The far side's memory, as the far side names it.
  Region far_local() const { return {this->remote.base, this->remote.length, this->remote.rkey}; }
};

unsigned char pattern(uint32_t i, uint32_t seed) { return static_cast<unsigned char>(mix(i, seed) | 1); }

}  // namespace

TEMPLATE_LIST_TEST_CASE("H12 every length from 0 to 128 bytes, inline and not, arrives and nothing else changes", "",
                        Vendors) {
  Pair<TestType> pair;
  RdmaQueueConfig config = pair.near.config();
  std::vector<uint32_t> lengths;
  for (uint32_t i = 0; i <= 128; ++i) lengths.push_back(i);
  for (const uint32_t more : {256u, 1024u, 4096u, 65536u}) lengths.push_back(more);
  for (const uint32_t length : lengths) {
    CAPTURE(length);
    for (const bool is_inline : {false, true}) {
      if (is_inline && (!TestType::has_inline || length > config.max_inline)) continue;
      std::fill(pair.far_bytes.begin(), pair.far_bytes.end(), static_cast<unsigned char>(0));
      for (uint32_t i = 0; i < length; ++i) pair.near_bytes[i] = pattern(i, length);
      Token token;
      if constexpr (TestType::has_inline) {
        if (is_inline) {
          Work work;
          work.flags = xio::rdma::work_flag::signaled;
          work.remote = pair.remote.base + 64;
          work.rkey = pair.remote.rkey;
          token = pair.qp.submit(work, xio::rdma::InlineBytes{pair.near_bytes.data(), length}, soon());
        }
      }
      if (!is_inline) token = pair.qp.put(pair.remote.at(64, length), pair.local.at(0, length), soon());
      REQUIRE(pair.qp.wait(token, soon()).is_ok());
      CHECK(std::memcmp(pair.far_bytes.data() + 64, pair.near_bytes.data(), length) == 0);
      bool neighbours = true;
      for (uint32_t i = 0; i < 64; ++i) neighbours &= pair.far_bytes[i] == 0 && pair.far_bytes[64 + length + i] == 0;
      CHECK(neighbours);
    }
  }
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("messages and immediates arrive in the order posted", "", Vendors) {
  Pair<TestType> pair;
  const Region far = pair.far_local();
  for (uint32_t round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Token first = pair.receives.post(far.at(0, 128), soon());
    const Token second = pair.receives.post(far.at(1024, 128), soon());
    const Token third = pair.receives.post(xio::rdma::NoPayload{}, soon());
    for (uint32_t i = 0; i < 200; ++i) pair.near_bytes[i] = pattern(i, round);
    (void)pair.qp.send(pair.local.at(0, 100), soon());
    (void)pair.qp.send_immediate(pair.local.at(7, 128), 0xdead0000 + round, soon());
    const Token last = pair.qp.put_immediate(pair.remote.at(4096, 64), pair.local.at(64, 64), 0x1234, soon());
    REQUIRE(pair.qp.wait(last, soon()).is_ok());

    const Received arrived = pair.receives.wait(first, soon());
    CHECK(arrived.status.is_ok());
    CHECK(arrived.bytes == 100);
    CHECK(arrived.flags == 0);
    CHECK(std::memcmp(pair.far_bytes.data(), pair.near_bytes.data(), 100) == 0);
    const Received tagged = pair.receives.wait(second, soon());
    CHECK(tagged.status.is_ok());
    CHECK(tagged.bytes == 128);
    CHECK(tagged.flags == xio::rdma::receive_flag::immediate);
    CHECK(tagged.immediate == 0xdead0000 + round);
    CHECK(std::memcmp(pair.far_bytes.data() + 1024, pair.near_bytes.data() + 7, 128) == 0);
    const Received written = pair.receives.wait(third, soon());
    CHECK(written.status.is_ok());
    CHECK(written.immediate == 0x1234);
    CHECK((written.flags & xio::rdma::receive_flag::immediate) != 0);
    CHECK(std::memcmp(pair.far_bytes.data() + 4096, pair.near_bytes.data() + 64, 64) == 0);
  }
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("an immediate with a message of length 0", "", Vendors) {
  Pair<TestType> pair;
  const Token receive = pair.receives.post(xio::rdma::NoPayload{}, soon());
  Work work;
  work.operation = Operation::put_immediate;
  work.flags = xio::rdma::work_flag::signaled;
  work.immediate = 0xcafe;
  CHECK(pair.qp.wait(pair.qp.submit(work, xio::rdma::NoPayload{}, soon()), soon()).is_ok());
  const Received received = pair.receives.wait(receive, soon());
  CHECK(received.status.is_ok());
  CHECK(received.immediate == 0xcafe);
  CHECK(received.bytes == 0);
}

TEMPLATE_LIST_TEST_CASE("atomics return what was there and change what they shall", "", Vendors) {
  Pair<TestType> pair;
  auto* const far = reinterpret_cast<uint64_t*>(pair.far_bytes.data());
  auto* const near = reinterpret_cast<uint64_t*>(pair.near_bytes.data());
  far[0] = 100;
  far[1] = 7;
  const auto word = pair.remote.at(0, 8);
  const auto old = pair.local.at(16, 8);
  REQUIRE(pair.qp.wait(pair.qp.fetch_add(word, 5, old, soon()), soon()).is_ok());
  CHECK(near[2] == 100);
  CHECK(far[0] == 105);
  REQUIRE(pair.qp.wait(pair.qp.compare_swap(word, 104, 1, old, soon()), soon()).is_ok());
  CHECK(near[2] == 105);
  CHECK(far[0] == 105);
  REQUIRE(pair.qp.wait(pair.qp.compare_swap(word, 105, ~uint64_t{0} - 1, old, soon()), soon()).is_ok());
  CHECK(near[2] == 105);
  CHECK(far[0] == ~uint64_t{0} - 1);
  REQUIRE(pair.qp.wait(pair.qp.fetch_add(word, 3, old, soon()), soon()).is_ok());
  CHECK(far[0] == 1);
  CHECK(far[1] == 7);
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("a message without a receive, and one that is too long for its", "", Vendors) {
  {
    Pair<TestType> pair;
    pair.near.model().faults().wait_for_receives(1000);
    const Token token = pair.qp.send(pair.local.at(0, 8), soon());
    CHECK(pair.qp.wait(token, soon()) == Status::receiver_not_ready);
  }
  Pair<TestType> pair;
  const Token receive = pair.receives.post(pair.far_local().at(0, 32), soon());
  const Token token = pair.qp.send(pair.local.at(0, 64), soon());
  CHECK(pair.qp.wait(token, soon()) == Status::remote_error);
  CHECK(pair.receives.wait(receive, soon()).status == Status::length_error);
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("a message waits for its receive, however long that takes", "", Vendors) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  ReceiveQueue<typename TestType::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
  const Token token = qp.send(rig.local.at(0, 8), xio::Now{});
  for (uint32_t i = 0; i < 5000; ++i) rig.nic.pass();
  CHECK(qp.test(token) == Status::pending);
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  const Token receive = receives.post(far.at(0, 8), xio::Now{});
  settle(rig.nic);
  CHECK(qp.wait(token, shortly()).is_ok());
  CHECK(receives.wait(receive, shortly()).bytes == 8);
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("several pieces of memory make one message", "", Vendors) {
  Pair<TestType> pair;
  for (uint32_t i = 0; i < 4096; ++i) pair.near_bytes[i] = pattern(i, 3);
  const xio::rdma::Sge pieces[] = {{pair.local.base + 100, 13, pair.local.key},
                                   {pair.local.base + 1000, 0, pair.local.key},
                                   {pair.local.base + 2000, 700, pair.local.key},
                                   {pair.local.base, 64, pair.local.key}};
  Work work;
  work.flags = xio::rdma::work_flag::signaled;
  work.remote = pair.remote.base;
  work.rkey = pair.remote.rkey;
  const Token token = pair.qp.submit(work, xio::rdma::SgeList{pieces, 4}, soon());
  REQUIRE(pair.qp.wait(token, soon()).is_ok());
  CHECK(std::memcmp(pair.far_bytes.data(), pair.near_bytes.data() + 100, 13) == 0);
  CHECK(std::memcmp(pair.far_bytes.data() + 13, pair.near_bytes.data() + 2000, 700) == 0);
  CHECK(std::memcmp(pair.far_bytes.data() + 713, pair.near_bytes.data(), 64) == 0);
  CHECK(pair.far_bytes[777] == 0x22);
  CHECK(pair.violations() == "");
}
