// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs to drive RDMA NICs, with the formats of all vendors. Host code includes what it
/// uses from xio/host.

#include <xio/device/core/placement.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/bnxt/queues.hpp>
#include <xio/vendors/ernic/queues.hpp>
#include <xio/vendors/ionic/queues.hpp>
#include <xio/vendors/mlx5/queues.hpp>
#include <xio/vendors/rxe/queues.hpp>
#include <xio/version.hpp>
