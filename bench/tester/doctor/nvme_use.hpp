// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the kernel uses the namespaces of a controller for.

#include <string>
#include <vector>

#include "tester/doctor/machine.hpp"

namespace tester::doctor {

/// A use of one block device, and the command that ends it.
struct Use {
  std::string what;
  std::string end;
};

/// Uses of a controller's namespaces and their partitions: mounted, swap, part of something.
/// @param address  of its PCI function
std::vector<Use> uses_of(const Machine& machine, const std::string& address);

}  // namespace tester::doctor
