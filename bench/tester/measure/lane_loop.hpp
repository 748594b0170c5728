// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What one lane's loop has in common for NVMe and RDMA: operations left, time limits, stop requests, progress.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/deadline.hpp>
#include <xio/device/core/status.hpp>

#include "tester/cli/stop_request.hpp"

namespace tester {

/// Number of the calling lane in the grid.
XIO_DEVICE uint32_t lane_in_grid() {
  return xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
}

/// Number of the queue that the calling lane uses: `lanes_per_queue` lanes, which follow each other in the grid, share
/// one.
template <class Phase>
XIO_DEVICE uint32_t queue_of_lane(const Phase& phase) {
  return lane_in_grid() / phase.lanes_per_queue;
}

/// @tparam Phase  with duration_ticks, deadline_ticks and stop
/// @tparam Lane   a LaneRecord with number and progress
template <class Phase, class Lane, class Telemetry>
class LaneLoop {
 protected:
  /// Limits are looked at once in so many rounds.
  static constexpr uint32_t rounds_per_glance = 64;

  XIO_DEVICE LaneLoop(const Phase& phase, Lane& lane, uint64_t left)
      : phase_(phase), lane_(lane), next_(lane.number), left_(left) {}

  /// Stops submissions when the time is up or on the host's request, and reports progress.
  /// @returns the host's request
  XIO_DEVICE uint32_t check_limits(uint64_t now) {
    if (phase_.duration_ticks != 0 && now - lane_.began >= phase_.duration_ticks) stopping_ = true;
    // Once in a millisecond: more often, thousands of lanes would fill a GPU's bus with accesses to host memory.
    if (now - exchanged_at_ >= xio::arch::clock_hz / 1000) {
      exchanged_at_ = now;
      tell_progress();
      request_ = xio::arch::load<xio::arch::Scope::system>(phase_.stop);
    }
    if (request_ != 0) stopping_ = true;
    return request_;
  }

  /// Calls until the operation has another status than timed_out, or its deadline passes, or the host lost the
  /// controller.
  template <class Call>
  XIO_DEVICE xio::Status attempt(xio::Deadline until, Call call) {
    for (;;) {
      const uint64_t now = xio::arch::clock();
      const uint64_t soon = now + phase_.deadline_ticks / parts_of_deadline;
      const bool last = soon >= until.tick;
      const xio::Status status = call(last ? until : xio::Deadline{soon});
      if (!(status == xio::Status::timed_out) || last || check_limits(now) == stop_waiting) return status;
    }
  }

  XIO_DEVICE bool overdue(uint64_t now, uint64_t since) const {
    return now > since && now - since > phase_.deadline_ticks;
  }

  XIO_DEVICE void tell_progress() const {
    xio::arch::store<xio::arch::Scope::system>(lane_.progress, lane_.completed + lane_.failed);
  }

  /// Ends the record.
  XIO_DEVICE void close_record() {
    if constexpr (Telemetry::enabled) lane_.steps = telemetry_;
    tell_progress();
  }

  const Phase& phase_;
  Lane& lane_;
  Telemetry telemetry_;
  uint64_t next_;  // next operation to prepare
  uint64_t left_;  // operations not yet prepared
  bool stopping_ = false;

 private:
  static constexpr uint64_t parts_of_deadline = 64;

  uint64_t exchanged_at_ = 0;  // tick of the last exchange with the host
  uint32_t request_ = 0;       // the host's
};

}  // namespace tester
