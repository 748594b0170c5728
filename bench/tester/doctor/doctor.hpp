// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester doctor`: reports which modes work on this machine, and what prevents the others.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tester {

struct DoctorOptions {
  std::vector<std::string> modes;  ///< modes that must work; empty: all are checked, none must work
  std::string json;
  std::string probe;  ///< controller whose registers are used to try doorbell mappings; empty: none
};

CLI::App* add_doctor_command(CLI::App& app, DoctorOptions& options);

/// Returns exit_failed if a requested mode does not work.
int run_doctor(const DoctorOptions& options);

}  // namespace tester
