// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs the snippets of the reference. Each source here holds regions that a docstring shows by @snippet, and
/// checks what they do on emulated devices.
///
/// Usage: snippets SOURCE [damage]

#include <cstdio>
#include <exception>
#include <string>

#include "check.hpp"

int main(int argc, char** argv) try {
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (argc > 2 && std::string(argv[2]) == "damage") snippets::damage = 1;
  for (const auto* program = snippets::Program::first; program != nullptr; program = program->next) {
    if (program->name != wanted) continue;
    program->body();
    return snippets::wrong == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "no snippets are called %s; the sources are:", wanted.c_str());
  for (const auto* program = snippets::Program::first; program != nullptr; program = program->next)
    std::fprintf(stderr, " %s", program->name);
  std::fputs("\n", stderr);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
