// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Doorbell words that are rung by a function call, for devices that only the operating system can notify.
/// Kernels on the CPU make the call through arch::serve_doorbell().

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// A doorbell word and the function that a thread calls after storing to it. Set both members before any kernel knows
/// the word.
struct alignas(64) ServedDoorbell {
  uint32_t word = 0;
  void (*serve)(void* context) = nullptr;
  void* context = nullptr;
};

/// All served doorbells of a process; allocation is recorded elsewhere (host/memory/served_doorbell.hpp). A single
/// array, so that the address of a word shows whether it is a served doorbell.
inline ServedDoorbell served_doorbells[1024];

}  // namespace arch

XIO_NAMESPACE_END
