// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of ERNIC for the queue protocol (rdma-core, providers/vmw_pvrdma/qp.c and cq.c).

#include <xio/config.hpp>
#include <xio/vendors/ernic/decode.hpp>
#include <xio/vendors/ernic/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// ERNIC as a vendor of rdma::QueuePair.
struct Vendor {
  static constexpr const char* name = "ernic";
  using Send = SendEncoder;
  using Receive = ReceiveEncoder;
  using Completions = CompletionDecoder;

  static constexpr bool power_of_two = true;
  static constexpr bool wraps = false;
  static constexpr bool counts_operations = false;  ///< progress() uses Progress::operations
  static constexpr bool has_side_table = false;
  static constexpr bool has_send_record = true;
  static constexpr bool has_send_doorbell = true;
  static constexpr bool doorbell_is_served = false;
  static constexpr uint32_t doorbell_stride = 0;
  static constexpr bool has_cq_record = true;
  static constexpr bool has_collapsed_cq = false;
  static constexpr bool has_cq_doorbell = false;
  static constexpr bool has_receive_record = true;
  static constexpr bool has_receive_doorbell = true;
  static constexpr bool has_flush_completions = true;
  static constexpr bool doorbell_repeats_entry = false;
  static constexpr bool has_nop = false;               ///< Operation::nop is supported
  static constexpr bool has_inline = false;            ///< entries can hold data
  static constexpr bool has_local_invalidate = false;  ///< Operation::local_invalidate is supported
  static constexpr bool fence_after_memory_operation = false;
  using Doorbell = uint32_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape& shape) { return shape.entry_shift; }

  /// tx.producer_tail of the queue pair's ring state.
  XIO_HOST_DEVICE static constexpr uint32_t send_record(const rdma::SendShape& shape, uint64_t end) {
    return ring_index(end, shape.entries);
  }
  /// Doorbell value that makes the device read the ring state.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape& shape, uint64_t, uint64_t) {
    return doorbell(shape.qpn, uar_qp_send);
  }
  /// rx.producer_tail of the queue pair's ring state.
  XIO_HOST_DEVICE static constexpr uint32_t receive_record(const rdma::ReceiveShape& shape, uint64_t end) {
    return ring_index(end, shape.entries);
  }
  /// Doorbell value that makes the device read the ring state.
  XIO_HOST_DEVICE static constexpr Doorbell receive_doorbell(const rdma::ReceiveShape& shape, uint64_t) {
    return doorbell(shape.qpn, uar_qp_receive);
  }
  /// rx.consumer_head of the completion queue's ring state.
  XIO_HOST_DEVICE static constexpr uint32_t cq_record(uint64_t head, uint32_t entries) {
    return ring_index(head, entries);
  }
  /// Number of completions available from `head` on. `producer`: rx.producer_tail of the completion queue's ring state.
  XIO_HOST_DEVICE static constexpr uint32_t available(uint32_t producer, uint64_t head, uint32_t entries) {
    if (producer >= 2 * entries) return 0;  // out of range for this ring
    return (producer - static_cast<uint32_t>(head)) & (2 * entries - 1);
  }

  /// Progress of the send queue after a completion. The wr_id of an entry is the producer counter after it.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape&, rdma::Progress,
                                                           const rdma::WorkCompletion& completion, Read) {
    return {completion.wr_id, 0};
  }
};

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
