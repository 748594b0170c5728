// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Skipping of tests that cannot run on this machine.

#include <cstdio>
#include <string>

namespace xio_tests {

/// Set by skip(); the runner then exits with 77 unless something failed.
inline bool skipped = false;

/// Prints the reason and makes the program exit with status 77: `if (!present) return xio_tests::skip("no QEMU");`
inline void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  skipped = true;
}

}  // namespace xio_tests
