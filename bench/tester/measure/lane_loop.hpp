// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What one lane's loop has in common for NVMe and RDMA: operations left, time limits, stop requests, progress.

#include <xio/device/arch/arch.hpp>

namespace tester {

/// @tparam Phase  with duration_ticks, deadline_ticks and stop
/// @tparam Lane   a LaneRecord with number and progress
template <class Phase, class Lane, class Telemetry>
class LaneLoop {
 protected:
  /// Limits and requests are looked at once in so many rounds: accesses to host memory are slow for a GPU.
  static constexpr uint32_t rounds_per_glance = 64;

  XIO_DEVICE LaneLoop(const Phase& phase, Lane& lane, uint64_t left)
      : phase_(phase), lane_(lane), next_(lane.number), left_(left) {}

  /// Stops submissions when the time is up or on the host's request, and reports progress.
  /// @returns the host's request
  XIO_DEVICE uint32_t check_limits(uint64_t now) {
    tell_progress();
    if (phase_.duration_ticks != 0 && now - lane_.began >= phase_.duration_ticks) stopping_ = true;
    const uint32_t stop = xio::arch::load<xio::arch::Scope::system>(phase_.stop);
    if (stop != 0) stopping_ = true;
    return stop;
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
};

}  // namespace tester
