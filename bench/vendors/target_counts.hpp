// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What tests of this build tree have counted of code for AMD GPUs: in the disassembly, and executed on a model.

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

/// One operation and its wait, executed: by 256 threads that share a queue, policy Policy<>.
struct Executed {
  double instructions = 0;  ///< of waves, for each operation
  double loads = 0;
  double stores = 0;
  double doorbells = 0;
  double host_writes = 0;  ///< writes over PCIe
};

/// Empty where the tests have not run in this build tree.
struct TargetCount {
  std::optional<double> post;  ///< instructions of one post by a thread, policy Unchecked, in the disassembly
  std::optional<Executed> executed;
};

using TargetCounts = std::map<std::string, TargetCount>;  ///< by target

/// Reads `<kernel>.<target>.json` and `executed.<case>.<target>.json` in `folder` for each target.
/// @param name of the kind of queue
/// Throws std::runtime_error for a file that is not of this form.
TargetCounts read_target_counts(const std::string& folder, const std::string& name);

}  // namespace vendors
