// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The queues of NVMe and RDMA. What lies above them, xio/cache.hpp and xio/fabrics.hpp, is included by itself;
/// host code includes what it uses from xio/host.

#include <xio/kv.hpp>
#include <xio/nvme.hpp>
#include <xio/rdma.hpp>
