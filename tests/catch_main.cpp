// SPDX-License-Identifier: MIT

/// @file
/// @brief The test runner, compiled once for all tests.

#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include "skip.hpp"

int main(int argc, char** argv) {
  // Catch2 returns the number of failed assertions: 77 of them must not look like a test that cannot run.
  if (Catch::Session().run(argc, argv) != 0) return 1;
  return xio_tests::skipped ? 77 : 0;
}
