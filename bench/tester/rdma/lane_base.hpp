// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Common part of one lane's work in the RDMA workload: its window, its batches, and periodic checks.

#include <xio/device/arch/arch.hpp>

#include "tester/measure/lane_loop.hpp"
#include "tester/rdma/judge.hpp"
#include "tester/rdma/work.hpp"

namespace tester {

/// The operations that a lane has in flight, and their places in two rings: memory and records of its own, and memory
/// of the other side. Operations are counted from 0. Positions are kept, since GPUs have no instruction that divides.
struct RdmaWindow {
  const uint32_t near_size;  ///< places on this side, and most operations in flight
  const uint32_t far_size;   ///< places on the other side; at least near_size
  uint64_t head = 0;         ///< the oldest operation in flight
  uint64_t tail = 0;         ///< the next operation to post
  uint32_t near_head = 0;    ///< head modulo near_size
  uint32_t far_head = 0;     ///< head modulo far_size; for users of pop() and far_index()

  XIO_DEVICE bool empty() const { return head == tail; }
  XIO_DEVICE uint32_t size() const { return static_cast<uint32_t>(tail - head); }

  /// Position of operation `index`, between head and head + near_size, in the ring of this side.
  XIO_DEVICE uint32_t near_index(uint64_t index) const { return near_after(near_head, index - head); }
  /// Position of operation `index`, between head and head + near_size, in the ring of the other side.
  XIO_DEVICE uint32_t far_index(uint64_t index) const { return wrapped(far_head, index - head, far_size); }
  /// Position `count` places, at most near_size, after `position` in the ring of this side.
  XIO_DEVICE uint32_t near_after(uint32_t position, uint64_t count) const {
    return wrapped(position, count, near_size);
  }

  /// Removes the oldest operations in flight.
  XIO_DEVICE void pop(uint32_t count = 1) {
    near_head = near_index(head + count);
    far_head = far_index(head + count);
    head += count;
  }

 private:
  XIO_DEVICE static uint32_t wrapped(uint32_t from, uint64_t count, uint32_t places) {
    const uint32_t position = from + static_cast<uint32_t>(count);
    return position < places ? position : position - places;
  }
};

template <class Telemetry>
class RdmaLaneBase : protected LaneLoop<RdmaPhase, RdmaLane, Telemetry> {
  using Loop = LaneLoop<RdmaPhase, RdmaLane, Telemetry>;

 protected:
  using Step = xio::telemetry::Step;

  XIO_DEVICE RdmaLaneBase(const RdmaPhase& phase, RdmaLane& lane)
      : Loop(phase, lane, operations_of(phase, lane.number)),
        judge_(phase, lane),
        window_{phase.depth, phase.far_places} {}

  XIO_DEVICE RdmaSlot& slot(uint64_t index) const { return lane_.slots[window_.near_index(index)]; }
  XIO_DEVICE bool has_both_sides() const { return phase_.side == RdmaSide::both; }

  XIO_DEVICE bool working() const {
    if (lane_.gave_up) return false;
    return !window_.empty() || left() != 0;
  }

  /// Number of operations not yet submitted.
  XIO_DEVICE uint64_t left() const { return stopping_ || lane_.gave_up ? 0 : left_; }

  /// Number of operations to submit now: a batch, or 0 while it does not fit.
  XIO_DEVICE uint32_t fitting_batch() const { return fitting_batch(left(), window_.size()); }
  XIO_DEVICE uint32_t fitting_batch(uint64_t to_come, uint32_t in_flight) const {
    const uint32_t free = phase_.depth - in_flight;
    const bool more = to_come > free;
    const uint32_t fitting = more ? free : static_cast<uint32_t>(to_come);
    if (phase_.batch == 0) return fitting;
    if (fitting >= phase_.batch) return phase_.batch;
    return !more || in_flight == 0 ? fitting : 0;
  }

  /// Periodic checks.
  XIO_DEVICE void glance() {
    const uint64_t now = xio::arch::clock();
    Loop::check_limits(now);
    // A responder that ends before the requester has given up.
    if (!has_both_sides() && xio::arch::load<xio::arch::Scope::system>(phase_.peer_done) != 0) stopping_ = true;
    if (window_.empty()) {
      // Nothing is submitted while the other side has no receives.
      if (waiting_since_ == 0) waiting_since_ = now;
      if (now - waiting_since_ > phase_.deadline_ticks) lane_.gave_up = 1;
      return;
    }
    if (Loop::overdue(now, slot(window_.head).started)) lane_.gave_up = 1;
  }

  /// Counts what is still in flight as failed.
  XIO_DEVICE void leave() {
    for (; !window_.empty(); window_.pop()) judge_.fail(xio::Status::timed_out, slot(window_.head).number);
    Loop::close_record();
  }

  using Loop::lane_;
  using Loop::left_;
  using Loop::next_;
  using Loop::phase_;
  using Loop::stopping_;
  RdmaJudge judge_;
  RdmaWindow window_;           // the lane's operations in flight
  uint64_t ended_ = 0;          // operations before this index have ended on the requesting side
  uint64_t waiting_since_ = 0;  // tick since which nothing is in flight; 0: operations are in flight
  bool all_right_ = false;      // all operations that have ended succeeded
};

}  // namespace tester
