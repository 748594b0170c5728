// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Host memory as GPU runtimes map it coherently for each target.

#include <string>

#include <machine/core/address_space.hpp>

namespace machine {

/// Kind of host memory in which a kernel and devices exchange data. Targets without loads and stores of system scope
/// need memory that their L2 does not hold: a word that is polled stays the old one there otherwise.
inline MemoryKind host_memory(const std::string& target) {
  return target == "gfx90a" || target.compare(0, 5, "gfx11") == 0 ? MemoryKind::uncached : MemoryKind::host;
}

}  // namespace machine
