// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs to drive RDMA NICs, with the formats of all vendors. Host code includes what it
/// uses from xio/host.

#include <xio/device/queue/placement.hpp>
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
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
}  // namespace mlx5

namespace bnxt {
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
}  // namespace bnxt

namespace ionic {
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
}  // namespace ionic

namespace ernic {
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor, S, Policy>;
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor, S, Policy>;
}  // namespace ernic

namespace rxe {
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using QueuePair = rdma::QueuePair<Vendor<>, S, Policy>;
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
using ReceiveQueue = rdma::ReceiveQueue<Vendor<>, S, Policy>;
}  // namespace rxe

XIO_NAMESPACE_END
