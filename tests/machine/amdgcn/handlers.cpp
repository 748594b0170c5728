// SPDX-License-Identifier: MIT
#include <machine/amdgcn/handlers.hpp>

#include <machine/amdgcn/parsers.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable all;
    add_vector_integers(all);
    add_vector_halves(all);
    add_vector_wide(all);
    add_vector_floats(all);
    add_vector_compares(all);
    add_vector_lanes(all);
    add_scalar_arithmetic(all);
    add_scalar_masks(all);
    add_scalar_floats(all);
    add_control(all);
    add_cache_control(all);
    return all;
  }();
  return table;
}

/// The older name of an instruction that newer targets renamed.
const std::string& old_name(const std::string& name) {
  static const std::unordered_map<std::string, std::string> names = {
      {"v_add_nc_u32", "v_add_u32"},
      {"v_sub_nc_u32", "v_sub_u32"},
      {"v_subrev_nc_u32", "v_subrev_u32"},
      {"v_add_nc_u16", "v_add_u16"},
      {"v_sub_nc_u16", "v_sub_u16"},
      {"s_get_pc_i64", "s_getpc_b64"},
      {"s_set_pc_i64", "s_setpc_b64"},
      {"s_swap_pc_i64", "s_swappc_b64"},
      {"v_add_co_ci_u32", "v_addc_co_u32"},
      {"v_sub_co_ci_u32", "v_subb_co_u32"},
      {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
      {"v_mad_co_u64_u32", "v_mad_u64_u32"},
      {"s_and_not1_b32", "s_andn2_b32"},
      {"s_and_not1_b64", "s_andn2_b64"},
      {"s_or_not1_b32", "s_orn2_b32"},
      {"s_or_not1_b64", "s_orn2_b64"},
      {"s_ctz_i32_b32", "s_ff1_i32_b32"},
      {"s_ctz_i32_b64", "s_ff1_i32_b64"},
      {"s_clz_i32_u32", "s_flbit_i32_b32"},
      {"s_clz_i32_u64", "s_flbit_i32_b64"},
      {"s_and_not1_saveexec_b32", "s_andn2_saveexec_b32"},
      {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
      {"s_or_not1_saveexec_b32", "s_orn2_saveexec_b32"},
      {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
      {"s_add_co_u32", "s_add_u32"},
      {"s_sub_co_u32", "s_sub_u32"},
      {"s_add_co_ci_u32", "s_addc_u32"},
      {"s_sub_co_ci_u32", "s_subb_u32"},
      {"s_add_co_i32", "s_add_i32"},
      {"s_sub_co_i32", "s_sub_i32"},
      {"s_addk_co_i32", "s_addk_i32"},
  };
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

void check_takes(const Instruction& instruction, uint8_t takes) {
  if (instruction.lanes && !(takes & lane_changes)) throw Fault("DPP or SDWA of this instruction is not known");
  if (instruction.clamp && !(takes & clamping)) throw Fault("clamp of this instruction is not known");
  if (instruction.op_select != 0 && !(takes & halves)) throw Fault("op_sel of this instruction is not known");
  for (uint32_t i = 0; i < instruction.operands; ++i) {
    if (instruction.operand[i].has_signs() && !(takes & signs)) throw Fault("sign of an operand is not known");
    if (instruction.operand[i].half != 0 && !(takes & halves)) throw Fault("half of a register is not known");
  }
}

}  // namespace

Handler find_handler(Instruction& instruction, const Target& target) {
  Handler run = find_memory_access(instruction, target);
  Arrival arrival = Arrival::vector_memory;
  if (run == nullptr) {
    run = find_shared_access(instruction);
    arrival = Arrival::shared_memory;
  }
  if (run != nullptr) {
    check_takes(instruction, plain);
    const std::string& access = instruction.mnemonic;
    const bool gives = instruction.returns || access.find("load") != std::string::npos ||
                       access.find("read") != std::string::npos || access.find("permute") != std::string::npos;
    if (gives && instruction.of_lanes) instruction.arrival = arrival;
    return run;
  }
  const std::string& name = instruction.mnemonic;
  // On gfx9 these also write a register pair.
  if (starts_with(name, "v_cmpx_") && target.generation < 11) return nullptr;
  const auto found = handlers().find(starts_with(name, "v_cmpx_") ? "v_cmp_" + name.substr(7) : old_name(name));
  if (found == handlers().end()) return nullptr;
  check_takes(instruction, found->second.takes);
  return found->second.run;
}

}  // namespace machine::amdgcn
