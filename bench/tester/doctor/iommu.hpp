// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Whether the machine has an IOMMU, and what it does.

#include <string>
#include <vector>

#include "tester/doctor/checks.hpp"

namespace tester::doctor {

/// Numbers of all IOMMU groups with something behind them; none where the IOMMU is off or missing.
std::vector<std::string> iommu_groups(const Machine& machine);

/// Why there are no IOMMU groups, and what to do. For machines without groups alone.
Obstacle no_iommu(const Machine& machine);

/// Whether interrupts pass the IOMMU too, as far as the kernel's list of them tells; others count as remapped.
bool interrupts_remapped(const Machine& machine);

Fact iommu_fact(const Machine& machine);

}  // namespace tester::doctor
