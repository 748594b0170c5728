// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The workload kernel: every wave keeps a window of operations in flight on one queue, by the device API alone.
///
/// The window slides: as soon as a batch of places is free, in whatever order the operations ended, the next batch
/// leaves. Each lane has a window, buffers and operations of its own, and waves take completions together.

#include <xio/device/nvme.hpp>

#include "tester/counting_doorbell.hpp"
#include "tester/phase.hpp"
#include "tester/slot_list.hpp"

namespace tester {

/// One lane's part of a phase. All lanes of a wave call run() together.
template <class Queue, class Telemetry>
class LaneWork {
 public:
  static constexpr bool alone = Queue::sharing == xio::Sharing::thread;

  XIO_DEVICE LaneWork(Queue& queue, const Phase& phase, Lane& lane)
      : queue_(queue), phase_(phase), lane_(lane), wave_(alone ? 1 : xio::arch::active()), next_(lane.number) {
    for (uint32_t i = 0; i < lane.window; ++i) free_.push_back(lane.slots, i);
    const uint32_t longest = queue.handle().max_blocks;
    commands_ = (phase.pattern.blocks + longest - 1) / longest;
    notified_ = commands_ > 1 || xio::is_shared<Queue::sharing>;
    exhausted_ = lane.window == 0 || next_ >= phase.operations;
  }

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    uint32_t idle = 0;
    for (uint32_t round = 1; any(working()); ++round) {
      const bool submitted = submit();
      const bool completed = complete(idle % looks_per_scan == looks_per_scan - 1);
      idle = any(submitted || completed) ? 0 : idle + 1;
      if (idle != 0) xio::arch::pause(idle);
      if (round % rounds_per_glance == 0) glance();
    }
    lane_.ended = xio::arch::clock();
    leave();
  }

 private:
  static constexpr uint32_t rounds_per_glance = 64;
  static constexpr uint32_t looks_per_scan = 16;
  static constexpr uint32_t short_scan = 8;
  static constexpr uint32_t most_at_once = 64;  // completions taken before new operations are submitted

  XIO_DEVICE bool any(bool predicate) const {
    if constexpr (alone) return predicate;
    return xio::arch::ballot(wave_, predicate) != 0;
  }

  XIO_DEVICE bool working() const {
    if (lane_.gave_up) return false;
    return in_flight_.size != 0 || (!stopping_ && (staged_.size != 0 || !exhausted_));
  }

  // Submission.

  /// Operations that were not staged yet.
  XIO_DEVICE uint64_t left() const {
    if (exhausted_ || stopping_) return 0;
    return phase_.repeat ? ~uint64_t{0} : (phase_.operations - 1 - next_) / phase_.stride + 1;
  }

  /// How many operations this lane submits now: a part of the wave's batch, or nothing while a batch does not fit.
  XIO_DEVICE uint32_t share() const {
    const uint64_t to_come = left();
    // Waiting for more room makes sense only where operations are left that do not fit now.
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
    for (; any(done < count && !refused);) {
      if (done < count && !refused) {
        refused = !submit_one(now);
        if (!refused) ++done;
      }
    }
    const uint64_t started = Telemetry::start();
    queue_.flush();
    telemetry_.stop(xio::telemetry::Step::sq_doorbell, started);
    return done != 0;
  }

  /// Takes the lane's next operation: its place in the window, its buffer and, for writes, its data.
  XIO_DEVICE void stage() {
    const uint32_t place = free_.pop_front(lane_.slots);
    Slot& slot = lane_.slots[place];
    slot.lba = phase_.pattern.lba(next_);
    if (++slot.buffer == phase_.buffers_per_slot) slot.buffer = 0;
    next_ += phase_.stride;
    if (phase_.repeat) {
      if (next_ >= phase_.operations) next_ %= phase_.operations;
    } else {
      exhausted_ = next_ >= phase_.operations;
    }
    if (phase_.fill) {
      uint8_t* const to = phase_.data + buffer(place);
      const uint32_t bytes = block_bytes();
      for (uint32_t i = 0; i < phase_.pattern.blocks; ++i)
        phase_.content.fill(to + uint64_t{i} * bytes, slot.lba + i, bytes);
    }
    staged_.push_back(lane_.slots, place);
  }

  /// False where the queue takes nothing now; the operation stays staged.
  XIO_DEVICE_INLINE bool submit_one(uint64_t now) {
    const uint32_t place = staged_.head;
    Slot& slot = lane_.slots[place];
    if (notified_) slot.ended = {0, 0};
    slot.started = phase_.coarse_timing ? now : xio::arch::clock();
    // Where each kind of command has its own call, what depends on the kind is decided by the compiler.
    if (phase_.direction == Direction::write) {
      send(slot, place, xio::nvme::write(slot.lba, phase_.pattern.blocks));
    } else {
      send(slot, place, xio::nvme::read(slot.lba, phase_.pattern.blocks));
    }
    if (slot.token.status == xio::Status::would_block) return false;
    blocked_since_ = 0;
    staged_.pop_front(lane_.slots);
    ++lane_.submitted;
    if (slot.token.submitted()) {
      in_flight_.push_back(lane_.slots, place);
    } else {
      fail(slot.token.status, slot.lba);
      if (slot.token.status == xio::Status::broken || slot.token.status == xio::Status::timed_out) lane_.gave_up = 1;
      free_.push_back(lane_.slots, place);
    }
    return true;
  }

  XIO_DEVICE_INLINE void send(Slot& slot, uint32_t place, const xio::nvme::Command& command) {
    const xio::nvme::ContiguousPages pages{phase_.data_bus + buffer(place)};
    if (XIO_UNLIKELY(commands_ > 1)) {
      send_parts(slot, command, pages);
    } else {
      slot.token = queue_.submit(command, pages, xio::Now{}, telemetry_, notified_ ? &slot.ended : nullptr);
    }
  }

  /// The commands of the operation may be more than the queue holds.
  XIO_COLD XIO_DEVICE void send_parts(Slot& slot, const xio::nvme::Command& command,
                                      const xio::nvme::ContiguousPages& pages) {
    const xio::Deadline until{xio::arch::clock() + phase_.deadline_ticks};
    slot.token = queue_.submit(command, pages, until, telemetry_, &slot.ended);
  }

  // Completion.

  /// Takes completions, and frees the places of operations that have ended.
  XIO_DEVICE bool complete(bool look_at_all) {
    // One look takes at most one completion for each lane: what leaves next leaves together.
    uint32_t taken = 0;
    for (uint32_t more = 1; more != 0 && taken < most_at_once; taken += more) more = queue_.drain(telemetry_);
    unseen_ += taken;
    SlotList ended;
    // Others may have taken completions of this lane, unless it is alone and neither a long submission nor a flush did.
    const bool exact = alone && !notified_ && !phase_.flush;
    const bool look_well = look_at_all || taken != 0 || phase_.flush;
    bool found = false;
    if (exact ? unseen_ != 0 : in_flight_.size != 0) found = find_ended(ended, exact, look_well);
    while (any(ended.size != 0)) {
      if (ended.size != 0) finish(ended.pop_front(lane_.slots));
    }
    return taken != 0 || found;
  }

  /// Puts operations that have ended into `ended`; a lane that is alone and compares no data is done with them at once.
  XIO_DEVICE bool find_ended(SlotList& ended, bool exact, bool look_at_all) {
    bool found = false;
    // A lane that is alone has taken their completions before: one look, one time.
    const bool one_time = exact || phase_.coarse_timing;
    uint64_t now = one_time ? xio::arch::clock() : 0;
    uint32_t before = no_slot;
    uint32_t looks = 0;
    for (uint32_t place = in_flight_.head; place != no_slot;) {
      Slot& slot = lane_.slots[place];
      const uint32_t next = slot.next;
      if (has_ended(slot)) {
        if (!one_time) now = xio::arch::clock();
        slot.started = now - slot.started;  // from here on: its latency
        in_flight_.remove_after(lane_.slots, before, place);
        found = true;
        if (alone && !phase_.check) {
          finish(place);
        } else {
          // Comparing would delay those behind.
          ended.push_back(lane_.slots, place);
        }
        if (exact && --unseen_ == 0) break;
      } else {
        before = place;
        if (!exact && !look_at_all && ++looks == short_scan) break;
      }
      place = next;
    }
    return found;
  }

  /// A token is remembered only for so many operations: where other waves, or parts of other operations, may come
  /// between, the notification tells.
  XIO_DEVICE bool has_ended(const Slot& slot) const {
    if (!notified_) return queue_.ended(slot.token);
    return xio::arch::observe<xio::arch::Scope::system>(&slot.ended.done) >= commands_;
  }

  XIO_DEVICE void finish(uint32_t place) {
    Slot& slot = lane_.slots[place];
    xio::Status status;
    if (!notified_ || xio::arch::load<xio::arch::Scope::system>(&slot.ended.failed) != 0) {
      // Where the status is not remembered any more this says so: Status::expired.
      status = queue_.wait(slot.token, xio::Deadline{0});
    } else {
      xio::arch::acquire_system();
    }
    if (phase_.flush && status.is_ok()) {
      // The data is there after that: it belongs to the latency.
      const uint64_t begun = xio::arch::clock();
      status = queue_.flush_inbound({begun + phase_.deadline_ticks});
      slot.started += xio::arch::clock() - begun;
    }
    if (status.is_ok()) {
      ++lane_.completed;
      lane_.latency->record(slot.started);
      if (phase_.check) check(slot.lba, phase_.data + buffer(place));
    } else {
      fail(status, slot.lba);
    }
    free_.push_back(lane_.slots, place);
  }

  XIO_DEVICE void check(uint64_t lba, const uint8_t* data) {
    const uint32_t bytes = block_bytes();
    for (uint32_t i = 0; i < phase_.pattern.blocks; ++i, data += bytes) {
      const uint32_t differs = phase_.content.first_difference(data, lba + i, bytes);
      if (differs == bytes) continue;
      if (lane_.wrong_count < lane_.wrong_room) {
        const auto* const words = reinterpret_cast<const uint64_t*>(data);
        lane_.wrong[lane_.wrong_count] = {lba + i, {words[0], words[1]}, differs, 0};
      }
      ++lane_.wrong_count;
    }
    lane_.checked += phase_.pattern.blocks;
  }

  XIO_DEVICE void fail(xio::Status status, uint64_t lba, uint64_t count = 1) {
    lane_.failed += count;
    for (uint32_t i = 0; i < status_room; ++i) {
      StatusCount& entry = lane_.statuses[i];
      if (i == lane_.statuses_used) {
        entry = {status, 0, lba};
        ++lane_.statuses_used;
      }
      // The last entry takes what does not fit.
      if (entry.status == status || i + 1 == status_room) {
        entry.count += count;
        return;
      }
    }
  }

  // Now and then.

  /// Reads the clock and the host's wish to stop, and tells the host how far it is: not in every round, since the
  /// host's memory is far from a GPU.
  XIO_DEVICE void glance() {
    const uint64_t now = xio::arch::clock();
    xio::arch::store<xio::arch::Scope::system>(&lane_.progress, lane_.completed + lane_.failed);
    if (phase_.end_tick != 0 && now >= phase_.end_tick) stopping_ = true;
    if (xio::arch::load<xio::arch::Scope::system>(phase_.stop) != 0) stopping_ = true;
    if (in_flight_.size != 0 && overdue(now, lane_.slots[in_flight_.head].started)) lane_.gave_up = 1;
    // A queue that takes nothing although this lane has nothing in flight: others do, and it is for ever.
    if (staged_.size == 0 || in_flight_.size != 0) {
      blocked_since_ = 0;
    } else if (blocked_since_ == 0) {
      blocked_since_ = now;
    } else if (overdue(now, blocked_since_)) {
      lane_.gave_up = 1;
    }
  }

  XIO_DEVICE bool overdue(uint64_t now, uint64_t since) const {
    return now > since && now - since > phase_.deadline_ticks;
  }

  XIO_DEVICE void leave() {
    if (lane_.gave_up) {
      for (; in_flight_.size != 0;) {
        fail(xio::Status::timed_out, lane_.slots[in_flight_.pop_front(lane_.slots)].lba);
      }
    }
    if constexpr (Telemetry::enabled) lane_.steps = telemetry_;
    xio::arch::store<xio::arch::Scope::system>(&lane_.progress, lane_.completed + lane_.failed);
  }

  XIO_DEVICE uint32_t block_bytes() const { return 1u << queue_.handle().block_shift; }

  /// Offset of the buffer that a place of the window uses now.
  XIO_DEVICE uint64_t buffer(uint32_t place) const {
    const uint64_t first = (lane_.first_slot + place) * phase_.buffers_per_slot;
    return (first + lane_.slots[place].buffer) * phase_.buffer_bytes;
  }

  Queue& queue_;
  const Phase& phase_;
  Lane& lane_;
  const uint64_t wave_;
  Telemetry telemetry_;
  SlotList free_;
  SlotList staged_;     // taken, to be submitted
  SlotList in_flight_;  // in the order of submission
  uint64_t next_;       // operation that is staged next
  uint64_t blocked_since_ = 0;
  uint32_t unseen_ = 0;    // completions taken whose operations were not found yet
  uint32_t commands_ = 1;  // of one operation
  bool notified_ = false;
  bool exhausted_ = false;
  bool stopping_ = false;
};

/// The kernel: block `b` drives queue `b`. S is xio::Sharing::thread, wave or grid.
template <xio::Sharing S, class Doorbell, class Telemetry>
XIO_DEVICE void workload(const Phase& phase) {
  // Doorbells are rung by flush() alone, once for each batch.
  using Policy = xio::Notifying<xio::Deferred<32768>>;
  using Queue = xio::nvme::Queue<S, Policy, CountingDoorbell<Doorbell>>;
  const uint32_t number = xio::arch::block_index();
  Lane& lane = phase.lanes[uint64_t{number} * phase.lanes_per_queue + xio::arch::thread_index()];
  Queue queue(phase.queues[number]);
  begin_counting(queue.handle());
  if constexpr (S == xio::Sharing::thread) {
    auto session = queue.session();
    LaneWork<decltype(session), Telemetry>(session, phase, lane).run();
    session.end();
  } else {
    LaneWork<Queue, Telemetry>(queue, phase, lane).run();
  }
  end_counting(lane.sq_rings, lane.cq_rings);
}

}  // namespace tester
