// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Examples at the end of `--help`.

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

namespace tester {

/// A command that runs unchanged, on the machine that `what` describes.
struct Example {
  const char* what;     ///< its effect, without a full stop
  const char* command;  ///< the complete command line
};

/// Appends examples to the `--help` text of a sub-command.
inline void add_examples(CLI::App* command, std::initializer_list<Example> examples) {
  std::string text = "Examples:";
  for (const Example& one : examples) text += std::string("\n  # ") + one.what + "\n  " + one.command;
  command->footer(text);
}

}  // namespace tester
