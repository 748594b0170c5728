// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs the scenarios' kernels on the machine over many seeds: prints one line per case; exit status 1 if a run
/// was wrong.

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <machine/core/load.hpp>
#include <machine/run/budgets.hpp>
#include <machine/run/mutate.hpp>
#include <machine/timed/command.hpp>
#include <scenarios/program.hpp>

namespace {

using namespace machine;
using scenarios::Program;
using scenarios::Runs;

struct Options {
  bool trace = false;
  bool counts = false;
  bool mutate = false;
  bool calm = false;
  MutationChoice mutations;
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

bool has_kernel(const Gpu& gpu, const std::string& name) {
  for (const KernelInfo& kernel : gpu.kernels())
    if (kernel.name == name) return true;
  return false;
}

/// Runs one case over all seeds. Returns the number of failed runs, and of counters above their limits.
uint64_t run(Gpu& gpu, const Case& one, const Program& program, const Options& options) {
  const Runs runs = program.run(gpu, one);
  std::printf(", %.2f M lane instructions/s, %llu stale loads\n",
              static_cast<double>(runs.counts.lane_instructions) / runs.seconds * 1e-6,
              static_cast<unsigned long long>(runs.counts.stale_loads));
  if (options.counts) print_counts(runs.counts, runs.operations);
  if (!options.figures.empty()) write_counts(options.figures, gpu.target(), one.name, runs.counts, runs.operations);
  const uint64_t above = options.budgets.check(gpu.target(), one.name, runs.counts, runs.operations);
  std::fflush(stdout);
  return runs.failed + above;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> programs;
  std::string budgets;
  std::string skip;
  CLI::App app("Runs the kernels of a compiled program on the machine");
  app.add_option("program", programs, "code object or PTX; with --timed several")->required();
  Program program(app);
  app.add_flag("--trace", options.trace, "every instruction");
  app.add_flag("--counts", options.counts, "what an operation costs");
  app.add_option("--write", options.figures, "the same, a file for each case, to this folder");
  app.add_option("--budgets", budgets, "run what this file has limits for, calm, and hold it to them");
  app.add_flag("--calm", options.calm, "a GPU that takes no liberties");
  app.add_flag("--mutate", options.mutate, "weaken each ordering of the code, one after the other");
  app.add_flag("--list", options.mutations.list, "only name them");
  app.add_option("--skip", skip, "file: places that are not weakened");
  timed::Command timed(app);
  CLI11_PARSE(app, argc, argv);
  try {
    if (timed.wanted()) return timed.run(programs);
    if (programs.size() != 1) throw Fault("one program at a time, but for --timed");
    std::vector<Case> all = program.cases();
    options.mutations.first = program.first;
    options.mutations.last = program.last;
    if (!skip.empty()) options.mutations.read_skipped(skip);
    const std::unique_ptr<Gpu> gpu = load(programs.front());
    if (!budgets.empty()) {
      options.budgets = Budgets(budgets);
      options.calm = true;
      // Seeds without trouble, in memory that caches hold. Waves that share a queue meet in other ways with each of
      // them.
      program.first = 3;
      program.step = 12;
      program.last = program.first + 31 * program.step;
    }
    if (options.trace) gpu->trace = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    // A few times those of the longest case: values under keys, by a block all of whose lanes have come apart.
    gpu->limits.instructions = 60'000'000;
    uint64_t failed = 0;
    uint32_t ran = 0;
    for (Case& one : all) {
      one.calm = options.calm;
      if ((one.features & scenarios::costs) != 0 && !options.calm) continue;
      if (scenarios::misfit(one, gpu->wave_size()) != nullptr) continue;
      if (program.peers() && !has_kernel(*gpu, one.kernel_name())) continue;
      if (!budgets.empty() && !options.budgets.has(gpu->target(), one.name)) continue;
      ++ran;
      if (options.mutate)
        mutate(*gpu, one, options.mutations);
      else
        failed += run(*gpu, one, program, options);
    }
    if (ran == 0) throw Fault("no case that runs here");
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
