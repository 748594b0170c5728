// SPDX-License-Identifier: MIT
#include <machine/amdgcn/target.hpp>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {

Target target_of(const std::string& name) {
  Target target;
  target.name = name;
  target.groups_in_order = name == "gfx90a" || name == "gfx942" || name == "gfx950" || name == "gfx9-4-generic";
  if (name == "gfx90a") return target;
  if (name == "gfx942" || name == "gfx950" || name == "gfx9-4-generic") {
    target.scope_bits = true;
    target.several_second_levels = true;
    // The waves of a workgroup share a unit, so its cache serves workgroup scope.
    target.first_level_serves = Scope::group;
    return target;
  }
  target.lanes = 32;
  target.store_counter = true;
  if (name == "gfx1100" || name == "gfx11-generic") {
    target.generation = 11;
    target.array_cache = true;
    return target;
  }
  if (name == "gfx1201" || name == "gfx12-generic") {
    target.generation = 12;
    target.split_counters = true;
    return target;
  }
  if (name == "gfx1250") {
    target.generation = 12;
    target.split_counters = true;
    target.several_second_levels = true;
    // One cache for the processor on which a workgroup runs.
    target.first_level_serves = Scope::group;
    return target;
  }
  throw Fault("code for " + name +
              ": there are models of gfx90a, gfx942, gfx950, gfx1100, gfx1201, gfx1250 and generic targets only");
}

}  // namespace machine::amdgcn
