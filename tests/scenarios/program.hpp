// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Chooses rows of the table by command-line options, and runs them over seeds: one line of text for each.

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <scenarios/cases.hpp>

namespace scenarios {

/// All runs of a case.
struct Runs {
  uint64_t seeds = 0;
  uint64_t failed = 0;  ///< runs that were wrong
  uint64_t operations = 0;
  double seconds = 0;
  Counts counts;
};

/// Seeds of a case that many operations do not cut short.
constexpr uint64_t least_seeds = 20;

class Program {
 public:
  explicit Program(CLI::App& app) {
    app.add_option("--seeds", seeds_, "N or A-B; the environment variable XIO_MACHINE_SEEDS otherwise");
    app.add_option("--operations", operations_, "fewer seeds, but 20, of a case that reaches this number");
    app.add_option("--case", only_, "this one only");
    app.add_flag("--stop", stop_, "end a case with its first wrong run");
    app.add_flag("--rdma", rdma_, "the RDMA cases instead of NVMe's");
    app.add_flag("--key_values", key_values_, "the cases of values under keys");
    app.add_flag("--fabrics", fabrics_, "the cases of NVMe over RDMA");
    app.add_flag("--peers", peers_, "the cases of other libraries instead");
    app.add_flag("--misplaced", misplaced_, "host memory in place of the GPU's own, which handles name nevertheless");
  }

  /// The chosen rows, after the options have been parsed.
  /// @throws Fault if there is none
  std::vector<Case> cases() {
    if (seeds_.empty()) {
      const char* const told = std::getenv("XIO_MACHINE_SEEDS");
      if (told != nullptr) seeds_ = told;
    }
    if (!seeds_.empty()) {
      const size_t dash = seeds_.find('-');
      first = dash == std::string::npos ? 1 : std::stoull(seeds_);
      last = std::stoull(dash == std::string::npos ? seeds_ : seeds_.substr(dash + 1));
    }
    std::vector<Case> chosen;
    for (const Case& one : of_kind())
      if (only_.empty() || only_ == one.name) chosen.push_back(one);
    if (chosen.empty()) throw Fault("no case " + only_);
    for (Case& one : chosen) one.features |= misplaced_ ? misplaced : 0u;
    return chosen;
  }

  /// Whether the rows are those of several files of kernels, of which each has a part.
  bool peers() const { return peers_; }

  /// Runs a case with all seeds. Prints each kind of failure once, whatever its numbers.
  Runs run(Gpu& gpu, const Case& one) const {
    using Clock = std::chrono::steady_clock;
    Runs runs;
    std::map<std::string, uint64_t> known;
    const auto began = Clock::now();
    for (uint64_t seed = first; seed <= last; seed += step) {
      if (runs.operations >= operations_ && runs.seeds >= least_seeds) break;
      ++runs.seeds;
      const Outcome outcome = one.run(gpu, one, seed);
      runs.operations += outcome.operations;
      runs.counts += outcome.counts;
      if (outcome.error.empty()) continue;
      ++runs.failed;
      std::string kind = outcome.error;
      for (char& c : kind)
        if (c >= '0' && c <= '9') c = '#';
      if (known[kind]++ == 0)
        std::printf("  %s, seed %llu: %s\n", one.name.c_str(), static_cast<unsigned long long>(seed),
                    outcome.error.c_str());
      if (stop_) break;
    }
    runs.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    std::printf("%-8s %-22s %6llu seeds, %llu wrong, %llu operations, %.2f s", gpu.target().c_str(), one.name.c_str(),
                static_cast<unsigned long long>(runs.seeds), static_cast<unsigned long long>(runs.failed),
                static_cast<unsigned long long>(runs.operations), runs.seconds);
    return runs;
  }

  uint64_t first = 1;  ///< seed
  uint64_t last = 20;
  uint64_t step = 1;

 private:
  std::vector<Case> of_kind() const {
    if (peers_) return peer_cases();
    if (rdma_) return rdma_cases();
    if (fabrics_) return fabric_cases();
    return key_values_ ? key_value_cases() : nvme_cases();
  }

  std::string seeds_;
  std::string only_;
  uint64_t operations_ = ~uint64_t{0};
  bool stop_ = false;
  bool rdma_ = false;
  bool fabrics_ = false;
  bool key_values_ = false;
  bool peers_ = false;
  bool misplaced_ = false;
};

}  // namespace scenarios
