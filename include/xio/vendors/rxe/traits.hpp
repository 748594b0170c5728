// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of Soft-RoCE for the queue protocol (Linux UAPI, rdma/rdma_user_rxe.h).

#include <xio/config.hpp>
#include <xio/vendors/rxe/decode.hpp>
#include <xio/vendors/rxe/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Properties that a completion queue was created with. Derive and hide a member to change it.
struct Options {
  static constexpr uint32_t cqe_bytes = 128;  ///< 1 << QueueHeader::log2_entry_bytes of the completion queue
};

/// Soft-RoCE as a vendor of rdma::QueuePair. The doorbell is a word in memory that the host serves by a system call.
template <class Variant = Options>
struct Vendor {
  static constexpr const char* name = "rxe";
  using Send = SendEncoder;
  using Receive = ReceiveEncoder;
  using Completions = CompletionDecoder<Variant::cqe_bytes>;

  static constexpr bool power_of_two = true;
  static constexpr bool wraps = false;
  static constexpr bool counts_operations = false;  ///< progress() uses Progress::operations
  static constexpr bool has_side_table = false;
  static constexpr bool has_send_record = true;
  static constexpr bool has_send_doorbell = true;
  static constexpr bool doorbell_is_served = true;  ///< a host thread serves the word: arch::serve_doorbell()
  static constexpr uint32_t doorbell_stride = 0;
  static constexpr bool has_cq_record = true;
  static constexpr bool has_collapsed_cq = false;
  static constexpr bool has_cq_doorbell = false;
  static constexpr bool has_receive_record = true;
  static constexpr bool has_receive_doorbell = false;
  static constexpr bool has_flush_completions = true;
  static constexpr bool doorbell_repeats_entry = false;
  static constexpr bool has_nop = false;              ///< Operation::nop is supported
  static constexpr bool has_inline = true;            ///< entries can hold data
  static constexpr bool has_local_invalidate = true;  ///< Operation::local_invalidate is supported
  static constexpr bool fence_after_memory_operation = false;
  using Doorbell = uint32_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape& shape) { return shape.entry_shift; }

  /// QueueHeader::producer_index of the send queue.
  XIO_HOST_DEVICE static constexpr uint32_t send_record(const rdma::SendShape& shape, uint64_t end) {
    return ring_index(end, shape.entries);
  }
  /// Doorbell value that makes the host call the kernel: the producer index, which the kernel reads from the header
  /// itself.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape& shape, uint64_t end, uint64_t) {
    return ring_index(end, shape.entries);
  }
  /// QueueHeader::producer_index of the receive queue.
  XIO_HOST_DEVICE static constexpr uint32_t receive_record(const rdma::ReceiveShape& shape, uint64_t end) {
    return ring_index(end, shape.entries);
  }
  /// QueueHeader::consumer_index of the completion queue.
  XIO_HOST_DEVICE static constexpr uint32_t cq_record(uint64_t head, uint32_t entries) {
    return ring_index(head, entries);
  }
  /// Number of completions available from `head` on. `producer`: QueueHeader::producer_index of the completion queue.
  XIO_HOST_DEVICE static constexpr uint32_t available(uint32_t producer, uint64_t head, uint32_t entries) {
    return (producer - static_cast<uint32_t>(head)) & (entries - 1);
  }

  /// Progress of the send queue after a completion. The wr_id of an entry is the producer counter after it.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape&, rdma::Progress,
                                                           const rdma::WorkCompletion& completion, Read) {
    return {completion.wr_id, 0};
  }
};

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
