// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs, for NVMe and for RDMA. Host code includes what it uses from xio/host.

#include <xio/kv.hpp>
#include <xio/nvme.hpp>
#include <xio/rdma.hpp>
