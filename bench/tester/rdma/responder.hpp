// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The responder kernel of two nodes: one thread per queue pair posts receives and checks the data received.
///
/// Receives provide flow control: the requester sends no more messages than receives were posted, whose number the
/// responder writes to the requester's memory. Each receive admits one operation, or a batch if messages close batches,
/// and is posted again only after its data was checked. The responder's memory has places for all operations that the
/// receives admit and for the operations in flight behind them, so that no data is overwritten before it was checked.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>

#include "tester/rdma/judge.hpp"

namespace tester {

/// One lane's part of a run.
template <class Vendor>
class RdmaResponderWork {
 public:
  XIO_DEVICE RdmaResponderWork(const RdmaPhase& phase, RdmaLane& lane)
      : phase_(phase),
        lane_(lane),
        judge_(phase, lane),
        queue_(phase.queues[xio::arch::block_index()]),
        receives_(phase.receivers[xio::arch::block_index()]) {}

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; !over_; ++round) {
      post();
      tell();
      const bool arrived = take();
      idle = arrived ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (idle != 0 || round % rounds_per_glance == 0) glance();
    }
    lane_.ended = xio::arch::clock();
    leave();
  }

 private:
  using Queue = xio::rdma::QueuePair<Vendor, xio::Sharing::thread, xio::Policy<>>;
  using Receives = xio::rdma::ReceiveQueue<Vendor, xio::Sharing::thread>;
  static constexpr uint32_t rounds_per_glance = 64;

  XIO_DEVICE uint64_t place(uint64_t index) const {
    return lane_.far_offset + index % phase_.far_places * phase_.place_bytes;
  }
  XIO_DEVICE uint64_t number(uint64_t index) const { return lane_.number + index * phase_.stride; }

  XIO_DEVICE void post() {
    for (; lane_.messages - lane_.taken < phase_.receives && !over_; ++lane_.messages) {
      // Writes with immediate data consume a receive, but not its memory.
      const bool has_memory = phase_.verb == RdmaVerb::send && phase_.bytes != 0;
      xio::Token& token = lane_.slots[lane_.messages % phase_.receives].receive;
      token = has_memory ? receives_.post(phase_.receiving.at(place(lane_.messages), phase_.bytes), until())
                         : receives_.post(xio::rdma::NoPayload{}, until());
      if (!token.submitted()) return give_up(token.status);
    }
  }

  /// Writes the number of receives to the requester when half of them are new.
  XIO_DEVICE void tell() {
    if (over_ || lane_.messages - told_ < (phase_.receives + 1) / 2 || phase_.receives == 0) return;
    const uint64_t offset = xio::arch::block_index() * rdma_credit_bytes;
    auto* const word = reinterpret_cast<uint64_t*>(phase_.far + phase_.far_credits + offset);
    // The last message may still be in flight: then it may already carry this number.
    xio::arch::store<xio::arch::Scope::system>(word, lane_.messages);
    const xio::Token token = queue_.put(phase_.remote.at(phase_.near_credits + offset, sizeof *word),
                                        phase_.receiving.at(phase_.far_credits + offset, sizeof *word), until());
    if (!token.submitted()) return give_up(token.status);
    last_message_ = token;
    told_ = lane_.messages;
  }

  /// Processes a completed receive; returns whether there was one.
  XIO_DEVICE bool take() {
    if (lane_.taken == lane_.messages || over_) return false;
    const xio::rdma::Received received = receives_.test(lane_.slots[lane_.taken % phase_.receives].receive);
    if (received.status == xio::Status::pending) return false;
    if (!received.status.is_ok()) {
      give_up(received.status);
      return true;
    }
    ++lane_.received;
    if (phase_.notices) {
      for (uint32_t i = 0; i < received.immediate; ++i) look_at(received, arrived_);
    } else {
      // Sends arrive in the memory of their receive, posted possibly in an earlier run; writes start anew with each
      // run.
      look_at(received, phase_.verb == RdmaVerb::send ? lane_.taken : arrived_);
    }
    ++lane_.taken;
    return true;
  }

  /// Checks the next operation that arrived, whose data is in the place of `index`.
  XIO_DEVICE void look_at(const xio::rdma::Received& received, uint64_t index) {
    const uint64_t operation = number(arrived_++);
    if (!phase_.check) return;
    ++lane_.checked;
    if (judge_.announced(operation, received)) judge_.compare(phase_.far + place(index), operation, operation);
  }

  XIO_DEVICE void give_up(xio::Status status) {
    judge_.fail(status, number(arrived_));
    over_ = true;
  }

  XIO_DEVICE void glance() {
    xio::arch::store<xio::arch::Scope::system>(lane_.progress, arrived_);
    if (xio::arch::load<xio::arch::Scope::system>(phase_.abandoned) != 0) {
      over_ = true;
      return;
    }
    if (xio::arch::load<xio::arch::Scope::system>(phase_.peer_done) == 0) return;
    xio::arch::acquire_system();
    const uint64_t wanted = phase_.totals[xio::arch::block_index()].completed;
    if (phase_.receives == 0 || arrived_ >= wanted) {
      over_ = true;
      return;
    }
    // Operations that the requester saw completed must arrive within the deadline.
    const uint64_t now = xio::arch::clock();
    if (known_since_ == 0) known_since_ = now;
    if (now - known_since_ <= phase_.deadline_ticks) return;
    lane_.gave_up = 1;
    over_ = true;
  }

  XIO_DEVICE void leave() {
    // The requester's memory exists until this side has ended, too.
    const bool abandoned = xio::arch::load<xio::arch::Scope::system>(phase_.abandoned) != 0;
    if (last_message_.submitted() && !abandoned) {
      const xio::Status status = queue_.wait(last_message_, until());
      if (!status.is_ok()) judge_.fail(status, number(arrived_));
    }
    if (phase_.verb != RdmaVerb::fetch_add || !phase_.check) return;
    if (abandoned) return;
    const RdmaTotals& totals = phase_.totals[xio::arch::block_index()];
    const uint64_t found = *reinterpret_cast<const uint64_t*>(phase_.far + lane_.far_offset);
    if (totals.failed == 0 && found != totals.sum)
      judge_.wrong({number(totals.completed), {found, totals.sum}, RdmaFaultKind::sum, 0});
  }

  XIO_DEVICE xio::Deadline until() const { return {xio::arch::clock() + phase_.deadline_ticks}; }

  const RdmaPhase& phase_;
  RdmaLane& lane_;
  RdmaJudge judge_;
  Queue queue_;
  Receives receives_;
  xio::Token last_message_;
  uint64_t arrived_ = 0;      // operations that have arrived
  uint64_t told_ = 0;         // receives announced to the requester
  uint64_t known_since_ = 0;  // tick at which the totals were first available
  bool over_ = false;
};

}  // namespace tester
