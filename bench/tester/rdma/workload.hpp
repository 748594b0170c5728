// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The RDMA workload kernel: each lane keeps a window of operations in flight, a batch for each doorbell and one
/// completion for each batch. Where the other side is in this process too, a lane that has a queue pair for itself
/// posts its receives and checks what arrived there; those that share one do without receives.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>

#include "tester/rdma/judge.hpp"
#include "tester/rdma/responder.hpp"
#include "tester/rdma/work.hpp"

namespace tester {

/// One lane's part of a run. All lanes of a wave call run() together.
/// @tparam Telemetry  xio::telemetry::Steps or Off. A post is Step::enqueue, since the entry is stored as it is built.
template <class Vendor, bool HasInline, xio::Sharing S, class Telemetry = xio::telemetry::Off>
class RdmaLaneWork {
 public:
  static constexpr bool alone = S == xio::Sharing::thread;

  XIO_DEVICE RdmaLaneWork(const RdmaPhase& phase, RdmaLane& lane)
      : phase_(phase),
        lane_(lane),
        judge_(phase, lane),
        queue_(phase.queues[xio::arch::block_index()]),
        receives_(phase.receivers[xio::arch::block_index()]),
        wave_(alone ? 1 : xio::arch::together(0)),
        next_(lane.number) {}

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; any(working()); ++round) {
      const bool submitted = submit();
      const bool completed = complete();
      idle = any(submitted || completed) ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (round % rounds_per_glance == 0) glance();
    }
    lane_.ended = xio::arch::clock();
    leave();
  }

 private:
  // Doorbells are rung by flush() alone, once for each batch.
  using Queue = xio::rdma::QueuePair<Vendor, S, xio::Policy<xio::Deferred<32768>>>;
  using Receives = xio::rdma::ReceiveQueue<Vendor, xio::Sharing::thread>;
  using Step = xio::telemetry::Step;
  static constexpr uint32_t rounds_per_glance = 64;

  /// Those of `lanes` for which the predicate holds.
  XIO_DEVICE uint64_t some(uint64_t lanes, bool predicate) const {
    if constexpr (alone) return predicate;
    return xio::arch::ballot(lanes, predicate);
  }
  XIO_DEVICE bool any(bool predicate) const { return some(wave_, predicate) != 0; }

  /// The queue pair as these lanes use it together.
  XIO_DEVICE decltype(auto) queue_of([[maybe_unused]] uint64_t lanes) {
    if constexpr (alone) {
      return (queue_);
    } else {
      return Queue(queue_.handle(), lanes);
    }
  }

  XIO_DEVICE RdmaSlot& slot(uint64_t index) const { return lane_.slots[index % phase_.depth]; }
  XIO_DEVICE uint64_t place(uint64_t index) const { return lane_.offset + index % phase_.depth * phase_.place_bytes; }
  XIO_DEVICE uint64_t far_place(uint64_t index) const {
    return lane_.far_offset + index % phase_.far_places * phase_.place_bytes;
  }
  XIO_DEVICE bool has_both_sides() const { return phase_.side == RdmaSide::both; }
  /// Whether there is a receive to be posted and looked at here.
  XIO_DEVICE bool takes_receive() const {
    return alone && has_both_sides() && (phase_.immediate || phase_.verb == RdmaVerb::send);
  }

  XIO_DEVICE bool working() const {
    if (lane_.gave_up) return false;
    return head_ != tail_ || left() != 0;
  }

  /// Operations that were not submitted yet.
  XIO_DEVICE uint64_t left() const {
    if (stopping_ || lane_.gave_up) return 0;
    if (phase_.repeat) return ~uint64_t{0};
    return next_ < phase_.operations ? (phase_.operations - 1 - next_) / phase_.stride + 1 : 0;
  }

  // Submission.

  /// How many operations leave now: a batch, or nothing while one does not fit or the other side has no receives.
  XIO_DEVICE uint32_t share() const {
    const uint32_t count = fitting_batch();
    if (!alone || count == 0 || phase_.receives == 0 || has_both_sides()) return count;
    const uint64_t posted = xio::arch::load<xio::arch::Scope::system>(credits());
    return posted - lane_.messages < messages_of(count) ? 0 : count;
  }

  /// Receives that the other side has posted since the queue pair was made.
  XIO_DEVICE const uint64_t* credits() const {
    return reinterpret_cast<const uint64_t*>(phase_.near + phase_.near_credits +
                                             xio::arch::block_index() * rdma_credit_bytes);
  }
  /// Receives that a batch takes.
  XIO_DEVICE uint32_t messages_of(uint32_t count) const { return phase_.notices ? 1 : count; }

  XIO_DEVICE uint32_t fitting_batch() const {
    const uint64_t to_come = left();
    const auto in_flight = static_cast<uint32_t>(tail_ - head_);
    const uint32_t free = phase_.depth - in_flight;
    const bool more = to_come > free;
    const uint32_t fitting = more ? free : static_cast<uint32_t>(to_come);
    if (phase_.batch == 0) return fitting;
    if (fitting >= phase_.batch) return phase_.batch;
    return !more || in_flight == 0 ? fitting : 0;
  }

  XIO_DEVICE bool submit() {
    const uint32_t count = share();
    if (!any(count != 0)) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (!stage(tail_ + i, tail_ + count)) return true;
    }
    const uint64_t before = doorbells_stored();
    if (phase_.coarse_timing) posted_at_ = xio::arch::clock();
    uint32_t done = 0;
    while (const uint64_t lanes = some(wave_, done < count && !stopping_)) {
      if (done < count && !stopping_) {
        ++done;
        post(done == count && !phase_.notices, lanes);
      }
    }
    if constexpr (alone) {
      if (phase_.notices && !stopping_) close_batch(count);
    }
    const uint64_t ringing = Telemetry::start();
    queue_.flush();
    telemetry_.stop(Step::sq_doorbell, ringing);
    if (alone || xio::arch::rank_in(wave_) == 0) {
      lane_.doorbells += doorbells_stored() - before;
      ++lane_.batches;
    }
    if (count == 0) return false;
    lane_.messages += messages_of(count);
    waiting_since_ = 0;
    return true;
  }

  /// Prepares an operation's data, and the receive that it will take. False where there is no room for that.
  XIO_DEVICE bool stage(uint64_t index, uint64_t batch_end) {
    RdmaSlot& it = slot(index);
    it.number = next_;
    it.batch_end = batch_end;
    it.notice = xio::Token{};
    next_ += phase_.stride;
    if (phase_.verb == RdmaVerb::fetch_add) {
      it.expected = sum_;
      sum_ += addend_of(phase_, it.number);
    } else if (phase_.check && phase_.verb != RdmaVerb::read) {
      fill_message(phase_.content, phase_.near + place(index), it.number, phase_.bytes);
    } else if (phase_.check && has_both_sides()) {
      fill_message(phase_.content, phase_.far + far_place(index), it.number, phase_.bytes);
    } else if (phase_.check) {
      // The other process has filled each place once: data of the last lap would pass for new data.
      for (uint32_t i = 0; i < phase_.bytes; ++i) phase_.near[place(index) + i] = rdma_untouched;
    }
    if constexpr (!alone) return true;
    if (!takes_receive()) return true;
    // Writes with immediate data take a receive, but not its memory.
    it.receive = phase_.verb == RdmaVerb::send && phase_.bytes != 0
                     ? receives_.post(phase_.receiving.at(far_place(index), phase_.bytes), until())
                     : receives_.post(xio::rdma::NoPayload{}, until());
    if (it.receive.submitted()) return true;
    judge_.fail(it.receive.status, it.number);
    stopping_ = true;
    return false;
  }

  /// One operation of each of `lanes`.
  XIO_DEVICE void post(bool signaled, uint64_t lanes) {
    RdmaSlot& it = slot(tail_);
    const uint64_t far = phase_.verb == RdmaVerb::fetch_add ? lane_.far_offset : far_place(tail_);
    xio::rdma::Work work = work_of(phase_, it.number, far);
    work.flags = signaled ? xio::rdma::work_flag::signaled : 0;
    it.started = phase_.coarse_timing ? posted_at_ : xio::arch::clock();
    // As fetch_add() of the queue pair does, which is not used for its choice of flags.
    const bool refused = phase_.verb == RdmaVerb::fetch_add && !phase_.remote.atomics;
    const uint64_t posting = Telemetry::start();
    it.token = refused ? xio::Token::refused(xio::Status::unsupported)
                       : hand_over(work, {it.started + phase_.deadline_ticks}, lanes);
    telemetry_.stop(Step::enqueue, posting);
    if (!it.token.submitted()) {
      judge_.fail(it.token.status, it.number);
      stopping_ = true;
      return;
    }
    ++lane_.submitted;
    ++tail_;
  }

  /// Tells the other side of the batch whose last operation was posted just now: writes alone are silent there.
  XIO_DEVICE void close_batch(uint32_t count) {
    RdmaSlot& last = slot(tail_ - 1);
    xio::rdma::Work work;
    work.operation = xio::rdma::Operation::put_immediate;
    work.flags = xio::rdma::work_flag::signaled;
    work.immediate = count;
    work.remote = phase_.remote.base;
    work.rkey = phase_.remote.rkey;
    last.notice = queue_.submit(work, xio::rdma::NoPayload{}, until());
    if (!last.notice.submitted()) stopping_ = true;
  }

  XIO_DEVICE xio::Token hand_over(const xio::rdma::Work& work, xio::Deadline deadline, uint64_t lanes) {
    decltype(auto) queue = queue_of(lanes);
    if (phase_.bytes == 0) return queue.submit(work, xio::rdma::NoPayload{}, deadline);
    if constexpr (HasInline) {
      if (phase_.inline_data)
        return queue.submit(work, xio::rdma::InlineBytes{phase_.near + place(tail_), phase_.bytes}, deadline);
    }
    const xio::RegionSpan from = span(phase_.local, tail_);
    return queue.submit(work, xio::rdma::OneSge{{from.address, from.length, from.key}}, deadline);
  }

  // Completion.

  /// A lane's operations end in the order in which they were posted. Returns whether any did.
  XIO_DEVICE bool complete() {
    const uint64_t before = head_;
    bool looking = head_ != tail_;
    while (const uint64_t lanes = some(wave_, looking)) {
      if (looking) looking = advance(lanes) && head_ != tail_;
    }
    return head_ != before;
  }

  /// Of each of `lanes` the oldest operation. False where it has not ended yet.
  XIO_DEVICE bool advance(uint64_t lanes) {
    bool over = head_ < ended_;
    const uint64_t asking = some(lanes, !over);
    if (!over) over = has_ended(asking);
    const uint64_t ending = some(lanes, over);
    if (!over || !finish(head_, ending)) return false;
    ++head_;
    return true;
  }

  /// Whether the oldest operation of each of `lanes` has ended: its batch's last one alone has a completion.
  XIO_DEVICE bool has_ended(uint64_t lanes) {
    const uint64_t end = slot(head_).batch_end < tail_ ? slot(head_).batch_end : tail_;
    const RdmaSlot& last = slot(end - 1);
    const uint64_t looking = Telemetry::start();
    const xio::Status status = queue_of(lanes).test(last.notice.submitted() ? last.notice : last.token);
    telemetry_.stop(Step::cq_poll, looking);
    if (status == xio::Status::would_block) return false;
    ended_ = end;
    ended_at_ = 0;
    all_right_ = status.is_ok();
    return true;
  }

  /// Of an operation that has ended. The message that closed its batch counts as a part of the last one.
  XIO_DEVICE xio::Status outcome_of(const RdmaSlot& it, uint64_t lanes) {
    const xio::Status status = queue_of(lanes).test(it.token);
    if constexpr (!alone) return status;
    return status.is_ok() && it.notice.submitted() ? queue_.test(it.notice) : status;
  }

  /// One operation of each of `lanes`. False where the receiving side has not seen it yet.
  XIO_DEVICE bool finish(uint64_t index, uint64_t lanes) {
    RdmaSlot& it = slot(index);
    const uint64_t asking = some(lanes, !all_right_);
    xio::Status status = all_right_ ? xio::Status(xio::Status::ok) : outcome_of(it, asking);
    xio::rdma::Received received;
    if constexpr (alone) {
      if (status.is_ok() && takes_receive()) {
        received = receives_.test(it.receive);
        if (received.status == xio::Status::would_block) {
          ended_at_ = 0;
          return false;
        }
        status = received.status;
        ++lane_.received;
      }
    }
    if (!phase_.coarse_timing || ended_at_ == 0) ended_at_ = xio::arch::clock();
    if (status.is_ok()) {
      ++lane_.completed;
      lane_.latency->record(ended_at_ - it.started);
      if (phase_.check) check(index, it, received);
    } else {
      // What follows on this queue pair is flushed.
      judge_.fail(status, it.number);
      stopping_ = true;
    }
    return true;
  }

  XIO_DEVICE void check(uint64_t index, const RdmaSlot& it, const xio::rdma::Received& received) {
    if (phase_.verb == RdmaVerb::fetch_add) {
      ++lane_.checked;
      const uint64_t found = *reinterpret_cast<const uint64_t*>(phase_.near + place(index));
      if (found != it.expected) judge_.wrong({it.number, {found, it.expected}, RdmaFaultKind::sum, 0});
      return;
    }
    if (phase_.verb == RdmaVerb::read) {
      ++lane_.checked;
      // In another process each place holds the data of the first operation that it is for.
      const uint64_t holder = has_both_sides() ? it.number : lane_.number + index % phase_.far_places * phase_.stride;
      return judge_.compare(phase_.near + place(index), holder, it.number);
    }
    if (!has_both_sides()) return;
    ++lane_.checked;
    if (judge_.announced(it.number, received)) judge_.compare(phase_.far + far_place(index), it.number, it.number);
  }

  // Now and then.

  XIO_DEVICE void glance() {
    const uint64_t now = xio::arch::clock();
    report();
    if (phase_.duration_ticks != 0 && now - lane_.began >= phase_.duration_ticks) stopping_ = true;
    if (xio::arch::load<xio::arch::Scope::system>(phase_.stop) != 0) stopping_ = true;
    // A responder that has ended before us has given up.
    if (!has_both_sides() && xio::arch::load<xio::arch::Scope::system>(phase_.peer_done) != 0) stopping_ = true;
    if (head_ == tail_) {
      // Nothing leaves while the other side has no receives.
      if (waiting_since_ == 0) waiting_since_ = now;
      if (now - waiting_since_ > phase_.deadline_ticks) lane_.gave_up = 1;
      return;
    }
    const uint64_t since = slot(head_).started;
    if (now > since && now - since > phase_.deadline_ticks) lane_.gave_up = 1;
  }

  XIO_DEVICE void report() {
    xio::arch::store<xio::arch::Scope::system>(lane_.progress, lane_.completed + lane_.failed);
  }

  XIO_DEVICE void leave() {
    for (; head_ != tail_; ++head_) judge_.fail(xio::Status::timed_out, slot(head_).number);
    lane_.sum = sum_;
    if constexpr (Telemetry::enabled) lane_.steps = telemetry_;
    if (has_both_sides() && phase_.verb == RdmaVerb::fetch_add && phase_.check && lane_.failed == 0) {
      const uint64_t found = *reinterpret_cast<const uint64_t*>(phase_.far + lane_.far_offset);
      if (found != sum_) judge_.wrong({next_, {found, sum_}, RdmaFaultKind::sum, 0});
    }
    report();
  }

  XIO_DEVICE xio::Deadline until() const { return {xio::arch::clock() + phase_.deadline_ticks}; }
  XIO_DEVICE xio::RegionSpan span(const xio::Region& memory, uint64_t index) const {
    return memory.at(place(index), phase_.bytes);
  }

  const RdmaPhase& phase_;
  RdmaLane& lane_;
  RdmaJudge judge_;
  Telemetry telemetry_;
  Queue queue_;
  Receives receives_;
  const uint64_t wave_;
  uint64_t next_;               // operation that is staged next
  uint64_t head_ = 0;           // the oldest operation in flight, among the lane's own
  uint64_t tail_ = 0;           // the next one to be posted
  uint64_t ended_ = 0;          // those before it have ended on the requesting side
  uint64_t posted_at_ = 0;      // coarse timing: tick before the first post of a batch
  uint64_t ended_at_ = 0;       // tick at which an operation was found ended; coarse timing: of its batch, 0: not read
  uint64_t waiting_since_ = 0;  // tick at which nothing was in flight; 0: something was posted since
  uint64_t sum_ = 0;            // fetch-add: of what was added
  bool all_right_ = false;      // those that have ended did so without an error
  bool stopping_ = false;
};

/// The kernel: block `b` drives queue pair `b`, of which it may have the far side in another process.
/// S is xio::Sharing::thread or grid, Telemetry as for RdmaLaneWork.
template <class Vendor, bool HasInline, xio::Sharing S, class Telemetry = xio::telemetry::Off>
XIO_DEVICE void rdma_workload(const RdmaPhase& phase) {
  RdmaLane& lane = phase.lanes[uint64_t{xio::arch::block_index()} * phase.lanes_per_queue + xio::arch::thread_index()];
  RdmaLaneWork<Vendor, HasInline, S, Telemetry>(phase, lane).run();
}

/// The same for the side that receives; one thread for each queue pair.
template <class Vendor>
XIO_DEVICE void rdma_responder(const RdmaPhase& phase) {
  RdmaResponderWork<Vendor>(phase, phase.lanes[xio::arch::block_index()]).run();
}

}  // namespace tester
