// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Instructions of one post on AMD GPUs, as the budget tests counted them in the disassembly.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vendors {

/// Targets of the table.
inline const std::vector<std::string>& gpu_targets() {
  static const std::vector<std::string> targets{"gfx90a", "gfx942", "gfx1100", "gfx1201"};
  return targets;
}

/// By target; empty where the tests have not run in this build tree.
using TargetCounts = std::map<std::string, std::optional<double>>;

/// Reads `<kernel>.<target>.json` in `folder` for each target: {"instructions": number}.
/// @param name of the kind of queue
/// Throws std::runtime_error for a file that is not of this form.
TargetCounts read_target_counts(const std::string& folder, const std::string& name);

}  // namespace vendors
