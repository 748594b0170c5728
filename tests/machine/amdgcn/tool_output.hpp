// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What LLVM's tools print.

#include <string>
#include <vector>

namespace machine::amdgcn {

/// @throws Fault where the program is missing or fails
std::string output_of(const std::vector<std::string>& command);

}  // namespace machine::amdgcn
