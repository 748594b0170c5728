// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of ERNIC, with the formats of its current devices.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/ernic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup kernel_rdma
/// @{
/// Queue pair of ERNIC: rdma::QueuePair with the formats of ernic.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor, S, Policy>;
/// Receive queue of ERNIC: rdma::ReceiveQueue with the formats of ernic.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor, S, Policy>;
/// @}
}  // namespace ernic

XIO_NAMESPACE_END
