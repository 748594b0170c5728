// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief cache-ep's kernel: all lanes put into and get from one array on drives, behind one page cache.

#include <xio/cache.hpp>

#include "tester/cache/phase.hpp"
#include "tester/measure/lane_loop.hpp"
#include "tester/nvme/counting_doorbell.hpp"

namespace tester {

struct TesterCache : xio::WriteBack {
  using QueuePolicy = xio::Policy<xio::Notify, xio::RingBy<TesterDoorbell>>;
};

class CacheWork : LaneLoop<CachePhase, CacheLane, xio::telemetry::Off> {
  using Loop = LaneLoop<CachePhase, CacheLane, xio::telemetry::Off>;

 public:
  XIO_DEVICE CacheWork(const CachePhase& phase, CacheLane& lane)
      : Loop(phase, lane, operations_of(phase, lane)),
        array_(phase.cache, static_cast<uint32_t>(lane.number / phase.wave_size)) {}

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    if (phase_.operation == CacheOperation::flush) {
      // The lanes of one wave share the work.
      if (lane_.number < phase_.wave_size) flush();
    } else {
      for (; left_ != 0 && !stopping_ && lane_.gave_up == 0; --left_, next_ += phase_.stride) {
        const uint64_t now = access(next_);
        Loop::check_limits(now);
      }
    }
    lane_.ended = xio::arch::clock();
    Loop::close_record();
  }

 private:
  XIO_DEVICE static uint64_t operations_of(const CachePhase& phase, const CacheLane& lane) {
    if (lane.number >= phase.operations) return 0;
    return (phase.operations - 1 - lane.number) / phase.stride + 1;
  }

  XIO_DEVICE xio::Deadline deadline(uint64_t started) const { return {started + phase_.deadline_ticks}; }

  XIO_DEVICE void flush() {
    const uint64_t started = xio::arch::clock();
    const xio::Status status =
        Loop::attempt(deadline(started), [&](xio::Deadline part) { return array_.cache().flush(part); });
    lane_.submitted = lane_.number == 0 ? 1 : 0;
    if (!status.is_ok()) return lane_.fail(status, 0);
    if (lane_.number != 0) return;
    lane_.completed = 1;
    lane_.latency->record(xio::arch::clock() - started);
  }

  /// Puts or gets one element; returns the tick at its end.
  XIO_DEVICE uint64_t access(uint64_t n) {
    const bool puts = phase_.operation == CacheOperation::put;
    const uint64_t index = puts ? n : phase_.content.wanted(n);
    const uint64_t expected = phase_.content.value(index);
    uint64_t value = 0;
    ++lane_.submitted;
    const uint64_t started = xio::arch::clock();
    const xio::Status status = Loop::attempt(deadline(started), [&](xio::Deadline part) {
      return puts ? array_.put(index, expected, part) : array_.get(index, value, part);
    });
    const uint64_t now = xio::arch::clock();
    if (!status.is_ok()) {
      lane_.fail(status, index);
      if (status == xio::Status::timed_out || status == xio::Status::broken) lane_.gave_up = 1;
      return now;
    }
    ++lane_.completed;
    lane_.latency->record(now - started);
    if (!phase_.check) return now;
    ++lane_.checked;
    if (value == expected) return now;
    if (lane_.wrong_count == 0) lane_.wrong = index;
    ++lane_.wrong_count;
    return now;
  }

  using Loop::lane_;
  using Loop::left_;
  using Loop::next_;
  using Loop::phase_;
  using Loop::stopping_;
  xio::BlockArray<uint64_t, TesterCache> array_;
};

/// The kernel: one grid of waves.
XIO_DEVICE void cache_workload(const CachePhase& phase) {
  CacheLane& lane = phase.lanes[lane_in_grid()];
  const xio::nvme::DriveSetHandle& drives = phase.cache.drives;
  begin_counting(drives.queues, drives.drives * drives.queues_per_drive);
  CacheWork(phase, lane).run();
  end_counting(lane.sq_rings, lane.cq_rings);
}

}  // namespace tester
