// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The program's installation: data files, and programs beside it.

#include <filesystem>
#include <string>
#include <system_error>

namespace tester {

/// Folder of the running program.
inline std::filesystem::path program_folder() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
}

/// Path of a data file of the running program: in the data folder of the installation (XIO_DATA_DIR, relative to the
/// program's folder), or `built` if the program is not installed.
inline std::string data_path(const char* name, const char* built) {
  std::error_code none;
  const std::filesystem::path installed = program_folder() / XIO_DATA_DIR / name;
  return std::filesystem::exists(installed, none) ? installed.lexically_normal().string() : built;
}

/// How a user calls xio-bind: it is installed beside this program, or a script of the clone.
inline std::string xio_bind() {
  std::error_code none;
  return std::filesystem::exists(program_folder() / "xio-bind", none) ? "xio-bind" : "scripts/xio-bind";
}

}  // namespace tester
