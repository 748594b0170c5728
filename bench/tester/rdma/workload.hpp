// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The RDMA workload kernel: each lane keeps a window of operations in flight, with one doorbell and one
/// completion per batch. If the other side is in the same process, a lane with its own queue pair also posts the
/// receives and checks the data received; lanes that share a queue pair use no receives.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>

#include "tester/rdma/responder.hpp"
#include "tester/rdma/solo_work.hpp"

namespace tester {

/// One lane's part of a run. All lanes of a wave call run() together.
/// @tparam Telemetry  xio::telemetry::Steps or Off. A post is Step::enqueue: it builds and stores the entry.
template <class Vendor, bool HasInline, xio::Sharing S, class Telemetry = xio::telemetry::Off>
class RdmaLaneWork : RdmaLaneBase<Telemetry> {
  using Base = RdmaLaneBase<Telemetry>;

 public:
  static constexpr bool alone = S == xio::Sharing::thread;

  XIO_DEVICE RdmaLaneWork(const RdmaPhase& phase, RdmaLane& lane)
      : Base(phase, lane),
        queue_(phase.queues[queue_of_lane(phase)]),
        receives_(phase.receivers[queue_of_lane(phase)]),
        wave_(alone ? 1 : xio::arch::together(0)) {}

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; any(working()); ++round) {
      const bool submitted = submit();
      const bool completed = complete();
      idle = any(submitted || completed) ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (round % Base::rounds_per_glance == 0) Base::glance();
    }
    lane_.ended = xio::arch::clock();
    finish_sum();
    Base::leave();
  }

 private:
  // Only ring() rings doorbells, once per batch.
  using Queue = xio::rdma::QueuePair<Vendor, S, xio::Policy<xio::Deferred<32768>>>;
  using Receives = xio::rdma::ReceiveQueue<Vendor, xio::Sharing::thread>;
  using typename Base::Step;

  using Base::all_right_;
  using Base::ended_;
  using Base::has_both_sides;
  using Base::judge_;
  using Base::lane_;
  using Base::left_;
  using Base::next_;
  using Base::phase_;
  using Base::slot;
  using Base::stopping_;
  using Base::telemetry_;
  using Base::waiting_since_;
  using Base::window_;
  using Base::working;

  /// Mask of the `lanes` for which the predicate holds.
  XIO_DEVICE uint64_t some(uint64_t lanes, bool predicate) const {
    if constexpr (alone) return predicate;
    return xio::arch::ballot(lanes, predicate);
  }
  XIO_DEVICE bool any(bool predicate) const { return some(wave_, predicate) != 0; }

  /// The queue pair, for joint use by `lanes`.
  XIO_DEVICE decltype(auto) queue_of([[maybe_unused]] uint64_t lanes) {
    if constexpr (alone) {
      return (queue_);
    } else {
      return Queue(queue_.handle(), lanes);
    }
  }

  XIO_DEVICE uint64_t place(uint64_t index) const {
    return lane_.offset + window_.near_index(index) * phase_.place_bytes;
  }
  XIO_DEVICE uint64_t far_place(uint64_t index) const {
    return lane_.far_offset + window_.far_index(index) * phase_.place_bytes;
  }
  /// Whether this lane posts and checks a receive per operation.
  XIO_DEVICE bool takes_receive() const {
    return alone && has_both_sides() && (phase_.immediate || phase_.verb == RdmaVerb::send);
  }

  // Submission.

  /// Number of operations to submit now: a batch, or 0 while it does not fit or the other side has no receives.
  XIO_DEVICE uint32_t share() const {
    const uint32_t count = Base::fitting_batch();
    if (!alone || count == 0 || phase_.receives == 0 || has_both_sides()) return count;
    const uint64_t posted = xio::arch::load<xio::arch::Scope::system>(credits());
    return posted - lane_.messages < messages_of(count) ? 0 : count;
  }

  /// Counter of receives posted by the other side since the queue pair's creation.
  XIO_DEVICE const uint64_t* credits() const {
    return reinterpret_cast<const uint64_t*>(phase_.near + phase_.near_credits +
                                             xio::arch::block_index() * rdma_credit_bytes);
  }
  /// Receives that a batch consumes.
  XIO_DEVICE uint32_t messages_of(uint32_t count) const { return phase_.notices ? 1 : count; }

  XIO_DEVICE bool submit() {
    const uint32_t count = share();
    if (!any(count != 0)) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (!stage(window_.tail + i, window_.tail + count)) return true;
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
    queue_.ring();
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

  /// Prepares an operation's data, and the receive that it will consume. Returns false if the receive cannot be posted.
  XIO_DEVICE bool stage(uint64_t index, uint64_t batch_end) {
    RdmaSlot& it = slot(index);
    it.number = next_;
    it.batch_end = batch_end;
    it.notice = xio::Token{};
    next_ += phase_.stride;
    if (!phase_.repeat) --left_;
    if (phase_.verb == RdmaVerb::fetch_add) {
      it.expected = sum_;
      sum_ += addend_of(phase_, it.number);
    } else if (phase_.check && phase_.verb != RdmaVerb::read) {
      fill_message(phase_.content, phase_.near + place(index), it.number, phase_.bytes);
    } else if (phase_.check && has_both_sides()) {
      fill_message(phase_.content, phase_.far + far_place(index), it.number, phase_.bytes);
    } else if (phase_.check) {
      // The other process fills each place only once: data of the previous lap would pass for new data.
      for (uint32_t i = 0; i < phase_.bytes; ++i) phase_.near[place(index) + i] = rdma_untouched;
    }
    if constexpr (!alone) return true;
    if (!takes_receive()) return true;
    // Writes with immediate data consume a receive, but not its memory.
    it.receive = phase_.verb == RdmaVerb::send && phase_.bytes != 0
                     ? receives_.post(phase_.receiving.at(far_place(index), phase_.bytes), until())
                     : receives_.post(xio::rdma::NoPayload{}, until());
    if (it.receive.submitted()) return true;
    judge_.fail(it.receive.status, it.number);
    stopping_ = true;
    return false;
  }

  /// Posts one operation of each of `lanes`.
  XIO_DEVICE void post(bool signaled, uint64_t lanes) {
    RdmaSlot& it = slot(window_.tail);
    const uint64_t far = phase_.verb == RdmaVerb::fetch_add ? lane_.far_offset : far_place(window_.tail);
    xio::rdma::Work work = work_of(phase_, it.number, far);
    work.flags = signaled ? xio::rdma::work_flag::signaled : 0;
    it.started = phase_.coarse_timing ? posted_at_ : xio::arch::clock();
    // The check of QueuePair::fetch_add(), which is not used because it chooses the flags itself.
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
    ++window_.tail;
  }

  /// Announces the batch just posted to the other side, which is not notified of plain writes.
  XIO_DEVICE void close_batch(uint32_t count) {
    RdmaSlot& last = slot(window_.tail - 1);
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
        return queue.submit(work, xio::rdma::InlineBytes{phase_.near + place(window_.tail), phase_.bytes}, deadline);
    }
    const xio::RegionSpan from = span(phase_.local, window_.tail);
    return queue.submit(work, xio::rdma::OneSge{{from.address, from.length, from.key}}, deadline);
  }

  // Completion.

  /// Completes operations, in posting order per lane. Returns whether any completed.
  XIO_DEVICE bool complete() {
    const uint64_t before = window_.head;
    bool looking = !window_.empty();
    while (const uint64_t lanes = some(wave_, looking)) {
      if (looking) looking = advance(lanes) && !window_.empty();
    }
    return window_.head != before;
  }

  /// Completes the oldest operation of each of `lanes`. Returns false if it has not ended yet.
  XIO_DEVICE bool advance(uint64_t lanes) {
    bool over = window_.head < ended_;
    const uint64_t asking = some(lanes, !over);
    if (!over) over = has_ended(asking);
    const uint64_t ending = some(lanes, over);
    if (!over || !finish(window_.head, ending)) return false;
    window_.pop();
    return true;
  }

  /// Whether the oldest operation of each of `lanes` has ended: only the last operation of its batch has a completion.
  XIO_DEVICE bool has_ended(uint64_t lanes) {
    const uint64_t end = slot(window_.head).batch_end < window_.tail ? slot(window_.head).batch_end : window_.tail;
    const RdmaSlot& last = slot(end - 1);
    const uint64_t looking = Telemetry::start();
    const xio::Status status = queue_of(lanes).test(last.notice.submitted() ? last.notice : last.token);
    telemetry_.stop(Step::cq_poll, looking);
    if (status == xio::Status::pending) return false;
    ended_ = end;
    ended_at_ = 0;
    all_right_ = status.is_ok();
    return true;
  }

  /// Status of an operation that has ended. The message that closed its batch is part of the last operation.
  XIO_DEVICE xio::Status outcome_of(const RdmaSlot& it, uint64_t lanes) {
    const xio::Status status = queue_of(lanes).test(it.token);
    if constexpr (!alone) return status;
    return status.is_ok() && it.notice.submitted() ? queue_.test(it.notice) : status;
  }

  /// Finishes one operation of each of `lanes`. Returns false if the receiving side has not seen it yet.
  XIO_DEVICE bool finish(uint64_t index, uint64_t lanes) {
    RdmaSlot& it = slot(index);
    const uint64_t asking = some(lanes, !all_right_);
    xio::Status status = all_right_ ? xio::Status(xio::Status::ok) : outcome_of(it, asking);
    xio::rdma::Received received;
    if constexpr (alone) {
      if (status.is_ok() && takes_receive()) {
        received = receives_.test(it.receive);
        if (received.status == xio::Status::pending) {
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
      // Later operations of this queue pair are flushed.
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
      // In another process, each place holds the data of the first operation that uses it.
      const uint64_t holder = has_both_sides() ? it.number : lane_.number + window_.far_index(index) * phase_.stride;
      return judge_.compare(phase_.near + place(index), holder, it.number);
    }
    if (!has_both_sides()) return;
    ++lane_.checked;
    if (judge_.announced(it.number, received)) judge_.compare(phase_.far + far_place(index), it.number, it.number);
  }

  /// Compares the final value of the word that fetch-adds have changed.
  XIO_DEVICE void finish_sum() {
    lane_.sum = sum_;
    if (!has_both_sides() || phase_.verb != RdmaVerb::fetch_add || !phase_.check) return;
    if (lane_.failed != 0 || !window_.empty()) return;
    const uint64_t found = *reinterpret_cast<const uint64_t*>(phase_.far + lane_.far_offset);
    if (found != sum_) judge_.wrong({next_, {found, sum_}, RdmaFaultKind::sum, 0});
  }

  XIO_DEVICE xio::Deadline until() const { return {xio::arch::clock() + phase_.deadline_ticks}; }
  XIO_DEVICE xio::RegionSpan span(const xio::Region& memory, uint64_t index) const {
    return memory.at(place(index), phase_.bytes);
  }

  Queue queue_;
  Receives receives_;
  const uint64_t wave_;
  uint64_t posted_at_ = 0;  // coarse timing: tick before the first post of a batch
  uint64_t ended_at_ = 0;   // tick of an observed completion; coarse timing: of the batch, 0: not read
  uint64_t sum_ = 0;        // fetch-add: sum of the addends
};

/// The kernel: `lanes_per_queue` lanes drive one queue pair, whose other side may be in another process. S is
/// xio::Sharing::thread or grid, Telemetry as for RdmaLaneWork.
template <class Vendor, bool HasInline, xio::Sharing S, class Telemetry = xio::telemetry::Off>
XIO_DEVICE void rdma_workload(const RdmaPhase& phase) {
  RdmaLane& lane = phase.lanes[lane_in_grid()];
  if constexpr (S == xio::Sharing::thread) {
    if (RdmaSoloWork<Vendor, Telemetry>::fits(phase)) return RdmaSoloWork<Vendor, Telemetry>(phase, lane).run();
  }
  RdmaLaneWork<Vendor, HasInline, S, Telemetry>(phase, lane).run();
}

/// The responder kernel; one thread per queue pair.
template <class Vendor>
XIO_DEVICE void rdma_responder(const RdmaPhase& phase) {
  RdmaResponderWork<Vendor>(phase, phase.lanes[xio::arch::block_index()]).run();
}

}  // namespace tester
