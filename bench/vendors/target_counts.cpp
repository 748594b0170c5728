// SPDX-License-Identifier: MIT
#include "vendors/target_counts.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace vendors {

namespace {

/// Calls `read` with the file's contents, if the file exists. @param writer program that writes it, for messages
template <class Read>
void read_counts(const std::string& path, const char* writer, Read read) {
  std::ifstream file(path);
  if (!file) return;
  try {
    read(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": not what " + writer + " writes: " + error.what());
  }
}

}  // namespace

TargetCounts read_target_counts(const std::string& folder, const std::string& name) {
  // Kernels of tests/codegen, and cases of tests/machine.
  const std::string kernel = name == "nvme" ? "post_room" : "put_" + name;
  const std::string executed = "executed." + (name == "nvme" ? std::string("grid_reads") : name + "_grid_puts");
  TargetCounts counts;
  for (const std::string& target : gpu_targets()) {
    TargetCount& one = counts[target];
    const std::string end = "." + target + ".json";
    read_counts(folder + "/" + kernel + end, "tests/codegen/isa_count.py",
                [&one](const nlohmann::json& json) { one.post = json.at("instructions").get<double>(); });
    read_counts(folder + "/" + executed + end, "machine-run", [&one](const nlohmann::json& json) {
      one.executed = Executed{json.at("instructions"), json.at("loads"), json.at("stores"), json.at("doorbells"),
                              json.at("host_writes")};
    });
  }
  return counts;
}

}  // namespace vendors
