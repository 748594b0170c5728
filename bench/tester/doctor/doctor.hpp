// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester doctor`: which modes work on this machine, and what keeps the others from it.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tester {

struct DoctorOptions {
  std::vector<std::string> modes;  ///< that must work; empty: all are looked at, and none must
  std::string json;
  std::string probe;  ///< controller on whose registers doorbell mappings are tried; empty: none
};

CLI::App* add_doctor_command(CLI::App& app, DoctorOptions& options);

/// exit_failed where a mode that was asked for does not work.
int run_doctor(const DoctorOptions& options);

}  // namespace tester
