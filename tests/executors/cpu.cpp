// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs the scenarios' kernels on the CPU executor: prints one line per case; exit status 1 if a run was wrong.

#include <CLI/CLI.hpp>

#include <cstdio>

#include <executors/cpu.hpp>
#include <scenarios/program.hpp>

namespace {

/// Why a row is not run here; null if it is.
const char* left_out(const scenarios::Case& one, uint32_t lanes) {
  if ((one.features & scenarios::costs) != 0) return "its instructions are counted on GPUs";
  // What ends twice may be the next operation in its place, whose data the device is about to store.
  if (XIO_TSAN && (one.features & scenarios::twice) != 0) return "its device breaks the order that is looked at";
  return scenarios::misfit(one, lanes);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the scenarios on the CPU");
  uint32_t lanes = 64;
  app.add_option("--lanes", lanes, "lanes of a wave")->check(CLI::IsMember({8, 32, 64}));
  scenarios::Program program(app);
  CLI11_PARSE(app, argc, argv);
  try {
    executors::Cpu cpu(lanes);
    uint64_t failed = 0;
    for (const scenarios::Case& one : program.cases()) {
      const char* const why = left_out(one, lanes);
      if (why != nullptr) {
        std::printf("left out: %s: %s\n", one.name.c_str(), why);
        continue;
      }
      failed += program.run(cpu, one).failed;
      std::printf("\n");
      std::fflush(stdout);
    }
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
