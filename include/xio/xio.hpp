// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs. Host code includes what it uses from xio/host.

#include <xio/config.hpp>
#include <xio/device/arch.hpp>
#include <xio/device/com.hpp>
#include <xio/device/completion.hpp>
#include <xio/device/deadline.hpp>
#include <xio/device/doorbell.hpp>
#include <xio/device/drive_set.hpp>
#include <xio/device/nvme.hpp>
#include <xio/device/nvme_command.hpp>
#include <xio/device/nvme_data.hpp>
#include <xio/device/nvme_handle.hpp>
#include <xio/device/nvme_rings.hpp>
#include <xio/device/pattern.hpp>
#include <xio/device/placement.hpp>
#include <xio/device/policy.hpp>
#include <xio/device/rdma.hpp>
#include <xio/device/rdma_receive.hpp>
#include <xio/device/ring.hpp>
#include <xio/device/status.hpp>
#include <xio/device/telemetry.hpp>
#include <xio/device/token.hpp>
#include <xio/version.hpp>
