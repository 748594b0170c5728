// SPDX-License-Identifier: MIT

/// @file
/// @brief Counters that wrap on the wire, full rings, small completion queues: nothing is lost, early or overrun.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

struct Start {
  uint64_t units;
  uint64_t operations;
};

/// Puts stamped words one after the other, at most `depth` in flight, and looks at each on the other side.
template <class Kit, class Policy = xio::Policy<>>
void stream(RdmaRig<Kit>& rig, uint32_t count, uint32_t depth) {
  QueuePair<typename Kit::Vendor, Sharing::thread, Policy> qp(rig.near.handle());
  auto* const near = reinterpret_cast<uint64_t*>(rig.near_bytes.data());
  auto* const far = reinterpret_cast<uint64_t*>(rig.far_bytes.data());
  std::vector<Token> tokens(count);
  uint32_t right = 0;
  for (uint32_t i = 0; i < count + depth; ++i) {
    if (i >= depth) {
      const uint32_t done = i - depth;
      const bool ok = qp.wait(tokens[done], soon()).is_ok();
      right += ok && far[done % depth] == mix(done, 1) ? 1 : 0;
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

}  // namespace

TEMPLATE_LIST_TEST_CASE("H2 counters of the wire wrap at 16 and 24 bits, from every offset", "", Vendors) {
  const uint64_t bases[] = {uint64_t{1} << 16, uint64_t{1} << 24, uint64_t{1} << 32, (uint64_t{1} << 40) + (1 << 24)};
  for (const uint64_t base : bases) {
    for (uint64_t before = 0; before < 80; before += 1 + before % 7) {
      CAPTURE(base, before);
      RdmaRig<TestType> rig;
      const uint64_t cq = base - 2 * uint64_t{rig.near.config().cq_entries};
      rig.near.start_at(base - before, cq, base - before);
      rig.running();
      stream(rig, 100, 8);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("H2 many laps of rings of every size", "", Vendors) {
  for (const uint32_t units : {2u, 4u, 8u, 64u}) {
    for (const uint32_t entries : {2u, 4u, 128u}) {
      RdmaQueueConfig config = TestType::config();
      config.sq_units = units;
      config.cq_entries = entries;
      if (config.side_entries != 0) config.side_entries = units;
      RdmaRig<TestType> rig(config);
      const uint32_t depth = std::min(TestType::depth(config), entries - 1);
      CAPTURE(units, entries, depth);
      rig.near.limit_depth(depth);
      rig.running();
      stream(rig, 700, depth);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("H24 a completion queue is never overrun, whatever its size and depth", "", Vendors) {
  for (const uint32_t entries : {4u, 8u, 32u, 256u}) {
    for (const uint32_t depth : {1u, 2u, 3u, 7u, 31u, 120u}) {
      if (depth >= entries) continue;
      CAPTURE(entries, depth);
      RdmaQueueConfig config = TestType::config();
      config.cq_entries = entries;
      RdmaRig<TestType> rig(config);
      rig.near.limit_depth(depth);
      rig.near.model().faults().delay(2);
      rig.running();
      stream(rig, 3 * entries, depth);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("H3 a full deferred ring is announced before anybody waits for room", "", Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  rig.near.limit_depth(16);
  QueuePair<typename TestType::Vendor, Sharing::thread, Policy<Deferred<1000>>> qp(rig.near.handle());
  for (uint32_t i = 0; i < 100; ++i) {
    REQUIRE(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::deadline(2_s)).submitted());
  }
  CHECK(qp.quiet(soon()).is_ok());
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("H5 memory that was something else before: nothing is taken for a completion", "", Vendors) {
  // What set-up does not initialise holds 0xa5, side table and rings; what it does is as the vendor wants it.
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  for (uint32_t i = 0; i < 50; ++i) CHECK(qp.test(token) == Status::pending);
  CHECK(qp.drain() == 0);
}

TEMPLATE_LIST_TEST_CASE("H2 a completion that comes twice is not taken for a later one", "", Vendors) {
  for (const uint64_t which : {0u, 3u, 9u}) {
    CAPTURE(which);
    RdmaRig<TestType> rig;
    rig.near.model().faults().duplicate(which);
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
    Token tokens[10];
    for (Token& token : tokens) token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
    for (uint32_t i = 0; i < 30; ++i) rig.nic.pass();
    for (const Token& token : tokens) {
      const Status status = qp.wait(token, xio::deadline(3_ms));
      CHECK((status.is_ok() || status == Status::broken));
    }
    CHECK(rig.near.state().retired <= rig.near.posted());
    const Token after = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
    if (after.submitted()) CHECK_FALSE(qp.test(after).is_ok());
  }
}
