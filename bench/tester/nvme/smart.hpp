// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The drive's own count of commands, compared with a run's operations: `--smart`.

#include <cstdint>
#include <string>
#include <vector>

#include <xio/host/nvme/controller.hpp>

#include "tester/nvme/phase_result.hpp"

namespace tester {

/// Commands since the drive was made: Host Read Commands and Host Write Commands of its SMART / Health Information log.
/// The low 64 of their 128 bits.
struct CommandCounts {
  uint64_t reads = 0;
  uint64_t writes = 0;
};

/// Reads the log. Throws host::Error.
CommandCounts command_counts(const xio::host::NvmeController& controller);

/// What the drive counted while a run went on, beside the commands of the run.
struct CrossCheck {
  bool wanted = false;
  bool alone = true;        ///< nobody else's commands are counted
  CommandCounts counted;    ///< by the drive
  CommandCounts completed;  ///< of operations that ended well
  CommandCounts submitted;  ///< of all operations: a drive may count those that fail, or not

  /// Adds the operations of a phase.
  void add(const PhaseResult& phase, uint32_t commands_per_operation);
  /// What does not agree; empty if everything does.
  std::string trouble() const;
};

}  // namespace tester
