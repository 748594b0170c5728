// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of NetXtreme-E, with the formats of its current devices.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/bnxt/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup kernel_rdma
/// @{
/// Queue pair of NetXtreme-E: rdma::QueuePair with the formats of bnxt.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
/// Receive queue of NetXtreme-E: rdma::ReceiveQueue with the formats of bnxt.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
