// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Flags that the user gave, as typed: every JSON file states them.

#include <string>
#include <utility>
#include <vector>

namespace tester {

/// A flag and its value; the value of a flag without one is empty.
using GivenFlags = std::vector<std::pair<std::string, std::string>>;

/// Those of the sub-command; set before it runs.
inline GivenFlags& given_flags() {
  static GivenFlags given;
  return given;
}

}  // namespace tester
