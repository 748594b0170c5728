// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One run of a case, whatever its devices are: the launch, and what the kernel reports.

#include <cstdio>
#include <string>

#include <machine/kernels/job.hpp>
#include <machine/run/cases.hpp>

namespace machine {

/// A kernel's report in words.
/// @param failing  operations that were made to fail
inline std::string words_of(const machine_kernels::Report& report, uint64_t expected, uint64_t failing) {
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

/// What is wrong with a kernel's report; empty where nothing is.
inline std::string complaint(const machine_kernels::Report& report, uint64_t expected, uint64_t failing = 0) {
  if (report.good + report.failed == expected && report.failed == failing && report.wrong == 0) return {};
  return words_of(report, expected, failing);
}

/// The same where the queue ends in an error: nobody may be left waiting, nor be told that all is well.
inline std::string complaint_of_bad_end(const machine_kernels::Report& report, uint64_t expected) {
  if (report.good + report.failed == expected && report.wrong == 0 && report.late == 0) return {};
  return words_of(report, expected, expected);
}

/// Launches a case's kernel with its memory and devices in place, which the GPU forgets then.
/// @param judge  says what was wrong when the kernel has ended
template <class Job, class Judge>
Outcome launch_case(Gpu& gpu, const Case& one, uint64_t seed, uint32_t threads, const Job& job, Judge judge) {
  Launch launch;
  launch.grid.x = one.blocks;
  launch.block.x = threads;
  launch.arguments = &job;
  launch.argument_bytes = sizeof job;
  Outcome outcome;
  try {
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

}  // namespace machine
