// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Results of a phase, summed over all lanes.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/telemetry.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "tester/cli/usage.hpp"
#include "tester/measure/summary.hpp"
#include "tester/nvme/phase.hpp"

namespace tester {

struct PhaseResult {
  Direction direction = Direction::read;
  uint64_t asked = 0;  ///< requested operations; with repetition, of one round
  bool repeated = false;
  uint64_t submitted = 0;
  uint64_t completed = 0;  ///< with success
  uint64_t failed = 0;
  uint64_t bytes = 0;  ///< bytes of completed operations
  double seconds = 0;  ///< from the first submission to the last completion
  Summary latency;
  uint64_t sq_rings = 0;  ///< doorbells that the queue code rang
  uint64_t cq_rings = 0;
  uint64_t seen_rings = 0;  ///< doorbells observed by the other side
  xio::arch::OperationCounts counts;
  xio::telemetry::Steps steps;
  Usage usage;
  std::vector<StatusCount> statuses;
  uint64_t to_check = 0;  ///< blocks read that had been written and were to be verified
  uint64_t checked = 0;
  uint64_t wrong_count = 0;
  std::vector<WrongBlock> wrong;
  bool gave_up = false;
  bool interrupted = false;

  /// `what` per operation; 0 if there was none.
  double per_operation(uint64_t what) const {
    const uint64_t operations = completed + failed;
    return operations == 0 ? 0 : static_cast<double>(what) / static_cast<double>(operations);
  }
  double iops() const { return seconds > 0 ? static_cast<double>(completed) / seconds : 0; }
  double megabytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e6 : 0; }
};

}  // namespace tester
