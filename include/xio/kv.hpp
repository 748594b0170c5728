// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs for NVMe namespaces that store values under keys. Host code includes what it uses
/// from xio/host.

#include <xio/device/nvme/kv_queue.hpp>
#include <xio/nvme.hpp>
