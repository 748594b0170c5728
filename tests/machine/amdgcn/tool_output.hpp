// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Output of LLVM's tools.

#include <string>
#include <vector>

namespace machine::amdgcn {

/// Whether a program is in one of the folders of PATH.
bool is_installed(const std::string& program);

/// Output of a command. @throws Fault if the program is missing or fails
/// @param input  descriptor of a file, which the command reads as its standard input from the beginning
std::string output_of(const std::vector<std::string>& command, int input);

}  // namespace machine::amdgcn
