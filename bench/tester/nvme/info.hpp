// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester info` and `xio-tester list`: show what is present, and what this build supports.

#include <string>

namespace CLI {
class App;
}

namespace tester {

struct InfoOptions {
  std::string controller;  ///< empty: only this build's features
  std::string json;
};

CLI::App* add_info_command(CLI::App& app, InfoOptions& options);
int run_info(const InfoOptions& options);

struct ListOptions {
  std::string json;
};

CLI::App* add_list_command(CLI::App& app, ListOptions& options);
int run_list(const ListOptions& options);

}  // namespace tester
