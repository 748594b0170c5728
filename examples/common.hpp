// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Helpers shared by the examples: arguments, and running a body whose success sets the exit status.

#include <cstdio>
#include <string>

#include <xio/host/nvme/open.hpp>

namespace example {

/// Command-line argument `i`, or `otherwise` if it is absent.
inline std::string argument(int argc, char** argv, int i, const std::string& otherwise) {
  return argc > i ? argv[i] : otherwise;
}

/// Runs `body`, which returns whether it succeeded; the exit status is 0 only then.
template <class Body>
int run(Body body) try {
  if (body()) return 0;
  std::fputs("something went wrong\n", stderr);
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

}  // namespace example
