// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The QEMUs of this machine.

#include <string>
#include <vector>

namespace tester {

struct FoundQemu {
  std::string name;  ///< program name or path, as searched for
  std::string path;
  std::string version;  ///< reported version; a QEMU that does not start is omitted
};

/// QEMUs from XIO_QEMU, the search path and scripts/qemu10. Each is started to query its version.
std::vector<FoundQemu> find_qemus();

}  // namespace tester
