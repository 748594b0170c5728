// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of ERNIC for the queue protocol (rdma-core, providers/vmw_pvrdma/qp.c and cq.c).

/// @defgroup vendors_ernic ERNIC format
/// @ingroup vendors_rdma
/// Layouts, encoders, decoders and status codes of namespace xio::ernic.

/// @namespace xio::ernic
/// @brief Queues and queue formats of ERNIC, which are those of PVRDMA.

#include <xio/config.hpp>
#include <xio/vendors/ernic/decode.hpp>
#include <xio/vendors/ernic/encode.hpp>
#include <xio/vendors/rdma/verbs.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// ERNIC as a vendor of rdma::QueuePair.
struct Vendor : rdma::verbs::TraitsBase<ring_index> {
  static constexpr const char* name = "ernic";
  using Send = SendEncoder;
  using Receive = ReceiveEncoder;
  using Completions = CompletionDecoder;

  static constexpr bool has_receive_doorbell = true;
  static constexpr bool has_inline = false;

  /// Doorbell value that makes the device read the ring state.
  XIO_HOST_DEVICE static constexpr uint32_t send_doorbell(const rdma::SendShape& shape, uint64_t, uint64_t) {
    return doorbell(shape.qpn, uar_qp_send);
  }
  /// Doorbell value that makes the device read the ring state.
  XIO_HOST_DEVICE static constexpr uint32_t receive_doorbell(const rdma::ReceiveShape& shape, uint64_t) {
    return doorbell(shape.qpn, uar_qp_receive);
  }
  /// Number of completions available from `head` on. `producer`: rx.producer_tail of the completion queue's ring state.
  XIO_HOST_DEVICE static constexpr uint32_t available(uint32_t producer, uint64_t head, uint32_t entries) {
    if (producer >= 2 * entries) return 0;  // out of range for this ring
    return (producer - static_cast<uint32_t>(head)) & (2 * entries - 1);
  }
};

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
