// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The workload kernel: every wave keeps a window of operations in flight on one queue, using only the device
/// API.
///
/// The window slides: as soon as a batch of places is free, in any order of completion, the next batch is submitted.
/// Each lane has its own window, buffers and operations; the lanes of a wave poll together.

#include "tester/nvme/counting_doorbell.hpp"
#include "tester/nvme/slot_list.hpp"
#include "tester/nvme/solo_work.hpp"
#include "tester/nvme/striped_queue.hpp"

namespace tester {

/// One lane's part of a phase. All lanes of a wave call run() together.
template <class Queue, class Telemetry>
class LaneWork : LaneBase<Queue, Telemetry> {
  using Base = LaneBase<Queue, Telemetry>;

 public:
  static constexpr bool alone = Queue::sharing == xio::Sharing::thread;

  XIO_DEVICE LaneWork(Queue& queue, const Phase& phase, Lane& lane)
      : Base(queue, phase, lane), wave_(alone ? 1 : xio::arch::together(0)) {
    for (uint32_t i = 0; i < lane.window; ++i) free_.push_back(lane.slots, i);
    notified_ = commands_ > 1 || xio::is_shared<Queue::sharing>;
  }

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; any(working()); ++round) {
      const bool submitted = submit();
      const bool completed = complete(idle % looks_per_scan == looks_per_scan - 1);
      idle = any(submitted || completed) ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (round % Base::rounds_per_glance == 0) look_around();
    }
    lane_.ended = xio::arch::clock();
    leave();
  }

 private:
  static constexpr uint32_t looks_per_scan = 16;
  static constexpr uint32_t short_scan = 8;

  using Base::commands_;
  using Base::lane_;
  using Base::left_;
  using Base::phase_;
  using Base::queue_;
  using Base::stopping_;
  using Base::telemetry_;

  XIO_DEVICE bool any(bool predicate) const {
    if constexpr (alone) return predicate;
    return xio::arch::ballot(wave_, predicate) != 0;
  }

  /// Mask of the `lanes` for which the predicate holds.
  XIO_DEVICE uint64_t some(uint64_t lanes, bool predicate) const {
    if constexpr (alone) return predicate;
    return xio::arch::ballot(lanes, predicate);
  }

  /// The queue, for joint use by `lanes`.
  XIO_DEVICE decltype(auto) queue_of([[maybe_unused]] uint64_t lanes) {
    if constexpr (alone || is_striped<Queue>) {
      return (queue_);
    } else {
      return Queue(queue_.handle(), lanes);
    }
  }

  XIO_DEVICE bool working() const {
    if (lane_.gave_up) return false;
    return in_flight_.size != 0 || (!stopping_ && (staged_.size != 0 || left_ != 0));
  }

  // Submission.

  /// Number of operations that this lane submits now: its part of the wave's batch, or 0 while a batch does not fit.
  XIO_DEVICE uint32_t share() const {
    const uint64_t to_come = stopping_ ? 0 : left_;
    // Waiting for space is useful only if the remaining operations do not fit now.
    const bool more = to_come > free_.size;
    const uint32_t fitting = more ? free_.size : static_cast<uint32_t>(to_come);
    const uint32_t mine = stopping_ || lane_.gave_up ? 0 : staged_.size + fitting;
    const uint32_t wanted = phase_.batch == 0 ? ~0u : phase_.batch;
    if constexpr (alone) {
      if (mine >= wanted) return wanted;
      return phase_.batch == 0 || !more || in_flight_.size == 0 ? mine : 0;
    } else {
      uint32_t granted = 0;
      uint32_t total = 0;
      for (uint32_t round = 0; total < wanted; ++round) {
        const uint64_t takers = xio::arch::ballot(wave_, mine > round);
        if (takers == 0) break;
        if (mine > round && xio::arch::rank_in(takers) < wanted - total) granted = round + 1;
        total += xio::arch::count_lanes(takers);
      }
      if (phase_.batch == 0 || total >= wanted) return granted;
      const bool wait = any(more) && any(in_flight_.size != 0);
      return wait ? 0 : granted;
    }
  }

  XIO_DEVICE bool submit() {
    const uint32_t count = share();
    if (!any(count != 0)) return false;
    while (staged_.size < count) stage();
    uint64_t now = phase_.coarse_timing ? xio::arch::clock() : 0;
    bool refused = false;
    uint32_t done = 0;
    while (const uint64_t lanes = some(wave_, done < count && !refused)) {
      if (done < count && !refused) {
        refused = !submit_one(now, lanes);
        if (!refused) ++done;
      }
    }
    const uint64_t started = Telemetry::start();
    queue_.ring();
    telemetry_.stop(xio::telemetry::Step::sq_doorbell, started);
    return done != 0;
  }

  XIO_DEVICE void stage() {
    const uint32_t place = free_.pop_front(lane_.slots);
    Base::prepare(place);
    staged_.push_back(lane_.slots, place);
  }

  /// Submits one operation of each of `lanes`. Returns false if the queue is full; the operation stays staged.
  XIO_DEVICE_INLINE bool submit_one(uint64_t now, uint64_t lanes) {
    const uint32_t place = staged_.head;
    Slot& slot = lane_.slots[place];
    if (notified_) slot.ended = {};
    slot.started = phase_.coarse_timing ? now : xio::arch::clock();
    if (Base::has_separate_calls && phase_.direction == Direction::write) {
      send(slot, Base::write(slot), lanes);
    } else {
      send(slot, Base::command(slot), lanes);
    }
    if (slot.token.status == xio::Status::would_block) return false;
    staged_.pop_front(lane_.slots);
    ++lane_.submitted;
    if (slot.token.submitted()) {
      in_flight_.push_back(lane_.slots, place);
    } else {
      Base::refused(slot.token.status, slot.lba);
      free_.push_back(lane_.slots, place);
    }
    return true;
  }

  XIO_DEVICE_INLINE void send(Slot& slot, const xio::nvme::Command& command, uint64_t lanes) {
    const xio::nvme::ContiguousPages pages = Base::pages(slot);
    if constexpr (!is_striped<Queue>) {
      if (XIO_UNLIKELY(commands_ > 1)) return send_parts(slot, command, pages, lanes);
    }
    slot.token = queue_of(lanes).try_submit(
        command, pages, xio::Options().notify(notified_ ? &slot.ended : nullptr).measure(telemetry_));
  }

  /// Submits an operation of several commands, which may exceed the queue's depth.
  XIO_COLD XIO_DEVICE void send_parts(Slot& slot, const xio::nvme::Command& command,
                                      const xio::nvme::ContiguousPages& pages, uint64_t lanes) {
    const xio::Deadline until{xio::arch::clock() + phase_.deadline_ticks};
    slot.token = queue_of(lanes).submit(command, pages, until, xio::Options().notify(slot.ended).measure(telemetry_));
  }

  // Completion.

  /// Consumes completions and frees the places of completed operations.
  XIO_DEVICE bool complete(bool look_at_all) {
    // A poll consumes at most one completion per lane; polling continues, so that the next submissions form one batch.
    uint32_t taken = 0;
    for (uint32_t more = 1; more != 0 && taken < Base::most_at_once; taken += more)
      more = queue_.drain(xio::Options().measure(telemetry_));
    SlotList ended;
    // Other lanes may have consumed completions of this lane.
    const bool found = in_flight_.size != 0 && find_ended(ended, look_at_all || taken != 0 || phase_.flush);
    while (const uint64_t lanes = some(wave_, ended.size != 0)) {
      if (ended.size != 0) finish(ended.pop_front(lane_.slots), lanes);
    }
    return taken != 0 || found;
  }

  /// Moves completed operations to `ended`: comparing their data at once would delay the operations behind.
  XIO_DEVICE bool find_ended(SlotList& ended, bool look_at_all) {
    bool found = false;
    uint64_t now = phase_.coarse_timing ? xio::arch::clock() : 0;
    uint32_t before = no_slot;
    uint32_t looks = 0;
    for (uint32_t place = in_flight_.head; place != no_slot;) {
      Slot& slot = lane_.slots[place];
      const uint32_t next = slot.next;
      if (has_ended(slot)) {
        if (!phase_.coarse_timing) now = xio::arch::clock();
        slot.started = now - slot.started;  // from now on its latency
        in_flight_.remove_after(lane_.slots, before, place);
        found = true;
        ended.push_back(lane_.slots, place);
      } else {
        before = place;
        if (!look_at_all && ++looks == short_scan) break;
      }
      place = next;
    }
    return found;
  }

  /// A token's outcome is kept for a limited number of operations. If other waves, or parts of other operations, may
  /// come between, the notification is used instead.
  XIO_DEVICE bool has_ended(const Slot& slot) const {
    if constexpr (!xio::is_shared<Queue::sharing>) {
      if (!notified_) return queue_.ended(slot.token);
    }
    return xio::arch::observe<xio::arch::Scope::system>(&slot.ended.done) >= commands_;
  }

  /// Finishes one operation of each of `lanes`.
  XIO_DEVICE void finish(uint32_t place, uint64_t lanes) {
    Slot& slot = lane_.slots[place];
    xio::Status status;
    const bool asks = !notified_ || xio::arch::load<xio::arch::Scope::system>(&slot.ended.failed) != 0;
    const uint64_t asking = some(lanes, asks);
    if (asks) {
      status = outcome(slot, asking);
    } else {
      xio::arch::acquire_system();
    }
    if constexpr (!is_striped<Queue>) {
      const bool flushes = phase_.flush && status.is_ok();
      const uint64_t flushing = some(lanes, flushes);
      if (flushes) {
        // The data is visible only after the flush: it counts towards the latency.
        const uint64_t begun = xio::arch::clock();
        status = queue_of(flushing).flush_inbound({begun + phase_.deadline_ticks});
        slot.started += xio::arch::clock() - begun;
      }
    }
    if (status.is_ok()) {
      Base::succeed(slot);
      if (phase_.check) Base::check(slot);
    } else {
      Base::fail(status, slot.lba);
    }
    free_.push_back(lane_.slots, place);
  }

  /// Status of an operation that has ended.
  XIO_DEVICE xio::Status outcome(const Slot& slot, uint64_t lanes) {
    if constexpr (is_striped<Queue>)
      return queue_.wait(slot.token, slot.lba, xio::Deadline{0});
    else
      return queue_of(lanes).wait(slot.token, xio::Deadline{0});
  }

  XIO_DEVICE void look_around() {
    const uint64_t now = xio::arch::clock();
    Base::glance(now, in_flight_.size != 0, staged_.size != 0);
    if (in_flight_.size != 0 && Base::overdue(now, lane_.slots[in_flight_.head].started)) lane_.gave_up = 1;
  }

  XIO_DEVICE void leave() {
    if (lane_.gave_up) {
      for (; in_flight_.size != 0;) {
        Base::fail(xio::Status::timed_out, lane_.slots[in_flight_.pop_front(lane_.slots)].lba);
      }
    }
    Base::close_record();
  }

  const uint64_t wave_;
  SlotList free_;
  SlotList staged_;     // prepared, to be submitted
  SlotList in_flight_;  // in the order of submission
  bool notified_ = false;
};

/// The kernel: `lanes_per_queue` lanes drive one queue, in one block or in several. S is xio::Sharing::thread, wave or
/// grid. Bell is what RingBy names.
template <xio::Sharing S, class Telemetry, class Bell = TesterDoorbell>
XIO_DEVICE void workload(const Phase& phase) {
  Lane& lane = phase.lanes[lane_in_grid()];
  // Only ring() rings doorbells, once per batch.
  using Policy = xio::Policy<xio::Deferred<32768>>;
  using Queue = xio::nvme::Queue<S, xio::Policy<Policy, xio::RingBy<Bell>>>;
  using NotifyingQueue = xio::nvme::Queue<S, xio::Policy<Policy, xio::Notify, xio::RingBy<Bell>>>;
  const xio::nvme::QueueHandle& handle = phase.queues[queue_of_lane(phase)];
  begin_counting(&handle, 1);
  bool done = false;
  if constexpr (S == xio::Sharing::thread) {
    auto session = Queue(handle).session();
    done = SoloWork<decltype(session), Telemetry>::fits(session, phase);
    if (done) SoloWork<decltype(session), Telemetry>(session, phase, lane).run();
    session.end();
  }
  if (!done) {
    NotifyingQueue queue(handle);
    LaneWork<NotifyingQueue, Telemetry>(queue, phase, lane).run();
  }
  end_counting(lane.sq_rings, lane.cq_rings);
}

/// The kernel for several drives: groups of `lanes_per_queue` lanes drive one queue of each.
template <class Telemetry>
XIO_DEVICE void striped_workload(const Phase& phase) {
  Lane& lane = phase.lanes[lane_in_grid()];
  using Queue = StripedQueue<xio::Policy<xio::Deferred<32768>, xio::Notify, xio::RingBy<TesterDoorbell>>>;
  const xio::nvme::DriveSetHandle& set = phase.stripes->set;
  begin_counting(set.queues, set.drives * set.queues_per_drive);
  Queue queue(*phase.stripes, queue_of_lane(phase));
  LaneWork<Queue, Telemetry>(queue, phase, lane).run();
  end_counting(lane.sq_rings, lane.cq_rings);
}

}  // namespace tester
