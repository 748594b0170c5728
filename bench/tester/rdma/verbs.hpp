// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queue pairs of a verbs device: soft-RoCE, executed by the kernel's driver.

#include <string>

#include "tester/rdma/link.hpp"

namespace tester {

/// Provider of queue pairs on a verbs device. Opens the device once to check that it can be used.
///
/// Throws BadInput if the machine has devices, but none of that name. Throws CannotRun if it has no devices, the driver
/// is unsupported, or the port is down or has no address.
RdmaProvider verbs_provider(const std::string& device);

/// Message for a device whose driver's queues cannot be used.
std::string refusal_of_driver(const std::string& device, const std::string& driver);

}  // namespace tester
