// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Differences of the targets other than their instructions.

#include <cstdint>
#include <string>

#include <machine/amdgcn/instruction.hpp>

namespace machine::amdgcn {

/// After LLVM's "User Guide for AMDGPU Backend", sections "Memory Model GFX90A", "GFX942" (gfx950, too),
/// "GFX10-GFX11", "GFX12" and "GFX125x".
/// `groups_in_order` is why a release of workgroup scope waits for nothing on gfx90a and gfx942, unless the code is in
/// threadgroup split mode, in which the waves of a workgroup run on different units. On later targets it waits.
struct Target {
  std::string name;
  uint32_t generation = 9;  ///< 9, 11 or 12
  uint32_t lanes = 64;
  bool scope_bits = false;                 ///< cache bits sc0 and sc1 (gfx942)
  bool array_cache = false;                ///< a second cache of reads, for several units (gfx11)
  bool store_counter = false;              ///< stores have their own wait counter
  bool split_counters = false;             ///< LDS and scalar accesses, too (gfx12)
  bool several_second_levels = false;      ///< an agent may have more than one L2 (gfx942, gfx950, gfx1250)
  bool groups_in_order = false;            ///< a unit's cache keeps the accesses of a workgroup's waves in order
  Scope first_level_serves = Scope::unit;  ///< the widest scope of a load that may hit the unit's own cache
};

/// @throws Fault if the target is not one of those that there are models of
Target target_of(const std::string& name);

}  // namespace machine::amdgcn
