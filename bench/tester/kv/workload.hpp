// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief kv-ep's kernel: every lane has one operation in flight, on a queue that all lanes of its waves share.

#include <xio/device/nvme/kv_queue.hpp>

#include "tester/kv/phase.hpp"
#include "tester/measure/lane_loop.hpp"
#include "tester/nvme/counting_doorbell.hpp"

namespace tester {

template <class Queue>
class KvWork : LaneLoop<KvPhase, KvLane, xio::telemetry::Off> {
  using Loop = LaneLoop<KvPhase, KvLane, xio::telemetry::Off>;

 public:
  XIO_DEVICE KvWork(Queue& queue, const KvPhase& phase, KvLane& lane)
      : Loop(phase, lane, operations_of(phase, lane)), queue_(queue), offset_(lane.number * phase.buffer_bytes) {}

  XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    for (; left_ != 0 && !stopping_ && lane_.gave_up == 0; --left_, next_ += phase_.stride) {
      const uint64_t now = execute(next_);
      Loop::check_limits(now);
    }
    lane_.ended = xio::arch::clock();
    Loop::close_record();
  }

 private:
  XIO_DEVICE static uint64_t operations_of(const KvPhase& phase, const KvLane& lane) {
    if (lane.number >= phase.operations) return 0;
    return (phase.operations - 1 - lane.number) / phase.stride + 1;
  }

  XIO_DEVICE xio::nvme::Command command(uint64_t number, uint32_t bytes) const {
    const xio::nvme::kv::Key key = phase_.content.key(number);
    switch (phase_.operation) {
      case KvOperation::store: return xio::nvme::kv::store(key, bytes);
      case KvOperation::retrieve: return xio::nvme::kv::retrieve(key, bytes);
      case KvOperation::remove: return xio::nvme::kv::remove(key);
      default: return xio::nvme::kv::exist(key);
    }
  }

  /// Executes one operation; returns the tick at its end.
  XIO_DEVICE uint64_t execute(uint64_t number) {
    const bool moves = phase_.operation == KvOperation::store || phase_.operation == KvOperation::retrieve;
    const uint32_t bytes = moves ? phase_.content.bytes(number) : 0;
    auto* const words = reinterpret_cast<uint64_t*>(phase_.data + offset_);
    if (phase_.operation == KvOperation::store) phase_.content.fill(words, number);
    lane_.kept = {};
    ++lane_.submitted;
    const uint64_t started = xio::arch::clock();
    const xio::Deadline until{started + phase_.deadline_ticks};
    xio::Token token{};
    (void)Loop::attempt(until, [&](xio::Deadline part) {
      token = queue_.submit(command(number, bytes), phase_.values.at(offset_, bytes), part,
                            xio::Options<>().keep(lane_.kept));
      return token.status;
    });
    xio::Status status = token.status;
    if (token.submitted()) status = Loop::attempt(until, [&](xio::Deadline part) { return queue_.wait(token, part); });
    const uint64_t now = xio::arch::clock();
    if (status == xio::Status::expired) status = kept_status(status);
    finish(number, bytes, status, now - started);
    return now;
  }

  /// The status that the queue stored with the result: of more failed operations than it has on record, wait() tells
  /// the last ones only.
  XIO_DEVICE xio::Status kept_status(xio::Status otherwise) const {
    const uint64_t word = xio::arch::observe<xio::arch::Scope::system>(&lane_.kept.ended);
    if ((word & xio::KeptResult::has_ended) == 0) return otherwise;
    return xio::nvme::CompletionFormat::decode(static_cast<uint16_t>(word & xio::Notification::device_status));
  }

  XIO_DEVICE void finish(uint64_t number, uint32_t bytes, xio::Status status, uint64_t ticks) {
    if (phase_.operation == KvOperation::absent) {
      if (status.is_ok()) {
        status = xio::Status(xio::Status::conflict);  // the key exists
      } else if (status == xio::Status::unwritten) {
        status = xio::Status(xio::Status::ok);
      }
    }
    if (!status.is_ok()) {
      lane_.fail(status, number);
      // The queue may still use the buffer and the kept result.
      if (status == xio::Status::timed_out || status == xio::Status::broken) lane_.gave_up = 1;
      return;
    }
    ++lane_.completed;
    lane_.bytes += bytes;
    lane_.latency->record(ticks);
    if (phase_.check) check(number, bytes);
  }

  XIO_DEVICE void check(uint64_t number, uint32_t bytes) {
    const auto told = static_cast<uint32_t>(xio::arch::load<xio::arch::Scope::system>(&lane_.kept.result));
    const uint32_t differs =
        phase_.content.first_difference(reinterpret_cast<const uint64_t*>(phase_.data + offset_), number);
    ++lane_.checked;
    if (told == bytes && differs == ~0u) return;
    if (lane_.wrong_count == 0) lane_.wrong = {number, told, differs};
    ++lane_.wrong_count;
  }

  using Loop::lane_;
  using Loop::left_;
  using Loop::next_;
  using Loop::phase_;
  using Loop::stopping_;
  Queue& queue_;
  const uint64_t offset_;
};

/// The kernel. `lanes_per_queue` lanes share a queue, in one block or in several.
XIO_DEVICE void kv_workload(const KvPhase& phase) {
  using Queue = xio::nvme::kv::Queue<xio::Sharing::grid, xio::Policy<xio::Notify, xio::RingBy<TesterDoorbell>>>;
  KvLane& lane = phase.lanes[lane_in_grid()];
  const xio::nvme::QueueHandle& handle = phase.queues[queue_of_lane(phase)];
  begin_counting(&handle, 1);
  Queue queue(handle);
  KvWork<Queue>(queue, phase, lane).run();
  end_counting(lane.sq_rings, lane.cq_rings);
}

}  // namespace tester
