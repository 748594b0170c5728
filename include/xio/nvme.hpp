// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs to drive NVMe controllers. Host code includes what it uses from xio/host.

#include <xio/device/core/placement.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/device/nvme/drive_set.hpp>
#include <xio/vendors/nvme/completion.hpp>
#include <xio/version.hpp>
