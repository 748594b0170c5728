// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Counts for AMD GPU code from the tests of this build tree: from the disassembly and from execution on a
/// model.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vendors {

/// GPU targets of the table.
inline const std::vector<std::string>& gpu_targets() {
  static const std::vector<std::string> targets{"gfx90a", "gfx942", "gfx1100", "gfx1201"};
  return targets;
}

/// One operation and its wait, executed by 256 threads that share a queue, policy Policy<>.
struct Executed {
  double instructions = 0;  ///< wave instructions per operation
  double loads = 0;
  double stores = 0;
  double doorbells = 0;
  double host_writes = 0;  ///< writes over PCIe
};

/// Counts of one target; empty if the tests have not run in this build tree.
struct TargetCount {
  std::optional<double> post;  ///< instructions of one post by a thread, policy Unchecked, from the disassembly
  std::optional<Executed> executed;
};

using TargetCounts = std::map<std::string, TargetCount>;  ///< keyed by target

/// Reads `<kernel>.<target>.json` and `executed.<case>.<target>.json` in `folder` for each target.
/// @param name kind of queue
/// Throws std::runtime_error for a malformed file.
TargetCounts read_target_counts(const std::string& folder, const std::string& name);

}  // namespace vendors
