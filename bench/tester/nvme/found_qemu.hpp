// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The QEMUs of this machine.

#include <string>
#include <vector>

namespace tester {

struct FoundQemu {
  std::string name;  ///< as it is looked for: a program's name, or a path
  std::string path;
  std::string version;  ///< as it says; those that do not start are left out
};

/// Of XIO_QEMU, of the search path, and what scripts/qemu10 has unpacked. Each is started to ask for its version.
std::vector<FoundQemu> find_qemus();

}  // namespace tester
