// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs kernels on the machine over many seeds: prints one line per case; exit status 1 if a run was wrong.

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <machine/core/load.hpp>
#include <machine/run/budgets.hpp>
#include <machine/run/cases.hpp>
#include <machine/run/mutate.hpp>

namespace {

using namespace machine;

struct Options {
  std::string program;
  std::string only;
  uint64_t first = 1;
  uint64_t last = 20;
  uint64_t step = 1;
  uint64_t operations = ~uint64_t{0};
  bool rdma = false;
  bool trace = false;
  bool counts = false;
  bool mutate = false;
  MutationChoice mutations;
  bool calm = false;
  std::string figures;
  Budgets budgets;
};

void print_counts(const Counts& c, uint64_t operations) {
  std::printf("    for each operation:");
  for (const auto& [name, counter] : counters())
    std::printf(" %s=%.3f", name.c_str(),
                static_cast<double>(c.*counter) / static_cast<double>(operations != 0 ? operations : 1));
  std::printf("\n");
}

/// Writes the counts per operation as JSON, for xio-vendors.
void write_counts(const std::string& folder, const std::string& target, const std::string& name, const Counts& c,
                  uint64_t operations) {
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/executed." + name + "." + target + ".json";
  std::ofstream file(path);
  file << "{\"operations\": " << operations;
  for (const auto& [counter, member] : counters())
    file << ", \"" << counter
         << "\": " << static_cast<double>(c.*member) / static_cast<double>(operations != 0 ? operations : 1);
  file << "}\n";
  if (!file.flush()) throw Fault("cannot write " + path);
}

/// Seeds of a case that many operations do not cut short.
constexpr uint64_t least_seeds = 50;

/// Runs one case over all seeds. Returns the number of failed runs.
uint64_t run(Gpu& gpu, const Case& one, const Options& options) {
  using Clock = std::chrono::steady_clock;
  uint64_t failed = 0;
  uint64_t operations = 0;
  uint64_t seeds = 0;
  Counts sum;
  std::map<std::string, uint64_t> known;
  const auto began = Clock::now();
  for (uint64_t seed = options.first; seed <= options.last; seed += options.step) {
    if (operations >= options.operations && seeds >= least_seeds) break;
    ++seeds;
    const Outcome outcome = one.run(gpu, one, seed);
    operations += outcome.operations;
    sum += outcome.counts;
    if (outcome.error.empty()) continue;
    ++failed;
    // Prints each kind of failure once, whatever its numbers.
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
      gpu.target().c_str(), one.name.c_str(), static_cast<unsigned long long>(seeds),
      static_cast<unsigned long long>(failed), static_cast<unsigned long long>(operations), seconds,
      static_cast<double>(sum.lane_instructions) / seconds * 1e-6, static_cast<unsigned long long>(sum.stale_loads));
  if (options.counts) print_counts(sum, operations);
  if (!options.figures.empty()) write_counts(options.figures, gpu.target(), one.name, sum, operations);
  failed += options.budgets.check(gpu.target(), one.name, sum, operations);
  std::fflush(stdout);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string seeds;
  std::string budgets;
  std::string skip;
  CLI::App app("Runs the kernels of a compiled program on the machine");
  app.add_option("program", options.program, "code object or PTX")->required();
  app.add_option("--seeds", seeds, "N or A-B");
  app.add_option("--operations", options.operations, "fewer seeds, but 50, of a case that reaches this number");
  app.add_option("--case", options.only, "this one only");
  app.add_flag("--rdma", options.rdma, "the RDMA cases instead of NVMe's");
  app.add_flag("--trace", options.trace, "every instruction");
  app.add_flag("--counts", options.counts, "what an operation costs");
  app.add_option("--write", options.figures, "the same, a file for each case, to this folder");
  app.add_option("--budgets", budgets, "run what this file has limits for, calm, and hold it to them");
  app.add_flag("--calm", options.calm, "a GPU that takes no liberties");
  app.add_flag("--mutate", options.mutate, "weaken each ordering of the code, one after the other");
  app.add_flag("--list", options.mutations.list, "only name them");
  app.add_option("--skip", skip, "file: places that are not weakened");
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
    options.mutations.first = options.first;
    options.mutations.last = options.last;
    if (!skip.empty()) options.mutations.read_skipped(skip);
    const std::unique_ptr<Gpu> gpu = load(options.program);
    if (!budgets.empty()) {
      options.budgets = Budgets(budgets);
      options.calm = true;
      // Seeds without trouble, in memory that caches hold. Waves that share a queue meet in other ways with each of
      // them.
      options.first = 3;
      options.step = 12;
      options.last = options.first + 31 * options.step;
    }
    if (options.trace) gpu->trace = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    // A hundred times the instructions of the longest case.
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
      if (options.mutate)
        mutate(*gpu, one, options.mutations);
      else
        failed += run(*gpu, one, options);
    }
    if (cases == 0) throw Fault("no case " + options.only);
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
