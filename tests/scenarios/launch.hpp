// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One run of a case, for any device: the launch and the kernel's report.

#include <cstdio>
#include <string>

#include <scenarios/cases.hpp>
#include <scenarios/kernels/job.hpp>

namespace scenarios {

/// A kernel's report as text.
/// @param failing  number of injected failures
inline std::string words_of(const Report& report, uint64_t expected, uint64_t failing) {
  char text[220];
  std::snprintf(text, sizeof text,
                "%llu good, %llu failed (%llu late), %llu wrong of %llu (%llu were to fail); first: %s %u at %u",
                static_cast<unsigned long long>(report.good), static_cast<unsigned long long>(report.failed),
                static_cast<unsigned long long>(report.late), static_cast<unsigned long long>(report.wrong),
                static_cast<unsigned long long>(expected), static_cast<unsigned long long>(failing),
                xio::name(static_cast<xio::Status::Code>(report.statuses & 0xffff)), report.statuses >> 16,
                report.where);
  return text;
}

/// Error in a kernel's report; empty if there is none.
inline std::string complaint(const Report& report, uint64_t expected, uint64_t failing = 0) {
  if (report.good + report.failed == expected && report.failed == failing && report.wrong == 0) return {};
  return words_of(report, expected, failing);
}

/// Error in the report of a run whose queue fails: no operation may be left waiting or reported as successful wrongly.
inline std::string complaint_of_bad_end(const Report& report, uint64_t expected) {
  if (report.good + report.failed == expected && report.wrong == 0 && report.late == 0) return {};
  return words_of(report, expected, expected);
}

/// Fills the blocks that threads read into, as Feature::filled says.
inline void fill_blocks(uint64_t* data, uint32_t lanes) {
  for (uint32_t i = 0; i < lanes; ++i) fill(data + i * (thread_bytes / 8) + block_words, i, block_words);
}

/// Launches a case's kernel with its memory and devices attached to the GPU, and detaches them afterwards.
/// @param judge  returns the error after the kernel has ended
template <class Job, class Judge>
Outcome launch_case(Gpu& gpu, const Case& one, uint64_t seed, uint32_t threads, const Job& job, Judge judge) {
  Launch launch;
  launch.grid.x = one.blocks;
  launch.block.x = threads;
  launch.arguments = &job;
  launch.argument_bytes = sizeof job;
  Outcome outcome;
  try {
    gpu.order = one.calm ? seed : 0;
    gpu.start(one.calm ? 0 : seed);
    gpu.run(one.kernel_name(), launch);
    outcome.error = judge();
    if (outcome.error.empty() && gpu.counts.merged_doorbells != 0) outcome.error = "stores to registers merged";
  } catch (const Fault& fault) {
    outcome.error = fault.what();
  }
  gpu.step_devices = nullptr;
  gpu.memory.clear();
  outcome.counts = gpu.counts;
  return outcome;
}

}  // namespace scenarios
