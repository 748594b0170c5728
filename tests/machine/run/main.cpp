// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs kernels on the machine over many seeds: one line for each case, exit status 1 where a run was wrong.

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <machine/core/load.hpp>
#include <machine/run/budgets.hpp>
#include <machine/run/cases.hpp>

namespace {

using namespace machine;

struct Options {
  std::string program;
  std::string only;
  uint64_t first = 1;
  uint64_t last = 20;
  bool rdma = false;
  bool trace = false;
  bool counts = false;
  bool mutate = false;
  bool calm = false;
  Budgets budgets;
};

void print_counts(const Counts& c, uint64_t operations) {
  std::printf("    for each operation:");
  for (const auto& [name, counter] : counters())
    std::printf(" %s=%.3f", name.c_str(),
                static_cast<double>(c.*counter) / static_cast<double>(operations != 0 ? operations : 1));
  std::printf("\n");
}

/// Runs one case over all seeds; the number of those that were wrong.
uint64_t run(Gpu& gpu, const Case& one, const Options& options) {
  using Clock = std::chrono::steady_clock;
  uint64_t failed = 0;
  uint64_t operations = 0;
  Counts sum;
  std::map<std::string, uint64_t> known;
  const auto began = Clock::now();
  for (uint64_t seed = options.first; seed <= options.last; ++seed) {
    const Outcome outcome = one.run(gpu, one, seed);
    operations += outcome.operations;
    sum += outcome.counts;
    if (outcome.error.empty()) continue;
    ++failed;
    // Each kind of failure once: the numbers in it differ.
    std::string kind = outcome.error;
    for (char& c : kind)
      if (c >= '0' && c <= '9') c = '#';
    if (known[kind]++ == 0)
      std::printf("  %s, seed %llu: %s\n", one.name.c_str(), static_cast<unsigned long long>(seed),
                  outcome.error.c_str());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::printf(
      "%-8s %-22s %6llu seeds, %llu wrong, %llu operations, %.2f s, %.2f M lane instructions/s, %llu stale loads\n",
      gpu.target().c_str(), one.name.c_str(), static_cast<unsigned long long>(options.last - options.first + 1),
      static_cast<unsigned long long>(failed), static_cast<unsigned long long>(operations), seconds,
      static_cast<double>(sum.lane_instructions) / seconds * 1e-6, static_cast<unsigned long long>(sum.stale_loads));
  if (options.counts) print_counts(sum, operations);
  failed += options.budgets.check(gpu.target(), one.name, sum, operations);
  std::fflush(stdout);
  return failed;
}

/// Weakens each ordering of a kernel's code by itself, and tells by which seed that is noticed.
uint64_t mutate(Gpu& gpu, const Case& one, const Options& options) {
  uint64_t survived = 0;
  uint64_t caught = 0;
  const uint64_t usual = gpu.limits.instructions;
  const std::vector<Mutation> all = gpu.mutations(one.kernel_name());
  std::vector<uint64_t> executed(all.size());
  constexpr uint64_t looks = 6;  // seeds that tell what is executed at all
  for (uint64_t seed = options.first; seed <= options.last && seed < options.first + looks; ++seed) {
    const Outcome outcome = one.run(gpu, one, seed);
    if (!outcome.error.empty()) throw Fault(one.name + " is wrong without a mutation: " + outcome.error);
    for (size_t i = 0; i < all.size(); ++i) executed[i] += gpu.executed(all[i]);
  }
  uint64_t idle = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Mutation& mutation = all[i];
    if (executed[i] == 0) {
      ++idle;
      continue;
    }
    gpu.apply(mutation);
    gpu.limits.instructions = 20'000'000;
    std::string error;
    uint64_t seed = options.first;
    for (; seed <= options.last && error.empty(); ++seed) error = one.run(gpu, one, seed).error;
    gpu.restore();
    ++(error.empty() ? survived : caught);
    // For tests/machine/mutations.py: with tabs between.
    const std::string found =
        error.empty() ? "" : "seed " + std::to_string(seed - 1) + ": " + error.substr(0, error.find('\n'));
    std::printf("%s\t%s\t%s\t%s\t%s\n", error.empty() ? "survives" : "caught", mutation.text.c_str(),
                mutation.change.c_str(), mutation.source.c_str(), found.c_str());
    std::fflush(stdout);
  }
  gpu.limits.instructions = usual;
  std::printf("%-8s %-22s %llu caught, %llu survive, %llu were not executed\n", gpu.target().c_str(), one.name.c_str(),
              static_cast<unsigned long long>(caught), static_cast<unsigned long long>(survived),
              static_cast<unsigned long long>(idle));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string seeds;
  std::string budgets;
  CLI::App app("Runs the kernels of a compiled program on the machine");
  app.add_option("program", options.program, "code object or PTX")->required();
  app.add_option("--seeds", seeds, "N or A-B");
  app.add_option("--case", options.only, "this one only");
  app.add_flag("--rdma", options.rdma, "the RDMA cases instead of NVMe's");
  app.add_flag("--trace", options.trace, "every instruction");
  app.add_flag("--counts", options.counts, "what an operation costs");
  app.add_option("--budgets", budgets, "run what this file has limits for, calm, and hold it to them");
  app.add_flag("--calm", options.calm, "a GPU that takes no liberties");
  app.add_flag("--mutate", options.mutate, "weaken each ordering of the code, one after the other");
  CLI11_PARSE(app, argc, argv);
  if (seeds.empty()) {
    const char* const told = std::getenv("XIO_MACHINE_SEEDS");
    if (told != nullptr) seeds = told;
  }
  if (!seeds.empty()) {
    const size_t dash = seeds.find('-');
    options.first = dash == std::string::npos ? 1 : std::stoull(seeds);
    options.last = std::stoull(dash == std::string::npos ? seeds : seeds.substr(dash + 1));
  }
  try {
    const std::unique_ptr<Gpu> gpu = load(options.program);
    if (!budgets.empty()) {
      options.budgets = Budgets(budgets);
      options.calm = true;
      options.first = options.last = 3;  // a seed without trouble
    }
    if (options.trace) gpu->trace = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    // A hundred times what the longest case needs.
    gpu->limits.instructions = 20'000'000;
    uint64_t failed = 0;
    uint32_t cases = 0;
    std::vector<Case> all = options.rdma ? rdma_cases() : nvme_cases();
    for (Case& one : all) {
      one.calm = options.calm;
      if (!options.only.empty() && options.only != one.name) continue;
      if ((one.features & costs) != 0 && !options.calm) continue;
      if (!budgets.empty() && !options.budgets.has(gpu->target(), one.name)) continue;
      ++cases;
      failed += options.mutate ? mutate(*gpu, one, options) : run(*gpu, one, options);
    }
    if (cases == 0) throw Fault("no case " + options.only);
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
