// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A soft-RoCE queue pair ready for kernels: handles for rdma::QueuePair and rdma::ReceiveQueue, and recovery.
/// Empty without the header of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/core/ring.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/host/error.hpp>
#include <xio/host/rdma/queue_states.hpp>
#include <xio/host/rdma/receive_slots.hpp>
#include <xio/host/rdma/rxe_doorbell.hpp>
#include <xio/vendors/rxe/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// Completion queue sizes of a soft-RoCE endpoint. Each ring has the next power of two that holds one more entry.
struct RxeCompletionEntries {
  uint32_t send = 0;     ///< 0: twice the requested size of the send queue, plus 2
  uint32_t receive = 0;  ///< 0: twice the requested size of the receive queue, plus 2
};

/// A soft-RoCE queue pair with a completion queue for each side, and the state that kernels keep in memory for it. Not
/// movable: handles point into it.
class RxeEndpoint {
 public:
  using Vendor = rxe::Vendor<>;  ///< for rdma::QueuePair and rdma::ReceiveQueue

  RxeEndpoint(const RdmaDevice& device, const ProtectionDomain& domain, const QueuePairOptions& options = {},
              const RxeCompletionEntries& completions = {},
              RungBy by = arch::doorbells_call ? RungBy::caller : RungBy::thread)
      : send_cq_(device, completions.send != 0 ? completions.send : 2 * options.send_entries + 2),
        receive_cq_(device, completions.receive != 0 ? completions.receive : 2 * options.receive_entries + 2),
        queue_(device, domain, send_cq_, receive_cq_, options),
        memory_(RdmaQueueStates::bytes(queue_.send_ring().count, queue_.receive_ring().count) / sizeof(Line) + 1),
        states_(memory_.data(), queue_.send_ring().count, queue_.receive_ring().count),
        doorbell_(queue_, by) {
    for (const RxeCompletionQueue* cq : {&send_cq_, &receive_cq_}) {
      if (cq->ring().entry_bytes != Vendor::Completions::entry_bytes)
        throw Error("rxe: completions lie " + std::to_string(cq->ring().entry_bytes) + " bytes apart and not " +
                    std::to_string(Vendor::Completions::entry_bytes) +
                    "; use rxe::Vendor with another Options::cqe_bytes");
    }
  }
  RxeEndpoint(const RxeEndpoint&) = delete;
  RxeEndpoint& operator=(const RxeEndpoint&) = delete;

  RxeQueuePair& queue() { return queue_; }
  VerbsQueuePair& verbs_queue() { return queue_.verbs_queue(); }
  /// Does nothing: the rings are known from the beginning. Of endpoints of other vendors to be called once others than
  /// connect() have connected the queue pair.
  void adopt() {}
  const RxeDoorbell& doorbell() const { return doorbell_; }

  /// Handle from which a kernel posts operations.
  rdma::QueuePairHandle handle() {
    const RxeRing& ring = queue_.send_ring();
    const QueuePairOptions& options = queue_.verbs_queue().options();
    rdma::QueuePairHandle h{};
    h.state = states_.send();
    h.send = states_.more();
    h.sq = ring.entries;
    h.sq_record = &ring.header->producer_index;
    h.sq_doorbell = doorbell_.word();
    h.shape.qpn = queue_.verbs_queue().qpn();
    h.shape.entries = ring.count;
    h.shape.entry_shift = log2_of(ring.entry_bytes);
    h.shape.max_sges = options.send_sges;
    h.shape.max_inline = options.inline_bytes;
    h.depth = ring.capacity();
    h.signal_every = ring.count >= 8 ? ring.count / 4 : 1;
    h.cq = handle_of(send_cq_);
    return h;
  }

  /// Handle from which a kernel posts receives.
  rdma::ReceiveQueueHandle receive_handle() {
    const RxeRing& ring = queue_.receive_ring();
    rdma::ReceiveQueueHandle h{};
    h.state = states_.receive();
    h.rq = ring.entries;
    h.record = &ring.header->producer_index;
    h.slots = states_.slots();
    h.shape = {queue_.verbs_queue().qpn(), ring.count, log2_of(ring.entry_bytes),
               queue_.verbs_queue().options().receive_sges};
    h.depth = ring.capacity();
    h.cq = handle_of(receive_cq_);
    return h;
  }

  /// Makes a failed queue pair usable again, once no kernel uses it: outstanding operations are abandoned, and their
  /// tokens are lost. Then connect it again.
  void recover(std::chrono::milliseconds limit) {
    queue_.recover(limit);
    restart(*states_.send(), send_cq_, states_.more()->cq_head);
    restart(states_.receive()->queue, receive_cq_, protocol::retired(states_.receive()->queue.retired));
    states_.receive()->ended = 0;
    states_.receive()->passed_over = states_.receive()->queue.acknowledged - states_.receive()->queue.retired;
    begin_slots(states_.slots(), queue_.receive_ring().count, states_.receive()->queue.retired);
    *states_.more() = rdma::SendState{};
    states_.more()->cq_head = states_.send()->acknowledged;
  }

 private:
  struct alignas(64) Line {
    unsigned char byte[64];
  };

  static uint32_t log2_of(uint32_t power_of_two) { return static_cast<uint32_t>(__builtin_ctz(power_of_two)); }

  static rdma::CompletionQueueHandle handle_of(const RxeCompletionQueue& cq) {
    const RxeRing& ring = cq.ring();
    return {ring.entries, &ring.header->producer_index, &ring.header->consumer_index, nullptr, ring.count, 0};
  }

  /// Restarts the state: the driver's indices and the counters continue; nothing is in flight.
  static void restart(QueueState& state, const RxeCompletionQueue& cq, uint64_t head) {
    const RxeRing& ring = cq.ring();
    const uint64_t reserved = protocol::tickets(state.reserved);
    state = QueueState{};
    protocol::begin_at(state, reserved);
    state.acknowledged = ring::widen(head, ring.producer(), ring.mask());
    __atomic_store_n(&ring.header->consumer_index, ring.producer(), __ATOMIC_RELEASE);
  }

  RxeCompletionQueue send_cq_;
  RxeCompletionQueue receive_cq_;
  RxeQueuePair queue_;
  std::vector<Line> memory_;
  RdmaQueueStates states_;
  RxeDoorbell doorbell_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
