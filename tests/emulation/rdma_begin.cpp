// SPDX-License-Identifier: MIT

/// @file
/// @brief Queue pairs whose counters do not begin at 0, since they were used before: in every sharing mode and way of
/// ringing, by the emulated NIC's own handles and by those of an adopted queue pair.

#include <xio/device/rdma/receive.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

/// What a NIC is told through: the doorbell's word and the record.
template <class Kit>
std::pair<uint64_t, uint32_t> told(RdmaRig<Kit>& rig) {
  const auto memory = rig.near.memory();
  return {*memory.sq_doorbell, memory.sq_record ? *memory.sq_record : 0};
}

/// A queue that has nothing to announce stays silent; then each operation is announced and ends, over several laps.
template <class Kit, Sharing S, class Policy>
void use(RdmaRig<Kit>& rig, const QueuePairHandle& handle) {
  CAPTURE(static_cast<int>(S), Policy::ring_every);
  QueuePair<typename Kit::Vendor, S, Policy> qp(handle);
  const auto before = told(rig);
  qp.ring();
  CHECK(qp.quiet(Deadline{0}) == Status::ok);
  CHECK(told(rig) == before);
  for (uint32_t round = 0; round < 2 * rig.near.config().sq_units / 4; ++round) {
    Token token;
    for (uint32_t i = 0; i < 4; ++i) token = qp.put(rig.remote.at(64 * i, 64), rig.local.at(64 * i, 64), xio::Now{});
    REQUIRE(token.submitted());
    // A wait announces what is not announced yet.
    (void)qp.wait(token, Deadline{0});
    settle(rig.nic);
    REQUIRE(qp.wait(token, Deadline{0}).is_ok());
  }
  qp.ring();
  CHECK(qp.quiet(Deadline{0}).is_ok());
  CHECK(rig.far_bytes[0] == 0x11);
  CHECK(rig.violations() == "");
}

template <class Kit, Sharing S, class Policy>
void begin_at(uint64_t units) {
  CAPTURE(units);
  {
    RdmaRig<Kit> rig;
    rig.near.start_at(units, 0, units);
    use<Kit, S, Policy>(rig, rig.near.handle());
  }
  RdmaRig<Kit> rig;
  // An adopted queue pair's messages are counted from 0.
  rig.near.start_at(units, 0, 0);
  const QueuePairHandle send = rig.near.handle();
  xio::host::DirectQueues queues;
  queues.name = "test";
  queues.sq = send.sq;
  queues.sq_record = send.sq_record;
  queues.sq_doorbell = send.sq_doorbell;
  queues.side_table = send.side_table;
  queues.side_entries = send.side_entries;
  queues.shape = send.shape;
  queues.send_depth = send.depth;
  queues.send_index = units;
  queues.cq.entries = const_cast<void*>(send.cq.entries);
  queues.cq.count = send.cq.size;
  queues.cq.number = send.cq.number;
  queues.cq.record = send.cq.record;
  queues.cq.producer = send.cq.producer;
  queues.cq.doorbell = send.cq.doorbell;
  queues.first_psn = rig.near.config().first_psn;
  queues.no_receives = "not needed";
  const xio::host::DirectQueuePair<typename Kit::Vendor> adopted(queues);
  use<Kit, S, Policy>(rig, adopted.handle());
}

template <class Kit, Sharing S>
void begin_anywhere() {
  for (const uint64_t units : {uint64_t{0}, uint64_t{7}, uint64_t{10}, uint64_t{0xfffe}, (uint64_t{1} << 32) + 1}) {
    begin_at<Kit, S, xio::Policy<>>(units);
    begin_at<Kit, S, Policy<Deferred<1>>>(units);
    begin_at<Kit, S, Policy<Deferred<4>>>(units);
    begin_at<Kit, S, Policy<Deferred<100>>>(units);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H2 H10 a queue pair that was used before announces what is posted, and nothing else", "",
                        Vendors) {
  begin_anywhere<TestType, Sharing::thread>();
  begin_anywhere<TestType, Sharing::wave>();
  begin_anywhere<TestType, Sharing::block>();
  begin_anywhere<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("H2 a receive queue that was used before has room for as many as a new one", "", Vendors) {
  RdmaRig<TestType> rig;
  const QueuePairHandle send = rig.near.handle();
  const xio::rdma::ReceiveQueueHandle receive = rig.near.receive_handle();
  const auto completions = [](const xio::rdma::CompletionQueueHandle& cq, uint64_t index) {
    xio::host::DirectCompletionRing ring;
    ring.entries = const_cast<void*>(cq.entries);
    ring.count = cq.size;
    ring.number = cq.number;
    ring.record = cq.record;
    ring.producer = cq.producer;
    ring.doorbell = cq.doorbell;
    ring.index = index;
    return ring;
  };
  for (const uint64_t laps : {0u, 2u, 6u, 1u << 31}) {
    CAPTURE(laps);
    xio::host::DirectQueues queues;
    queues.name = "test";
    queues.sq = send.sq;
    queues.sq_record = send.sq_record;
    queues.sq_doorbell = send.sq_doorbell;
    queues.side_table = send.side_table;
    queues.side_entries = send.side_entries;
    queues.shape = send.shape;
    queues.cq = completions(send.cq, 0);
    queues.rq = receive.rq;
    queues.rq_record = receive.record;
    queues.rq_doorbell = receive.doorbell;
    queues.receive_shape = receive.shape;
    queues.receive_depth = receive.depth;
    queues.receive_cq = completions(receive.cq, laps * receive.cq.size);
    const xio::host::DirectQueuePair<typename TestType::Vendor> adopted(queues);
    xio::rdma::ReceiveQueue<typename TestType::Vendor, Sharing::grid> receives(adopted.receive_handle());
    uint32_t posted = 0;
    while (posted <= receive.depth && receives.post(rig.local.at(0, 64), xio::Now{}).submitted()) ++posted;
    CHECK(posted == receive.depth);
  }
}
