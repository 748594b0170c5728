// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Detection of the machine's IOMMU and its features.

#include <string>
#include <vector>

#include "tester/doctor/checks.hpp"

namespace tester::doctor {

/// Numbers of all IOMMU groups backed by an IOMMU; empty if the IOMMU is off or missing.
std::vector<std::string> iommu_groups(const Machine& machine);

/// Why there are no IOMMU groups, and the fix. Only for machines without groups.
Obstacle no_iommu(const Machine& machine);

/// Whether the IOMMU remaps interrupts, according to the kernel's list of interrupts; unknown counts as remapped.
bool interrupts_remapped(const Machine& machine);

Fact iommu_fact(const Machine& machine);

}  // namespace tester::doctor
