// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Doorbell words that are rung by a call: devices that only the operating system can kick. Kernels on the CPU
/// make the call, by arch::serve_doorbell().

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// A doorbell word, and the function that the thread which stored to it calls. Set both members before any kernel
/// knows the word.
struct alignas(64) ServedDoorbell {
  uint32_t word = 0;
  void (*serve)(void* context) = nullptr;
  void* context = nullptr;
};

/// All that a process can have; who takes one says so elsewhere (host/memory/served_doorbell.hpp). At one place, so
/// that a word tells by its address whether it is one of them.
inline ServedDoorbell served_doorbells[1024];

}  // namespace arch

XIO_NAMESPACE_END
