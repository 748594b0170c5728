// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of ConnectX, with the formats of its current devices.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/mlx5/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup kernel_rdma
/// @{
/// Queue pair of ConnectX: rdma::QueuePair with the formats of mlx5.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
/// Receive queue of ConnectX: rdma::ReceiveQueue with the formats of mlx5.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
