// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The machine that a report is from.

#include <string>

namespace tester {

struct Machine {
  std::string kernel;     ///< release
  std::string processor;  ///< model
  bool emulated = false;  ///< the processor is QEMU's translator: figures are of instructions, not of hardware

  static Machine here();
  std::string text() const { return "Linux " + kernel + ", " + processor; }
};

/// The time, in UTC, as in 2026-01-31 12:00.
std::string utc_date();

}  // namespace tester
