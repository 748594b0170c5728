// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Common part of one lane's work in a phase, independent of its window: the next operation, the handling of its
/// status, and periodic checks.

#include <xio/device/nvme/queue.hpp>

#include "tester/measure/lane_loop.hpp"
#include "tester/nvme/phase.hpp"

namespace tester {

/// Whether a queue stands for several drives (StripedQueue).
template <class Queue>
inline constexpr bool is_striped = false;

template <class Queue, class Telemetry>
class LaneBase : protected LaneLoop<Phase, Lane, Telemetry> {
  using Loop = LaneLoop<Phase, Lane, Telemetry>;

 protected:
  static constexpr uint32_t most_at_once = 64;  // completions taken before new operations are submitted

  XIO_DEVICE LaneBase(Queue& queue, const Phase& phase, Lane& lane)
      : Loop(phase, lane, operations_of(phase, lane)), queue_(queue), commands_(commands_of(queue, phase)) {
    const uint64_t span = phase.buffers_per_slot * phase.buffer_bytes;
    for (uint32_t i = 0; i < lane.window; ++i) lane.slots[i].buffer = (lane.first_slot + i) * span;
  }

  /// Operations of a lane.
  XIO_DEVICE static uint64_t operations_of(const Phase& phase, const Lane& lane) {
    if (lane.window == 0 || lane.number >= phase.operations) return 0;
    return phase.repeat ? ~uint64_t{0} : (phase.operations - 1 - lane.number) / phase.stride + 1;
  }

  /// Commands of one operation.
  XIO_DEVICE static uint32_t commands_of(const Queue& queue, const Phase& phase) {
    const uint32_t longest = queue.handle().max_blocks;
    return (phase.pattern.blocks + longest - 1) / longest;
  }

  /// Prepares a place for the lane's next operation: its blocks, its buffer and, for writes, its data.
  XIO_DEVICE_INLINE void prepare(uint32_t place) {
    Slot& slot = lane_.slots[place];
    slot.lba = phase_.pattern.lba(next_);
    if (phase_.buffers_per_slot != 1) {
      const uint64_t span = phase_.buffers_per_slot * phase_.buffer_bytes;
      slot.buffer += phase_.buffer_bytes;
      if (slot.buffer == (lane_.first_slot + place + 1) * span) slot.buffer -= span;
    }
    next_ += phase_.stride;
    if (phase_.repeat) {
      if (next_ >= phase_.operations) next_ %= phase_.operations;
    } else {
      --left_;
    }
    if (phase_.fill) fill(slot);
  }

  /// Whether writes and reads are submitted by separate calls, which lets the compiler resolve what depends on the kind
  /// of command. On a GPU, one call keeps the kernel small.
  static constexpr bool has_separate_calls = xio::arch::branches_are_cheap;

  XIO_DEVICE_INLINE xio::nvme::Command write(const Slot& slot) const {
    return xio::nvme::write(slot.lba, phase_.pattern.blocks);
  }
  /// The command of an operation; with separate calls, of a read.
  XIO_DEVICE_INLINE xio::nvme::Command command(const Slot& slot) const {
    const bool writes = !has_separate_calls && phase_.direction == Direction::write;
    return xio::nvme::command(writes ? xio::nvme::Opcode::write : xio::nvme::Opcode::read)
        .range(slot.lba, phase_.pattern.blocks);
  }

  XIO_DEVICE xio::nvme::ContiguousPages pages(const Slot& slot) const { return {phase_.data_bus + slot.buffer}; }

  XIO_DEVICE void fill(const Slot& slot) const {
    uint8_t* const to = phase_.data + slot.buffer;
    const uint32_t bytes = block_bytes();
    for (uint32_t i = 0; i < phase_.pattern.blocks; ++i)
      phase_.content.fill(to + uint64_t{i} * bytes, slot.lba + i, bytes);
  }

  XIO_DEVICE void check(const Slot& slot) {
    const uint8_t* data = phase_.data + slot.buffer;
    const uint32_t bytes = block_bytes();
    for (uint32_t i = 0; i < phase_.pattern.blocks; ++i, data += bytes) {
      const uint32_t differs = phase_.content.first_difference(data, slot.lba + i, bytes);
      if (differs == bytes) continue;
      if (lane_.wrong_count < lane_.wrong_room) {
        const auto* const words = reinterpret_cast<const uint64_t*>(data);
        lane_.wrong[lane_.wrong_count] = {slot.lba + i, {words[0], words[1]}, differs, 0};
      }
      ++lane_.wrong_count;
    }
    lane_.checked += phase_.pattern.blocks;
  }

  /// Records an operation that failed.
  XIO_DEVICE void fail(xio::Status status, uint64_t lba) {
    lane_.fail(status, lba);
    if constexpr (is_striped<Queue>) ++lane_.failed_on[queue_.drive_of(lba)];
  }
  /// Records an operation that succeeded, by its latency.
  XIO_DEVICE void succeed(const Slot& slot) {
    ++lane_.completed;
    if constexpr (is_striped<Queue>)
      lane_.latency[queue_.drive_of(slot.lba)].record(slot.started);
    else
      lane_.latency->record(slot.started);
  }

  /// Records an operation that was not submitted; after some statuses the lane gives up.
  XIO_DEVICE void refused(xio::Status status, uint64_t lba) {
    fail(status, lba);
    if (status == xio::Status::broken || status == xio::Status::timed_out) lane_.gave_up = 1;
  }

  /// Checks time limits and the host's stop request, and reports progress.
  XIO_DEVICE void glance(uint64_t now, bool any_in_flight, bool any_staged) {
    if (Loop::check_limits(now) == stop_waiting && any_in_flight) lane_.gave_up = 1;
    // The queue is full although this lane has nothing in flight: other lanes fill it, possibly indefinitely.
    if (!any_staged || any_in_flight) {
      blocked_since_ = 0;
    } else if (blocked_since_ == 0) {
      blocked_since_ = now;
    } else if (Loop::overdue(now, blocked_since_)) {
      lane_.gave_up = 1;
    }
  }

  XIO_DEVICE uint32_t block_bytes() const { return 1u << queue_.handle().block_shift; }

  using Loop::lane_;
  using Loop::left_;
  using Loop::next_;
  using Loop::phase_;
  Queue& queue_;
  uint64_t blocked_since_ = 0;
  const uint32_t commands_;
};

}  // namespace tester
