// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel of the other one of two nodes: one thread for each queue pair posts receives, and checks what
/// arrived.
///
/// Receives are what holds the requester back: it sends no more than were posted, of which the responder tells it by
/// writing their number to its memory. Each stands for an operation, or for a batch where a message closes it, and is
/// posted again only when what it brought was checked. The responder's memory has places for all operations that the
/// receives let through and for those in flight behind them, so that nothing is overwritten before it was looked at.

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
      // Writes with immediate data take a receive, but not its memory.
      const bool has_memory = phase_.verb == RdmaVerb::send && phase_.bytes != 0;
      xio::Token& token = lane_.slots[lane_.messages % phase_.receives].receive;
      token = has_memory ? receives_.post(phase_.receiving.at(place(lane_.messages), phase_.bytes), until())
                         : receives_.post(xio::rdma::NoPayload{}, until());
      if (!token.submitted()) return give_up(token.status);
    }
  }

  /// Tells the requester how many receives there are, whenever half of them are news to it.
  XIO_DEVICE void tell() {
    if (over_ || lane_.messages - told_ < (phase_.receives + 1) / 2 || phase_.receives == 0) return;
    const uint64_t offset = xio::arch::block_index() * rdma_credit_bytes;
    auto* const word = reinterpret_cast<uint64_t*>(phase_.far + phase_.far_credits + offset);
    // The last message may still be under way: then it brings this number already.
    xio::arch::store<xio::arch::Scope::system>(word, lane_.messages);
    const xio::Token token = queue_.put(phase_.remote.at(phase_.near_credits + offset, sizeof *word),
                                        phase_.receiving.at(phase_.far_credits + offset, sizeof *word), until());
    if (!token.submitted()) return give_up(token.status);
    last_message_ = token;
    told_ = lane_.messages;
  }

  /// Whether anything has arrived.
  XIO_DEVICE bool take() {
    if (lane_.taken == lane_.messages || over_) return false;
    const xio::rdma::Received received = receives_.test(lane_.slots[lane_.taken % phase_.receives].receive);
    if (received.status == xio::Status::would_block) return false;
    if (!received.status.is_ok()) {
      give_up(received.status);
      return true;
    }
    ++lane_.received;
    if (phase_.notices) {
      for (uint32_t i = 0; i < received.immediate; ++i) look_at(received, arrived_);
    } else {
      // A receive of an earlier run has memory of its own; writes begin anew with each run.
      look_at(received, phase_.verb == RdmaVerb::send ? lane_.taken : arrived_);
    }
    ++lane_.taken;
    return true;
  }

  /// The next operation has arrived, with data in the place of `index`.
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
    // What the requester saw completed has been here for some time.
    const uint64_t now = xio::arch::clock();
    if (known_since_ == 0) known_since_ = now;
    if (now - known_since_ <= phase_.deadline_ticks) return;
    lane_.gave_up = 1;
    over_ = true;
  }

  XIO_DEVICE void leave() {
    // The requester's memory is there until this side has ended too.
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
  uint64_t arrived_ = 0;      // operations
  uint64_t told_ = 0;         // receives that the requester knows of
  uint64_t known_since_ = 0;  // tick at which the totals were there first
  bool over_ = false;
};

}  // namespace tester
