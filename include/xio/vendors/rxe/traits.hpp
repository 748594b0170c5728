// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of Soft-RoCE for the queue protocol (Linux UAPI, rdma/rdma_user_rxe.h).

/// @defgroup vendors_rxe Soft-RoCE format
/// @ingroup vendors_rdma
/// Layouts, encoders, decoders and status codes of namespace xio::rxe.

/// @namespace xio::rxe
/// @brief Queues and queue formats of Linux soft-RoCE.

#include <xio/config.hpp>
#include <xio/vendors/rdma/verbs.hpp>
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
struct Vendor : rdma::verbs::TraitsBase<ring_index> {
  static constexpr const char* name = "rxe";
  using Send = SendEncoder;
  using Receive = ReceiveEncoder;
  using Completions = CompletionDecoder<Variant::cqe_bytes>;

  static constexpr bool doorbell_is_served = true;
  static constexpr bool has_local_invalidate = true;

  /// Doorbell value that makes the host call the kernel: the producer index, which the kernel reads from the header
  /// itself.
  XIO_HOST_DEVICE static constexpr uint32_t send_doorbell(const rdma::SendShape& shape, uint64_t end, uint64_t) {
    return ring_index(end, shape.entries);
  }
  /// Number of completions available from `head` on. `producer`: QueueHeader::producer_index of the completion queue.
  XIO_HOST_DEVICE static constexpr uint32_t available(uint32_t producer, uint64_t head, uint32_t entries) {
    return (producer - static_cast<uint32_t>(head)) & (entries - 1);
  }
};

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
