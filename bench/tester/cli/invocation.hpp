// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Flags that the user gave, as typed: every JSON file states them.

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace tester {

/// A flag and its value; the value of a flag without one is empty.
using GivenFlags = std::vector<std::pair<std::string, std::string>>;

/// Stores the flags of a parsed sub-command; called once, before it runs.
void remember_flags(const CLI::App& command);
const GivenFlags& given_flags();

}  // namespace tester
