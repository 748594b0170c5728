// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Results of a phase, summed over all lanes.

#include <cstdint>
#include <vector>

#include "tester/measure/result.hpp"
#include "tester/nvme/phase.hpp"

namespace tester {

/// One of several drives in a phase.
struct DriveResult {
  uint64_t failed = 0;
  Summary latency;  ///< of the operations that succeeded

  uint64_t completed() const { return latency.count(); }
};

struct PhaseResult : Result {
  Direction direction = Direction::read;
  uint64_t asked = 0;     ///< requested operations; with repetition, of one round
  uint64_t bytes = 0;     ///< bytes of completed operations
  uint64_t sq_rings = 0;  ///< doorbells that the queue code rang
  uint64_t cq_rings = 0;
  uint64_t seen_rings = 0;  ///< doorbells observed by the other side
  uint64_t to_check = 0;    ///< blocks read that had been written and were to be verified
  std::vector<WrongBlock> wrong;
  bool interrupted = false;
  std::vector<DriveResult> drives;  ///< of a run over several; else empty

  double iops() const { return seconds > 0 ? static_cast<double>(completed) / seconds : 0; }
  double megabytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e6 : 0; }
};

}  // namespace tester
