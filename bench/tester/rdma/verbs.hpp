// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queue pairs of a verbs device: soft-RoCE's, which the kernel's driver runs.

#include <string>

#include "tester/rdma/link.hpp"

namespace tester {

/// How to make queue pairs on a verbs device. Opens it once, to see whether it can be used.
///
/// Throws BadInput where there is no device of that name among those of this machine, and CannotRun where there are no
/// devices at all, its driver is one that cannot be used, or its port is down or has no address.
RdmaProvider verbs_provider(const std::string& device);

/// What to say of a device whose driver's queues cannot be used.
std::string refusal_of_driver(const std::string& device, const std::string& driver);

}  // namespace tester
