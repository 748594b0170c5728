// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs the NVMe scenarios' kernels under all schedules of small shapes: prints one line per case; exit status 1
/// if a schedule was wrong.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

#include <executors/explorer.hpp>

namespace {

using executors::Small;
using scenarios::Case;

/// What the explorer's devices cannot do.
const char* missing(const Case& one) {
  using namespace scenarios;
  if ((one.features & costs) != 0) return "its instructions are counted on GPUs";
  if ((one.features & inbound) != 0) return "its device delivers data after the completion";
  if ((one.features & small_pages) != 0) return "its commands have several blocks";
  if ((one.features & scenarios::Feature::watched) != 0) return "the host answers its operations";
  if ((one.features & (twice | one_fails | stray)) != 0) return "its device breaks the protocol, or its queue";
  if ((one.features & drives) != 0) return "it has several drives";
  if (one.least_wave > 8) return "its shape needs waves of more lanes";
  if (!executors::has_kernel(one.kernel_name())) return "its kernel was not tried in a small shape";
  return nullptr;
}

/// @param lanes  of each of several waves; a wave that is alone has two
Small shrunk(const Case& one, uint32_t lanes) {
  Small result;
  Case& row = result.row = one;
  if (const char* const why = missing(one)) result.why = why;
  const bool alone = (one.features & scenarios::own_queues) != 0 || (one.blocks == 1 && one.threads == 1);
  const bool one_wave = !alone && one.blocks == 1 && one.threads == 0;
  const bool in_part = one.lanes != 0 && !alone;
  result.wave = alone ? 1 : one_wave ? 2 : lanes;
  row.blocks = std::min(one.blocks, 2u);
  row.threads = alone || one_wave || row.blocks == 2 ? result.wave : 2 * result.wave;
  if ((one.features & scenarios::own_queues) != 0) row.blocks = 1;
  row.lanes = in_part ? result.threads() - 1 : result.threads();
  // Where the queue never fills, kernels may rely on that.
  row.depth = one.depth >= 256 ? 4 : std::min(one.depth, 2u);
  if (row.depth == 4 && result.threads() == 4 && result.why.empty())
    result.why = "it relies on more room in this shape";
  row.rounds = std::min(one.rounds, result.waves() == 1 ? 3u : 1u);
  return result;
}

/// Explores a row. Returns whether it was right.
bool run(const Small& small, const model::Limits& limits) {
  std::printf("%-28s %u x %u x %u lanes, depth %u, rounds %u: ", small.row.name.c_str(), small.row.blocks,
              small.waves_in_block(), small.wave, small.row.depth, small.row.rounds);
  std::fflush(stdout);
  const model::Result result = executors::explore_nvme(small, limits);
  std::printf("%llu states, %s\n", static_cast<unsigned long long>(result.states),
              result.complete ? "all schedules" : "limit reached");
  std::string failure = result.failure;
  if (failure.empty() && result.complete && result.ends == 0) failure = "no schedule comes to an end";
  if (!failure.empty())
    std::printf("  %s: %s\n  after %s\n", small.row.name.c_str(), failure.c_str(), result.trace.c_str());
  std::fflush(stdout);
  return failure.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the NVMe scenarios under all schedules of a few lanes");
  std::string only;
  bool list = false;
  uint64_t states = 20000;
  uint32_t lanes = 1;
  app.add_option("--case", only, "this one only");
  app.add_flag("--list", list, "which cases are run, and which are not");
  app.add_option("--states", states, "to explore of each case at most; then one execution at random for each 40");
  app.add_option("--lanes", lanes, "of each of several waves")->check(CLI::IsMember({1, 2}));
  CLI11_PARSE(app, argc, argv);
  uint64_t wrong = 0;
  uint64_t rows = 0;
  std::map<std::string, std::string> known;  // text -> row
  for (const scenarios::Case& one : scenarios::nvme_cases()) {
    if (!only.empty() && only != one.name) continue;
    ++rows;
    Small small = shrunk(one, lanes);
    const auto [same, added] = known.try_emplace(small.text(), one.name);
    if (small.why.empty() && !added) small.why = "the same as " + same->second + " in this shape";
    if (small.why.empty() && list) {
      std::printf("%s\n", one.name.c_str());
    } else if (small.why.empty()) {
      wrong += !run(small, model::Limits{states, states / 40});
    } else {
      std::printf("left out: %s: %s\n", one.name.c_str(), small.why.c_str());
    }
  }
  if (rows == 0) std::fprintf(stderr, "no case %s\n", only.c_str());
  return rows == 0 ? 2 : wrong != 0;
}
