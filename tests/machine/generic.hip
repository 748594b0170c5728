// SPDX-License-Identifier: MIT

/// @file
/// @brief A kernel that tells which target it was compiled for: the number of a GPU, or the generation of a generic
/// target.

#include <xio/device/arch/arch.hpp>

extern "C" XIO_KERNEL void tell_target(uint32_t* target) {
#if defined(__gfx11_generic__)
  constexpr uint32_t number = 11;
#elif defined(__gfx12_generic__)
  constexpr uint32_t number = 12;
#elif defined(__gfx1100__)
  constexpr uint32_t number = 1100;
#elif defined(__gfx1201__)
  constexpr uint32_t number = 1201;
#else
  constexpr uint32_t number = 0;
#endif
  if (xio::arch::thread_index() == 0) xio::arch::store<xio::arch::Scope::system>(target, number);
}
