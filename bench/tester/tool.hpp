// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief xio-tester: drives queues from kernels, measures and verifies; see docs/xio-tester.md.

namespace tester {

/// Runs the program; returns its exit status.
int run_tool(int argc, const char* const* argv);

}  // namespace tester
