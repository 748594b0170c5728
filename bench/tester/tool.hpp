// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief xio-tester: drives queues from kernels, measures and verifies. docs/xio-tester.md describes it.

namespace tester {

/// The whole program; returns its exit status.
int run_tool(int argc, const char* const* argv);

}  // namespace tester
