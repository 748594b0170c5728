// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The switch of the defects that defects.py puts into copies of the headers, for every executor: a word at a
/// fixed address, which a kernel compiled for any of them can load.

#include <xio/config.hpp>

namespace scenarios {

/// A page below the arena of a case. Behind the number it holds zeros.
constexpr uint64_t defect_page = 0x0f0000000000;
constexpr uint64_t defect_page_bytes = 4096;

/// Whether the defect of this number, from 1, is switched on.
XIO_HOST_DEVICE inline bool has_defect(uint32_t number) {
  return *reinterpret_cast<const uint32_t*>(defect_page) == number;
}

/// An object of zeros, for a call that returns a reference to the wrong one.
template <class T>
XIO_HOST_DEVICE const T& nothing() {
  return *reinterpret_cast<const T*>(defect_page + 64);
}

}  // namespace scenarios
