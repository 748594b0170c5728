// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The workload of a lane with its own queue: each completion identifies its place in the window.

#include "tester/nvme/lane_base.hpp"

namespace tester {

/// Work of one lane, for operations of one command whose completions all reach this lane (see fits()).
template <class Queue, class Telemetry>
class SoloWork : LaneBase<Queue, Telemetry> {
  using Base = LaneBase<Queue, Telemetry>;

 public:
  static_assert(Queue::sharing == xio::Sharing::thread, "completions must be the lane's own");

  /// Submissions of several commands and flushes of inbound data consume completions internally, without reporting
  /// them.
  XIO_DEVICE static bool fits(const Queue& queue, const Phase& phase) {
    return Base::commands_of(queue, phase) == 1 && !phase.flush;
  }

  XIO_DEVICE SoloWork(Queue& queue, const Phase& phase, Lane& lane)
      : Base(queue, phase, lane),
        wanted_(phase.batch == 0 ? ~0u : phase.batch),
        prepares_first_(phase.fill || phase.coarse_timing) {
    while (room_mask_ + 1 < lane.window) room_mask_ = room_mask_ * 2 + 1;
    for (; free_end_ < lane.window; ++free_end_) lane.free_places[free_end_] = free_end_;
  }

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; working(); ++round) {
      const bool submitted = submit();
      const bool completed = complete();
      idle = submitted || completed ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (round % Base::rounds_per_glance == 0) look_around();
    }
    lane_.ended = xio::arch::clock();
    leave();
  }

 private:
  using Base::lane_;
  using Base::left_;
  using Base::phase_;
  using Base::queue_;
  using Base::stopping_;
  using Base::telemetry_;

  /// Places that are not in flight.
  XIO_DEVICE uint32_t room() const { return free_end_ - free_begin_; }
  XIO_DEVICE bool all_free() const { return room() == lane_.window; }

  XIO_DEVICE bool working() const {
    if (lane_.gave_up) return false;
    return !all_free() || (!stopping_ && (prepared_ != 0 || left_ != 0));
  }

  /// Number of operations to submit now: a batch, or 0 while a batch does not fit.
  XIO_DEVICE uint32_t share() const {
    if (stopping_) return 0;
    // Waiting for space is useful only if the remaining operations do not fit now.
    const bool more = left_ > room() - prepared_;
    const uint32_t mine = more ? room() : prepared_ + static_cast<uint32_t>(left_);
    if (mine >= wanted_) return wanted_;
    return phase_.batch == 0 || !more || all_free() ? mine : 0;
  }

  XIO_DEVICE bool submit() {
    const uint32_t count = share();
    if (count == 0) return false;
    if (prepares_first_) {
      for (; prepared_ < count; ++prepared_) Base::prepare(lane_.free_places[(free_begin_ + prepared_) & room_mask_]);
    }
    const uint64_t now = phase_.coarse_timing ? xio::arch::clock() : 0;
    uint32_t done = 0;
    while (done < count && submit_one(now)) ++done;
    const uint64_t started = Telemetry::start();
    queue_.ring();
    telemetry_.stop(xio::telemetry::Step::sq_doorbell, started);
    return done != 0;
  }

  /// Returns false if the queue is full; the operation stays prepared.
  XIO_DEVICE_INLINE bool submit_one(uint64_t now) {
    const uint32_t place = lane_.free_places[free_begin_ & room_mask_];
    Slot& slot = lane_.slots[place];
    if (prepared_ == 0) {
      Base::prepare(place);
      prepared_ = 1;
    }
    const uint64_t started = phase_.coarse_timing ? now : xio::arch::clock();
    const xio::Token token = Base::has_separate_calls && phase_.direction == Direction::write
                                 ? send(slot, Base::write(slot))
                                 : send(slot, Base::command(slot));
    if (XIO_LIKELY(token.submitted())) {
      slot.started = started;
      lane_.place_of[queue_.slot_of(token)] = place;
    } else {
      if (token.status == xio::Status::would_block) return false;
      Base::refused(token.status, slot.lba);
      lane_.free_places[free_end_++ & room_mask_] = place;
    }
    ++free_begin_;
    --prepared_;
    ++lane_.submitted;
    return true;
  }

  XIO_DEVICE_INLINE xio::Token send(const Slot& slot, const xio::nvme::Command& command) {
    return queue_.try_submit(command, Base::pages(slot), xio::Options().measure(telemetry_));
  }

  /// Consumes completions and frees the places of completed operations.
  XIO_DEVICE bool complete() {
    const uint32_t before = free_end_;
    const auto take = [&](const xio::nvme::Completion& completion) {
      const uint32_t place = lane_.place_of[completion.slot];
      if (place == no_place) return;  // an operation that an earlier phase abandoned
      lane_.free_places[free_end_++ & room_mask_] = place;
      if (XIO_UNLIKELY(!completion.is_ok())) {
        Slot& slot = lane_.slots[place];
        lane_.fail(completion.status(), slot.lba);
        slot.started = 0;
      }
    };
    const uint32_t in_flight = lane_.window - room();
    const uint32_t most = in_flight < Base::most_at_once ? in_flight : Base::most_at_once;
    if (queue_.process_completions(take, most, xio::Options().measure(telemetry_)) == 0) return false;
    // One clock reading per poll.
    const uint64_t now = xio::arch::clock();
    for (uint32_t i = before; i != free_end_; ++i) {
      Slot& slot = lane_.slots[lane_.free_places[i & room_mask_]];
      if (XIO_UNLIKELY(slot.started == 0)) continue;
      ++lane_.completed;
      lane_.latency->record(now - slot.started);
      slot.started = 0;
      if (phase_.check) Base::check(slot);
    }
    return true;
  }

  XIO_DEVICE void look_around() {
    const uint64_t now = xio::arch::clock();
    Base::glance(now, !all_free(), prepared_ != 0);
    // The scan visits all places, so it is rare.
    if (now < next_scan_) return;
    next_scan_ = now + phase_.deadline_ticks / scans_per_deadline;
    for (uint32_t place = 0; place < lane_.window; ++place) {
      const uint64_t started = lane_.slots[place].started;
      if (started != 0 && Base::overdue(now, started)) lane_.gave_up = 1;
    }
  }

  XIO_DEVICE void leave() {
    // Iterates only if the lane gave up.
    for (uint32_t place = 0; place < lane_.window && !all_free(); ++place) {
      if (lane_.slots[place].started != 0) lane_.fail(xio::Status::timed_out, lane_.slots[place].lba);
    }
    Base::close_record();
  }

  static constexpr uint64_t scans_per_deadline = 16;

  const uint32_t wanted_;
  const bool prepares_first_;
  // Free places are Lane::free_places from `free_begin_` to `free_end_`; the first `prepared_` have their operation.
  uint32_t room_mask_ = 0;
  uint32_t free_begin_ = 0;
  uint32_t free_end_ = 0;
  uint32_t prepared_ = 0;
  uint64_t next_scan_ = 0;
};

}  // namespace tester
