// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs for NVMe over RDMA. Host code includes what it uses from xio/host.

#include <xio/device/fabrics/transport.hpp>
#include <xio/nvme.hpp>
#include <xio/rdma.hpp>
