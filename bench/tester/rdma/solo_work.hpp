// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The RDMA workload of a lane with its own queue pair whose operations need nothing but their completion: plain
/// writes and reads without receives and without comparison. It keeps the cost of an operation low.

#include <xio/device/rdma/queue_pair.hpp>

#include "tester/rdma/lane_base.hpp"

namespace tester {

/// Work of one lane, for the phases that fits() accepts.
template <class Vendor, class Telemetry>
class RdmaSoloWork : RdmaLaneBase<Telemetry> {
  using Base = RdmaLaneBase<Telemetry>;

 public:
  XIO_DEVICE static bool fits(const RdmaPhase& phase) {
    const bool plain = phase.verb == RdmaVerb::read || (phase.verb == RdmaVerb::write && !phase.immediate);
    const bool one_sge = phase.bytes != 0 && !phase.inline_data;
    return plain && one_sge && !phase.check && !phase.notices && phase.receives == 0;
  }

  XIO_DEVICE RdmaSoloWork(const RdmaPhase& phase, RdmaLane& lane)
      : Base(phase, lane),
        queue_(phase.queues[xio::arch::block_index()]),
        near_(phase.local.base + lane.offset),
        far_(phase.remote.base + lane.far_offset) {}

  /// Without calls: each of them would cost a dozen instructions.
  [[gnu::flatten]] XIO_DEVICE void run() {
    lane_.began = xio::arch::clock();
    const uint64_t doorbells = doorbells_stored();
    uint32_t idle = 0;
    for (uint32_t round = 1; Base::working(); ++round) {
      const bool submitted = submit();
      const bool completed = complete();
      idle = submitted || completed ? 0 : idle + 1;
      if (completed && round % Base::rounds_per_glance != 0) continue;
      now_ = 0;
      if (idle != 0) xio::arch::pause(idle);
      if (round % Base::rounds_per_glance == 0) Base::glance();
    }
    lane_.ended = xio::arch::clock();
    lane_.doorbells += doorbells_stored() - doorbells;
    if constexpr (!Queue::stored_each_time) queue_.end();
    Base::leave();
  }

 private:
  // Only ring() rings doorbells, once per batch. Registers hold the queue's state if the vendor allows it.
  using Holder = typename xio::Choose<Vendor::doorbell_stride == 0, xio::rdma::InRegisters, xio::rdma::InMemory>::type;
  using Queue = xio::rdma::QueuePair<Vendor, xio::Sharing::thread, xio::Policy<xio::Deferred<32768>>, Holder>;
  using typename Base::Step;

  using Base::judge_;
  using Base::lane_;
  using Base::left_;
  using Base::next_;
  using Base::phase_;
  using Base::stopping_;
  using Base::telemetry_;
  using Base::window_;

  /// Submits the batches that fit. Returns whether there were any.
  XIO_DEVICE_INLINE bool submit() {
    const uint32_t count = Base::fitting_batch();
    if (count == 0) return false;
    const bool writes = phase_.verb == RdmaVerb::write;
    if constexpr (xio::arch::branches_are_cheap) {
      // Separate calls let the compiler resolve what depends on the operation.
      writes ? post(xio::rdma::Operation::put, count) : post(xio::rdma::Operation::get, count);
    } else {
      // One call: the kernel should fit into the instruction cache.
      post(writes ? xio::rdma::Operation::put : xio::rdma::Operation::get, count);
    }
    return true;
  }

  /// Posts batches, the first of `count` operations, while they fit. What it reads and changes is in local variables:
  /// the compiler would reload members after each store to the ring.
  XIO_DEVICE_INLINE void post(xio::rdma::Operation operation, uint32_t count) {
    const uint64_t place_bytes = phase_.place_bytes;
    const uint64_t stride = phase_.stride;
    const uint64_t taken = phase_.repeat ? 0 : 1;  // operations that a submitted one takes from those that are left
    const bool one_time = phase_.coarse_timing;
    const uint64_t head = window_.head;
    const uint64_t first = window_.tail;
    RdmaSlot* const slots = lane_.slots;
    uint32_t near = near_tail_;
    uint32_t far = far_tail_;
    uint64_t tail = first;
    uint64_t number = next_;
    uint64_t left = Base::left();
    uint64_t batches = 0;
    // What was read when the last completion was found is the time of the submission that follows at once.
    uint64_t now = now_;
    now_ = 0;
    xio::rdma::Sge data{near_ + near * place_bytes, phase_.bytes, phase_.local.key};
    xio::rdma::Work work;
    work.operation = operation;
    work.remote = far_ + far * place_bytes;
    work.rkey = phase_.remote.rkey;
    do {
      if (now == 0) now = xio::arch::clock();
      left -= count * taken;
      const uint64_t end = tail + count;
      slots[near].batch_end = end;
      for (;;) {
        RdmaSlot& it = slots[near];
        it.started = now;
        it.number = number;
        work.flags = tail + 1 == end ? xio::rdma::work_flag::signaled : 0;
        const uint64_t posting = Telemetry::start();
        it.token = queue_.submit(work, xio::rdma::OneSge{data}, xio::Deadline{now + phase_.deadline_ticks});
        telemetry_.stop(Step::enqueue, posting);
        if (XIO_UNLIKELY(!it.token.submitted())) {
          judge_.fail(it.token.status, number);
          stopping_ = true;
          left = 0;
          break;
        }
        number += stride;
        data.address += place_bytes;
        work.remote += place_bytes;
        if (++near == window_.near_size) {
          near = 0;
          data.address = near_;
        }
        if (++far == window_.far_size) {
          far = 0;
          work.remote = far_;
        }
        if (++tail == end) break;
        if (!one_time) now = xio::arch::clock();
      }
      const uint64_t ringing = Telemetry::start();
      queue_.ring();
      telemetry_.stop(Step::sq_doorbell, ringing);
      ++batches;
      now = 0;
      const auto in_flight = static_cast<uint32_t>(tail - head);
      if (in_flight == phase_.depth) break;
      count = Base::fitting_batch(left, in_flight);
    } while (count != 0);
    left_ = left;
    next_ = number;
    near_tail_ = near;
    far_tail_ = far;
    window_.tail = tail;
    lane_.submitted += tail - first;
    lane_.batches += batches;
  }

  /// Completes operations in posting order. Returns whether any completed.
  XIO_DEVICE_INLINE bool complete() {
    RdmaSlot* const slots = lane_.slots;
    const uint64_t before = window_.head;
    const uint64_t tail = window_.tail;
    uint64_t head = before;
    uint32_t near = window_.near_head;
    uint64_t completed = 0;
    uint64_t now = 0;
    while (head != tail) {
      // Only the last operation of a batch has a completion.
      RdmaSlot& first = slots[near];
      // After a refusal the last batch is shorter.
      uint64_t end = first.batch_end < tail ? first.batch_end : tail;
      if (XIO_UNLIKELY(head < each_until_)) end = head + 1;
      const auto count = static_cast<uint32_t>(end - head);
      const xio::Token& last = count == 1 ? first.token : slots[window_.near_after(near, count - 1)].token;
      const uint64_t looking = Telemetry::start();
      const xio::Status status = queue_.test(last);
      telemetry_.stop(Step::cq_poll, looking);
      if (status == xio::Status::pending) break;
      // One clock reading for all that one poll finds.
      if (now == 0) now = xio::arch::clock();
      if (XIO_UNLIKELY(!status.is_ok())) {
        if (count != 1) {
          each_until_ = end;
          continue;
        }
        // Later operations of this queue pair are flushed.
        judge_.fail(status, first.number);
        stopping_ = true;
      } else {
        completed += count;
        if (XIO_LIKELY(count == 1)) {
          lane_.latency->record(now - first.started);
        } else if (phase_.coarse_timing) {
          lane_.latency->record(now - first.started, count);
        } else {
          for (uint32_t i = 0; i < count; ++i) lane_.latency->record(now - slots[window_.near_after(near, i)].started);
        }
      }
      near = window_.near_after(near, count);
      head = end;
    }
    window_.near_head = near;
    window_.head = head;
    lane_.completed += completed;
    now_ = now;
    return head != before;
  }

  Queue queue_;
  const uint64_t near_;  // addresses of the lane's memory on both sides
  const uint64_t far_;
  uint32_t near_tail_ = 0;  // positions of the next operation to post
  uint32_t far_tail_ = 0;
  uint64_t each_until_ = 0;  // index up to which operations are tested one by one, since their batch failed
  uint64_t now_ = 0;         // tick of the completions that were just found; 0: none
};

}  // namespace tester
