// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Files that belong to a program.

#include <filesystem>
#include <string>
#include <system_error>

namespace tester {

/// Where a file lies that belongs to the running program: in the data folder of the installation (XIO_DATA_DIR,
/// relative to the program's folder), or, as long as the program was not installed, at `built`.
inline std::string data_path(const char* name, const char* built) {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path installed = program.parent_path() / XIO_DATA_DIR / name;
  return std::filesystem::exists(installed, none) ? installed.lexically_normal().string() : built;
}

}  // namespace tester
