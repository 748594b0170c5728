// SPDX-License-Identifier: MIT
#include <machine/amdgcn/unstored.hpp>

#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

[[noreturn]] void report(uint64_t lanes, uint32_t at) {
  throw Fault("lane " + std::to_string(__builtin_ctzll(lanes)) + " uses private memory at " + std::to_string(at) +
              " that it has never stored");
}

/// Lanes for which an operand has such a value, and where that is from.
uint64_t unstored(const Wave& wave, const Operand& operand, uint32_t& at) {
  uint64_t lanes = 0;
  if (operand.kind != Operand::Kind::vector) return lanes;
  for (uint32_t i = operand.index; i < uint32_t{operand.index} + operand.width; ++i) {
    if (wave.unstored[i] == 0) continue;
    lanes |= wave.unstored[i];
    at = wave.unstored_at[i];
  }
  return lanes;
}

void check(const Wave& wave, const Operand& operand, uint64_t lanes) {
  uint32_t at = 0;
  const uint64_t bad = unstored(wave, operand, at) & lanes;
  if (bad != 0) report(bad, at);
}

/// Loads, stores and atomics: their addresses. What is stored is looked at where it goes.
void check_access(const Wave& wave, const Instruction& i) {
  const std::string& name = i.mnemonic;
  const uint64_t active = wave.active();
  if (starts_with(name, "buffer_")) return check(wave, i.operand[1], i.offset_enabled ? active : 0);
  const bool gives = i.returns || name.find("load") != std::string::npos || name.find("read") != std::string::npos;
  check(wave, i.operand[gives ? 1 : 0], active);
  if (starts_with(name, "ds_"))
    for (uint32_t k = gives ? 2 : 1; k < i.operands; ++k) check(wave, i.operand[k], active);
}

/// Values that lanes read of each other.
void check_permutation(const Wave& wave, const Instruction& i) {
  const uint64_t active = wave.active();
  check(wave, i.operand[1], active);
  if (i.mnemonic != "ds_bpermute_b32") return check(wave, i.operand[2], active);
  uint64_t read = 0;
  each_lane(active, [&](uint32_t lane) {
    const uint32_t from = (wave.v[i.operand[1].index][lane] + static_cast<uint32_t>(i.offset)) / 4;
    read |= uint64_t{1} << (from & (wave.lanes - 1));
  });
  check(wave, i.operand[2], read & active);
}

/// v_readlane_b32 is left out: code that is not optimised keeps scalars in lanes, and loads some that it then ignores.
void check_lane(const Wave& wave, const Instruction& i) {
  const uint64_t active = wave.active();
  if (i.mnemonic == "v_readfirstlane_b32") check(wave, i.operand[1], active & -active);
}

/// Lanes whose result depends on such a value.
uint64_t of_result(const Wave& wave, const Instruction& i, uint32_t& at) {
  if (i.mnemonic == "v_cndmask_b32" && !i.lanes) {
    const uint64_t mask = i.operands > 3 ? mask_value(wave, i.operand[3]) : vcc_mask(wave);
    return (unstored(wave, i.operand[1], at) & ~mask) | (unstored(wave, i.operand[2], at) & mask);
  }
  uint64_t lanes = 0;
  for (uint32_t k = 1; k < i.operands; ++k) {
    uint64_t of = unstored(wave, i.operand[k], at);
    if (k == 1 && of != 0 && i.lanes && i.lanes->dpp) {
      uint64_t moved = 0;
      for (uint32_t lane = 0; lane < wave.lanes; ++lane)
        if (i.lanes->from[lane] >= 0) moved |= (of >> i.lanes->from[lane] & 1) << lane;
      of = moved;
    }
    lanes |= of;
  }
  if (i.mnemonic == "v_fmac_f32" || i.mnemonic == "v_mac_f32") lanes |= unstored(wave, i.operand[0], at);
  return lanes;
}

}  // namespace

void set_unstored(Wave& wave, uint32_t index, uint64_t lanes, uint64_t of, uint32_t at) {
  wave.unstored[index] = (wave.unstored[index] & ~lanes) | of;
  if (of != 0) wave.unstored_at[index] = at;
  wave.any_unstored = wave.any_unstored || of != 0;
}

void take_unstored(const Wave& wave, uint32_t index, uint32_t part, Access& access) {
  access.unstored[part] = wave.unstored[index] & access.mask;
  if (access.unstored[part] != 0) access.unstored_at = wave.unstored_at[index];
}

void check_stored(const Access& access, uint64_t lanes) {
  if (access.kind == Access::Kind::load) return;
  for (const uint64_t of : access.unstored)
    if ((of & lanes) != 0) report(of & lanes, access.unstored_at);
}

void track_unstored(Wave& wave, const Instruction& instruction) {
  for (const Instruction* half = &instruction; half != nullptr; half = half->second.get()) {
    const Instruction& i = *half;
    const std::string& name = i.mnemonic;
    if (!i.of_lanes || i.operands == 0) continue;
    if (name[0] != 'v') {
      if (name.find("permute") != std::string::npos) {
        check_permutation(wave, i);
      } else if (name.find("_load") != std::string::npos || name.find("_store") != std::string::npos ||
                 name.find("_atomic") != std::string::npos || starts_with(name, "ds_")) {
        check_access(wave, i);
      }
    } else if (starts_with(name, "v_cmp")) {
      for (uint32_t k = 0; k < i.operands; ++k) check(wave, i.operand[k], wave.active());
    } else if (starts_with(name, "v_read")) {
      check_lane(wave, i);
    } else if (name == "v_writelane_b32") {
      wave.unstored[i.operand[0].index] &= ~(uint64_t{1} << (scalar_value(wave, i.operand[2]) & (wave.lanes - 1)));
    } else if (name == "v_swap_b32") {
      const uint64_t active = wave.active();
      uint64_t& a = wave.unstored[i.operand[0].index];
      uint64_t& b = wave.unstored[i.operand[1].index];
      const uint64_t differ = (a ^ b) & active;
      a ^= differ;
      b ^= differ;
    } else if (i.operand[0].kind == Operand::Kind::vector) {
      uint32_t at = 0;
      const uint64_t active = wave.active();
      const uint64_t lanes = of_result(wave, i, at) & active;
      for (uint32_t k = 0; k < i.operand[0].width; ++k) set_unstored(wave, i.operand[0].index + k, active, lanes, at);
    }
  }
}

}  // namespace machine::amdgcn
