// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of Pensando NICs, with the formats of its current devices.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/ionic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup kernel_rdma
/// @{
/// Queue pair of Pensando NICs: rdma::QueuePair with the formats of ionic.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
/// Receive queue of Pensando NICs: rdma::ReceiveQueue with the formats of ionic.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
/// @}
}  // namespace ionic

XIO_NAMESPACE_END
