// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Loads a program into the GPU that it was compiled for.

#include <machine/core/gpu.hpp>

namespace machine {

namespace amdgcn {
/// A code object (ELF) of gfx90a, gfx942, gfx1100 or gfx1201, from a file.
/// @throws Fault where it is of another target, or has an instruction that is not known
std::unique_ptr<Gpu> load(const std::string& path);
}  // namespace amdgcn

namespace ptx {
/// PTX text from a file, for `sm_70` and later.
/// @throws Fault where it has an instruction that is not known
std::unique_ptr<Gpu> load(const std::string& path);
}  // namespace ptx

/// By what the file begins with.
std::unique_ptr<Gpu> load(const std::string& path);

}  // namespace machine
