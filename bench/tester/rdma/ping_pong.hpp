// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The ping-pong kernel: the two sides of a queue pair write to each other's memory in turn, and each polls its
/// own memory until the other's write is there. Nothing but the data tells of a write, as in perftest's ib_write_lat.
///
/// The last byte of a message counts: it is different in each of 128 consecutive messages and in both directions. NICs
/// store the last byte of a write last.

#include <xio/device/rdma/queue_pair.hpp>

#include "tester/measure/lane_loop.hpp"
#include "tester/rdma/judge.hpp"
#include "tester/rdma/work.hpp"

namespace tester {

/// One lane's part of a run, on the requesting side, which begins, or on the other one.
template <class Vendor, bool HasInline>
class RdmaPingPong : LaneLoop<RdmaPhase, RdmaLane, xio::telemetry::Off> {
  using Loop = LaneLoop<RdmaPhase, RdmaLane, xio::telemetry::Off>;

 public:
  XIO_DEVICE RdmaPingPong(const RdmaPhase& phase, RdmaLane& lane)
      : Loop(phase, lane, operations_of(phase, lane.number)),
        judge_(phase, lane),
        queue_(phase.queues[xio::arch::block_index()]),
        memory_(lane.responds ? phase.far + lane.far_offset : phase.near + lane.offset),
        local_(lane.responds ? phase.receiving.base + lane.far_offset : phase.local.base + lane.offset),
        local_key_(lane.responds ? phase.receiving.key : phase.local.key),
        remote_(lane.responds && phase.side == RdmaSide::both ? phase.returning : phase.remote),
        remote_offset_(lane.responds ? lane.offset : lane.far_offset) {}

  [[gnu::flatten]] XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    since_ = lane_.began;
    while (left_ != 0 && (lane_.responds || !stopping_)) {
      if (!(lane_.responds ? receive() && post() : post() && receive())) break;
      ++lane_.messages;
      next_ += phase_.stride;
      if (!phase_.repeat) --left_;
    }
    record();
    if (lane_.failed == 0 && lane_.gave_up == 0) finish(last_);
    lane_.ended = xio::arch::clock();
    if constexpr (!Queue::stored_each_time) queue_.end();
    Loop::close_record();
    xio::arch::store<xio::arch::Scope::system>(&lane_.over, 1u);
  }

 private:
  using Holder = typename xio::Choose<Vendor::doorbell_stride == 0, xio::rdma::InRegisters, xio::rdma::InMemory>::type;
  using Queue = xio::rdma::QueuePair<Vendor, xio::Sharing::thread, xio::Policy<>, Holder>;

  static constexpr uint32_t polls_per_pause = 8;

  using Loop::lane_;
  using Loop::left_;
  using Loop::next_;
  using Loop::phase_;
  using Loop::stopping_;

  /// Offset of a place: 0 and 1 are for messages that leave, in turn, 2 is for those that arrive.
  XIO_DEVICE uint64_t place(uint32_t index) const { return index * phase_.place_bytes; }
  XIO_DEVICE uint8_t* arriving() const { return memory_ + place(2); }

  /// Last byte of the message in one direction.
  XIO_DEVICE uint8_t mark(bool of_responder) const {
    return static_cast<uint8_t>(2 * lane_.messages + (of_responder ? 2 : 1));
  }

  /// Writes a message to the other side. While it is on its way, records the round trip that has ended, and waits for
  /// the end of the write before it, whose memory the next one takes.
  XIO_DEVICE_INLINE bool post() {
    const uint32_t at = lane_.messages % 2;
    uint8_t* const data = memory_ + place(at);
    if (phase_.check) fill_message(phase_.content, data, next_, phase_.bytes - 1);
    data[phase_.bytes - 1] = mark(lane_.responds);
    xio::rdma::Work work;
    work.operation = xio::rdma::Operation::put;
    work.flags = xio::rdma::work_flag::signaled;
    work.remote = remote_.base + remote_offset_ + place(2);
    work.rkey = remote_.rkey;
    const uint64_t doorbells = doorbells_stored();
    const xio::Token token = submit(work, at, data);
    lane_.doorbells += doorbells_stored() - doorbells;
    if (!token.submitted()) {
      judge_.fail(token.status, next_);
      return false;
    }
    if (!lane_.responds) {
      ++lane_.submitted;
      ++lane_.batches;
    }
    record();
    const xio::Token before = last_;
    last_ = token;
    return finish(before);
  }

  XIO_DEVICE_INLINE xio::Token submit(const xio::rdma::Work& work, uint32_t at, [[maybe_unused]] const uint8_t* data) {
    if constexpr (HasInline) {
      if (phase_.inline_data) return queue_.submit(work, xio::rdma::InlineBytes{data, phase_.bytes}, until());
    }
    return queue_.submit(work, xio::rdma::OneSge{{local_ + place(at), phase_.bytes, local_key_}}, until());
  }

  /// Waits for the end of a write. Returns whether it succeeded, or was never posted.
  XIO_DEVICE bool finish(const xio::Token& token) {
    if (!token.submitted()) return true;
    const xio::Status status = queue_.wait(token, until());
    if (status.is_ok()) return true;
    judge_.fail(status, next_);
    return false;
  }

  /// Polls memory until the other side's message is there. Returns false if it will not come.
  XIO_DEVICE_INLINE bool receive() {
    bool over = false;
    for (uint32_t round = 1; !has_arrived(); ++round) {
      if (over) return false;
      // A pause takes long compared with a poll.
      if (round % polls_per_pause != 0) continue;
      if (round % (polls_per_pause * Loop::rounds_per_glance) == 0) over = !may_arrive();
      xio::arch::pause(round);
    }
    xio::arch::acquire_system();
    const uint64_t now = xio::arch::clock();
    took_ = now - since_;
    waiting_ = !lane_.responds;
    if (phase_.check) check(now);
    since_ = phase_.check ? xio::arch::clock() : now;
    return true;
  }

  /// Records the round trip that has ended, if there is one.
  XIO_DEVICE_INLINE void record() {
    if (!waiting_) return;
    waiting_ = false;
    lane_.latency->record(took_ / 2);
    ++lane_.completed;
    if (lane_.completed % Loop::rounds_per_glance == 0) Loop::check_limits(since_);
  }

  XIO_DEVICE_INLINE bool has_arrived() const {
    const uint32_t last = phase_.bytes - 1;
    const auto* const word = reinterpret_cast<const uint64_t*>(arriving() + (last & ~7u));
    const uint64_t value = xio::arch::load<xio::arch::Scope::system>(word);
    return static_cast<uint8_t>(value >> (8 * (last & 7))) == mark(!lane_.responds);
  }

  /// Whether to go on polling; if not, the caller polls once more.
  XIO_DEVICE bool may_arrive() {
    const uint64_t now = xio::arch::clock();
    Loop::check_limits(now);
    const xio::Status status = last_.submitted() ? queue_.test(last_) : xio::Status(xio::Status::ok);
    if (!status.is_ok() && status != xio::Status::pending) {
      judge_.fail(status, next_);
      return false;
    }
    if (other_side_has_ended()) {
      xio::arch::acquire_system();
      return false;
    }
    if (!Loop::overdue(now, since_)) return true;
    lane_.gave_up = 1;
    if (!lane_.responds) judge_.fail(xio::Status::timed_out, next_);
    return false;
  }

  XIO_DEVICE bool other_side_has_ended() const {
    using xio::arch::Scope;
    if (lane_.partner != nullptr) return xio::arch::load<Scope::system>(&lane_.partner->over) != 0;
    return (xio::arch::load<Scope::system>(phase_.peer_done) | xio::arch::load<Scope::system>(phase_.abandoned)) != 0;
  }

  /// Compares a message that has arrived.
  XIO_DEVICE void check(uint64_t now) {
    const uint32_t bytes = phase_.bytes - 1;
    // A NIC that is software can store the last byte before others. The other side's patience is longer.
    const uint64_t patience = lane_.wrong_count == 0 ? phase_.deadline_ticks / 4 : 0;
    for (uint32_t round = 1; message_difference(phase_.content, arriving(), next_, bytes) < bytes; ++round) {
      if (xio::arch::clock() - now >= patience) break;
      xio::arch::pause(round);
      xio::arch::acquire_system();
    }
    // Each operation counts once, on the side where it ends.
    if (!lane_.responds) ++lane_.checked;
    judge_.compare(arriving(), next_, next_, bytes);
  }

  XIO_DEVICE xio::Deadline until() const { return {since_ + phase_.deadline_ticks}; }

  RdmaJudge judge_;
  Queue queue_;
  uint8_t* const memory_;  // this side's places
  const uint64_t local_;   // their address for the NIC
  const uint32_t local_key_;
  const xio::rdma::RemoteMemory remote_;  // the other side's memory
  const uint64_t remote_offset_;
  xio::Token last_;       // of the last write; the one before it has ended
  uint64_t since_ = 0;    // requester: tick before its last post; responder: after the last arrival
  uint64_t took_ = 0;     // ticks of the last round trip
  bool waiting_ = false;  // that it waits to be recorded
};

/// The kernel: block `b` drives queue pair `b`, one lane each. In one process the responders follow the requesters.
template <class Vendor, bool HasInline>
XIO_DEVICE void rdma_ping_pong(const RdmaPhase& phase) {
  RdmaPingPong<Vendor, HasInline>(phase, phase.lanes[xio::arch::block_index()]).run();
}

}  // namespace tester
