// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Description of the machine for reports.

#include <string>

namespace tester {

struct Machine {
  std::string kernel;     ///< release
  std::string processor;  ///< model
  bool emulated = false;  ///< the processor is QEMU's translator: figures reflect emulated instructions, not hardware

  static Machine here();
  std::string text() const { return "Linux " + kernel + ", " + processor; }
};

/// The current time in UTC, such as 2026-01-31 12:00.
std::string utc_date();

}  // namespace tester
