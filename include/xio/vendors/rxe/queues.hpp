// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of Linux soft-RoCE, with the formats of its current devices.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/rxe/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup kernel_rdma
/// @{
/// Queue pair of Linux soft-RoCE: rdma::QueuePair with the formats of rxe.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
/// Receive queue of Linux soft-RoCE: rdma::ReceiveQueue with the formats of rxe.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
/// @}
}  // namespace rxe

XIO_NAMESPACE_END
