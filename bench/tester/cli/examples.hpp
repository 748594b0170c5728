// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Examples at the end of `--help`.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

namespace tester {

/// A command that runs as it stands, on the machine that `what` says.
struct Example {
  const char* what;     ///< what it does, without a full stop
  const char* command;  ///< a whole line
};

/// Puts examples at the end of what `--help` of a sub-command prints.
inline void add_examples(CLI::App* command, std::initializer_list<Example> examples) {
  std::string text = "Examples:";
  for (const Example& one : examples) text += std::string("\n  # ") + one.what + "\n  " + one.command;
  command->footer(text);
}

}  // namespace tester
