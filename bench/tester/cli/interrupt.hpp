// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ctrl-C and SIGTERM: the first signal requests a stop, the second one ends the program.

#include <cstdint>

namespace tester {

/// Installs the handlers for the lifetime of the object; earlier requests are cleared.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// A StopRequest word that kernels poll.
  static const uint32_t* word();
  static bool requested();
  /// Readable from the first request on, for poll(); -1 if there is none.
  static int descriptor();
  /// Requests a stop as a signal does.
  static void request();
  /// Stops kernels that wait for operations that cannot complete.
  static void abandon();
};

}  // namespace tester
