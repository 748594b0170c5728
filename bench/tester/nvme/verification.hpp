// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Analysis of blocks that differed: which blocks, and whose content they hold.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tester/nvme/phase_result.hpp"
#include "tester/nvme/plan.hpp"

namespace tester {

/// A block of the namespace with wrong contents.
struct BlockFault {
  uint64_t lba = 0;
  uint32_t offset = 0;             ///< first byte that differed
  bool zeros = false;              ///< it begins with 16 zero bytes
  std::optional<uint64_t> holder;  ///< the block whose content it begins with
};

struct Verification {
  bool wanted = false;
  std::string scope;               ///< what was verified, or why nothing was verified
  uint64_t expected = 0;           ///< blocks that should have been compared
  uint64_t verified = 0;           ///< blocks with the expected contents
  uint64_t wrong = 0;              ///< comparisons that failed; a block that is read twice can fail twice
  std::vector<BlockFault> faults;  ///< distinct blocks in order; incomplete if there are very many
  bool complete = true;            ///< `faults` names every wrong block

  /// Whether verification was requested but there was no block to compare.
  bool idle() const { return wanted && expected == 0; }
  bool failed() const { return idle() || (wanted && verified != expected); }
};

/// Analyses the wrong blocks of a phase. The owner of a content is searched among the places of `plan.pattern`.
void explain(const NvmePlan& plan, const PhaseResult& result, Verification& verification);

/// "LBA 7 holds the content of LBA 9".
std::string describe(const BlockFault& fault);

}  // namespace tester
