// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Limits for the cost of an operation: each line of the file is "target case name=limit...", and # starts a
/// comment.

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <machine/core/address_space.hpp>
#include <machine/core/counts.hpp>

namespace machine {

/// Counters of an operation, by their names in the file and the output.
inline const std::vector<std::pair<std::string, uint64_t Counts::*>>& counters() {
  static const std::vector<std::pair<std::string, uint64_t Counts::*>> all = {
      {"instructions", &Counts::instructions},
      {"loads", &Counts::loads},
      {"stores", &Counts::stores},
      {"atomics", &Counts::atomics},
      {"write_backs", &Counts::write_backs},
      {"invalidations", &Counts::invalidations},
      {"doorbells", &Counts::doorbells},
      {"host_writes", &Counts::host_writes},
      {"host_bytes", &Counts::host_bytes},
      {"host_loads", &Counts::host_loads},
  };
  return all;
}

class Budgets {
 public:
  Budgets() = default;
  explicit Budgets(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Fault("cannot read " + path);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string target, name, limit;
      if (!(words >> target >> name)) continue;
      while (words >> limit) {
        const size_t equals = limit.find('=');
        bool known = false;
        for (const auto& [cost, unused] : counters()) known = known || cost == limit.substr(0, equals);
        if (!known || equals == std::string::npos) throw Fault(path + ": what is " + limit + "?");
        limits_[target + " " + name][limit.substr(0, equals)] = std::stod(limit.substr(equals + 1));
      }
    }
  }

  bool has(const std::string& target, const std::string& name) const {
    return limits_.find(target + " " + name) != limits_.end();
  }
  /// Prints counters above their limit; returns their number.
  uint64_t check(const std::string& target, const std::string& name, const Counts& sum, uint64_t operations) const {
    uint64_t above = 0;
    const auto found = limits_.find(target + " " + name);
    if (found == limits_.end()) return 0;
    for (const auto& [cost, counter] : counters()) {
      const auto limit = found->second.find(cost);
      if (limit == found->second.end()) continue;
      const double each = static_cast<double>(sum.*counter) / static_cast<double>(operations != 0 ? operations : 1);
      if (each <= limit->second) continue;
      std::printf("  EXCEEDED: %s of %s: %.3f for each operation, at most %g\n", cost.c_str(), name.c_str(), each,
                  limit->second);
      ++above;
    }
    return above;
  }

 private:
  std::map<std::string, std::map<std::string, double>> limits_;
};

}  // namespace machine
