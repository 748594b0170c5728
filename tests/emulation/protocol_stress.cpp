// SPDX-License-Identifier: MIT

/// @file
/// @brief protocol_stress [COMMANDS]: so many commands by several waves on one queue of the in-process controller, with
/// random delays and in random order; every block is stamped and checked. XIO_STRESS_COMMANDS sets the figure, too.

#include <exception>

#include "emulation/stress.hpp"

namespace {

/// Returns whether everything came back as it should.
template <class Policy>
bool run(const char* what, uint64_t commands, uint32_t waves, uint32_t wave_size, uint64_t seed) {
  using namespace stress;
  const uint32_t lanes = waves * wave_size;
  NvmeConfig config;
  config.namespaces[0].blocks = uint64_t{lanes} * window * slot_blocks;
  config.poison_fetched_entries = true;
  Rig rig(config, lanes * lane_bytes);
  auto& faults = rig.model.faults();
  faults.seed(seed);
  faults.reorder(24);
  faults.delay_us(Match().each(50), 0, 30);
  const NvmeQueue queue = rig.queue(64, [](QueueOptions& options) { options.completion_slots = 32768; });
  Findings findings;
  const Job job{queue.handle(), rig.bytes(), rig.bus(), seed, (commands + lanes - 1) / lanes, {}, &findings};
  const uint64_t start = xio::arch::clock();
  xio::simt::launch(Grid::of_waves(waves, 1, wave_size), kernel<Sharing::grid, Policy>, job);
  findings.print(what, seconds_since(start));
  const auto seen = rig.statistics(queue);
  const bool clean = findings.clean() && seen.completions == findings.operations && seen.command_id_conflicts == 0 &&
                     seen.stale_fetches == 0 && seen.suspicious_tails == 0 && seen.suspicious_heads == 0 &&
                     seen.cq_full_stalls == 0;
  if (!clean) std::printf("  the controller saw %llu completions\n", static_cast<unsigned long long>(seen.completions));
  return clean;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    constexpr double usual = XIO_TSAN || XIO_ASAN ? 60000 : 1000000;
    const auto commands = static_cast<uint64_t>(stress::figure(argc, argv, "XIO_STRESS_COMMANDS", usual));
    bool clean = run<xio::Policy<>>("4 waves of 1 lane", commands / 2, 4, 1, 11);
    clean = run<xio::Policy<>>("3 waves of 8 lanes", commands / 4, 3, 8, 12) && clean;
    clean = run<xio::Policy<xio::Deferred<8>>>("2 waves of 64 lanes, deferred", commands / 4, 2, 64, 13) && clean;
    return clean ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
