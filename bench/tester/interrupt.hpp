// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ctrl-C and SIGTERM: the first one asks for an end, the second one ends the program.

#include <cstdint>

namespace tester {

/// Installs the handlers for as long as it lives.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// A word that becomes 1 when the user wants to stop; kernels look at it.
  static const uint32_t* word();
  static bool requested();
  /// Stops kernels as the user would.
  static void request();
};

}  // namespace tester
