// SPDX-License-Identifier: MIT

/// @file
/// @brief Rows of messages: sent in the order of their numbers, a few at a time, into receives that are posted in rows.

#include <xio/device/rdma/row.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint32_t row_bytes = 64;
constexpr uint32_t messages = 1000;
constexpr uint32_t ring_mask = 31;  // messages in each ring, less one

using AllForms = Joined<Forms, Collapsed>;

/// Where message `index` of a ring lies, and the word that it holds throughout.
uint64_t* message_at(const Region& memory, uint64_t index) {
  return reinterpret_cast<uint64_t*>(memory.base + (index & ring_mask) * row_bytes);
}
bool holds(const uint64_t* message, uint64_t index) {
  for (uint32_t i = 0; i < row_bytes / 8; ++i) {
    if (message[i] != mix(index, i)) return false;
  }
  return true;
}

/// A kernel that sends all messages to itself.
template <class Kit, Sharing S>
struct Loop {
  using Vendor = typename Kit::Vendor;
  using SendRow = xio::rdma::SendRow<Vendor, S, Policy<>, row_bytes>;
  using ReceiveRow = xio::rdma::ReceiveRow<Vendor, S, Policy<>, row_bytes>;

  RdmaRig<Kit> rig;
  QueuePairHandle sends = rig.near.handle();
  xio::rdma::ReceiveQueueHandle receives = rig.far.receive_handle();
  const xio::rdma::MessageRing from{rig.local.base, rig.local.key, ring_mask};
  const xio::rdma::MessageRing to{rig.far_local.base, rig.far_local.key, ring_mask};
  uint64_t claims = 0;
  uint64_t rings = 0;
  uint64_t failures = 0;

  /// Takes messages that have arrived, in order, and posts their receives again. Returns the number of the next one.
  uint64_t take(xio::Group<S> group, uint64_t head) {
    const xio::rdma::CompletionReader<Vendor> completions(receives.cq);
    const uint64_t mine = head + group.rank();
    const uint64_t word = completions.observe(mine);
    const uint32_t taken = group.leading(group.rank() < 8 && completions.is_new(word, head, group.rank()));
    if (group.rank() < taken) {
      const xio::rdma::WorkCompletion completion = completions.template read<true>(word, mine);
      const bool good = completion.kind == xio::rdma::CompletionKind::receive && completion.status.is_ok() &&
                        completion.bytes == row_bytes && holds(message_at(rig.far_local, mine), mine);
      if (!good) __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
    }
    group.converge();
    if (taken == 0) return head;
    completions.acknowledge(group, head + taken);
    ReceiveRow(receives).post(group, to, head + ring_mask, head + taken + ring_mask);
    return head + taken;
  }

  void run() {
    const auto group = xio::Group<S>::of_all(0, nullptr);
    ReceiveRow(receives).post(group, to, 0, ring_mask);
    uint64_t sent = 0;
    uint64_t taken = 0;
    for (const Deadline until = soon(); taken != messages;) {
      expect(!until.passed(), "messages arrive", __LINE__);
      uint64_t end = sent + 1 + mix(sent, 1) % 12;
      if (end > messages) end = messages;
      if (group.leads()) __atomic_store_n(&claims, end, __ATOMIC_RELAXED);
      group.converge();
      const SendRow row(sends, claims);
      // No message is overwritten before it was taken, and no receive is missing.
      if (sent != end && end <= row.limit() && end <= taken + ring_mask) {
        for (uint64_t index = sent + group.rank(); index < end; index += group.lanes()) {
          for (uint32_t i = 0; i < row_bytes / 8; ++i) message_at(rig.local, index)[i] = mix(index, i);
          row.store(from, index);
        }
        group.converge();
        xio::protocol::release_entries<Policy<>>();
        if (group.leads()) row.ring(from, end);
        if (group.leads()) ++rings;
        sent = end;
      }
      group.converge();
      row.drain(group);
      expect(!row.is_dead(), "the queue pair works", __LINE__);
      taken = take(group, taken);
    }
  }
};

template <class Kit, Sharing S>
void check_loop(uint32_t lanes) {
  CAPTURE(static_cast<int>(S), lanes);
  Loop<Kit, S> loop;
  loop.rig.running();
  xio::simt::launch(Grid::of_waves(1, 1, lanes), [&] { loop.run(); });
  loop.rig.nic.stop();
  const auto near = loop.rig.near.model().statistics();
  CHECK(loop.failures == 0);
  CHECK(near.operations == messages);
  CHECK(near.signaled == uint64_t{messages} * Loop<Kit, S>::SendRow::units / loop.sends.signal_every);
  CHECK(near.doorbells <= loop.rings);
  CHECK(loop.rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("row: messages are sent and received in order, with few completions", "", AllForms) {
  check_loop<TestType, Sharing::grid>(64);
}
TEST_CASE("row: one thread or one wave has the queue pairs for itself -> the same") {
  check_loop<Bnxt, Sharing::thread>(1);
  check_loop<Mlx5, Sharing::wave>(64);
}

TEMPLATE_LIST_TEST_CASE("row: an unreachable peer ends it, and the cause is kept", "", Vendors) {
  Loop<TestType, Sharing::grid> loop;
  loop.rig.near.model().connect(0x303);
  loop.claims = 1;
  const typename decltype(loop)::SendRow row(loop.sends, loop.claims);
  row.store(loop.from, 0);
  row.ring(loop.from, 1);
  settle(loop.rig.nic);
  const xio::Group<Sharing::grid> group(1);
  for (uint32_t i = 0; i < 4; ++i) row.drain(group);
  CHECK(row.first_failure() == Status::retry_exceeded);
}
