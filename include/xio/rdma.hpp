// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs to drive RDMA NICs, with the formats of all vendors. Host code includes what it
/// uses from xio/host.

#include <xio/device/core/placement.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>
#include <xio/version.hpp>

XIO_NAMESPACE_BEGIN

// Each vendor's queues, with the formats of its current devices.
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
