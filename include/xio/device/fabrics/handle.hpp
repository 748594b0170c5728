// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a kernel needs of an NVMe queue over RDMA besides its QueueHandle.

#include <xio/device/nvme/handle.hpp>
#include <xio/device/rdma/row.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Of an NVMe queue over RDMA: its queue pair, and its rings as registered. In memory that the executing side can
/// access; filled by the host, and constant but for `cause`.
///
/// The queue's rings are those of its QueueHandle: `sq` holds the capsules and `cq` the responses, of which `cq_mask`
/// are posted as receives at any time, and both doorbells point here: point_to(). The host posts the first `cq_mask`
/// receives. Room that is needed, in messages:
///
/// | of                      | at least                                                                    |
/// |-------------------------|-----------------------------------------------------------------------------|
/// | `cq_mask`               | more than the queue's depth: the difference is posted again by one doorbell |
/// | the receive ring        | `cq_mask`                                                                   |
/// | the send ring (`depth`) | more than the queue's depth and QueuePairHandle::signal_every together      |
/// | the ring of capsules    | the send ring: verbs forbid to overwrite one before its SEND has ended      |
struct FabricLink {
  rdma::QueuePairHandle send;        ///< nothing else is posted there, from its first entry on
  rdma::ReceiveQueueHandle receive;  ///< its slots are not used
  rdma::MessageRing capsules;        ///< QueueHandle::sq
  rdma::MessageRing responses;       ///< QueueHandle::cq
  uint32_t data_key;                 ///< remote key of data whose source names no key: pieces of batches, page sources,
                                     ///< pieces of a DriveRegion
  uint32_t cause;                    ///< packed Status of the first receive that failed; 0: none has
};

/// Makes a queue one of `link`, which stays where it is for as long as the queue is used.
XIO_HOST_DEVICE inline void point_to(QueueHandle& queue, FabricLink& link) {
  queue.sq_doorbell = queue.cq_doorbell = reinterpret_cast<uint32_t*>(&link);
}

/// Why a queue over RDMA broke, for the host once no kernel uses it: the failure of a SEND if one is known, else that
/// of a receive. Status::ok: no message failed.
XIO_HOST_DEVICE inline Status cause_of(const FabricLink& link) {
  const Status sends = protocol::unpack(link.send.send->failed_status);
  const bool flushed = sends.is_ok() || sends == Status::flushed;
  return flushed && link.cause != 0 ? protocol::unpack(link.cause) : sends;
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
