// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Data files of the program.

#include <filesystem>
#include <string>
#include <system_error>

namespace tester {

/// Path of a data file of the running program: in the data folder of the installation (XIO_DATA_DIR, relative to the
/// program's folder), or `built` if the program is not installed.
inline std::string data_path(const char* name, const char* built) {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path installed = program.parent_path() / XIO_DATA_DIR / name;
  return std::filesystem::exists(installed, none) ? installed.lexically_normal().string() : built;
}

}  // namespace tester
