// SPDX-License-Identifier: MIT
#include "vendors/target_counts.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace vendors {

TargetCounts read_target_counts(const std::string& folder, const std::string& name) {
  // Kernels of tests/codegen: one post by a thread, policy Unchecked.
  const std::string kernel = name == "nvme" ? "post_room" : "put_" + name;
  TargetCounts counts;
  for (const std::string& target : gpu_targets()) {
    const std::string path = folder + "/" + kernel + "." + target + ".json";
    std::ifstream file(path);
    counts[target] = std::nullopt;
    if (!file) continue;
    try {
      counts[target] = nlohmann::json::parse(file).at("instructions").get<double>();
    } catch (const nlohmann::json::exception& error) {
      throw std::runtime_error(path + ": not what tests/codegen/isa_count.py writes: " + error.what());
    }
  }
  return counts;
}

}  // namespace vendors
