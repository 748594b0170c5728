// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Loads a program into the GPU that it was compiled for.

#include <machine/core/gpu.hpp>

namespace machine {

namespace amdgcn {
/// A code object (ELF) of gfx90a, gfx942, gfx1100, gfx1201 or a generic target, from a file.
/// @throws Fault if its target or an instruction is unknown
std::unique_ptr<Gpu> load(const std::string& path);
}  // namespace amdgcn

namespace ptx {
/// PTX text from a file, for `sm_70` and later.
/// @throws Fault if an instruction is unknown
std::unique_ptr<Gpu> load(const std::string& path);
}  // namespace ptx

/// Loads either kind, detected from the beginning of the file.
std::unique_ptr<Gpu> load(const std::string& path);

}  // namespace machine
