// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ctrl-C and SIGTERM: the first one asks for an end, the second one ends the program.

#include <cstdint>

namespace tester {

/// Installs the handlers for as long as it lives; what was asked for before is forgotten.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// A StopRequest; kernels look at it.
  static const uint32_t* word();
  static bool requested();
  /// Stops kernels as the user would.
  static void request();
  /// Stops kernels that would wait for what cannot end any more.
  static void abandon();
};

}  // namespace tester
