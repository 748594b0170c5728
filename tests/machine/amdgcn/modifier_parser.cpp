// SPDX-License-Identifier: MIT

#include <cstdlib>
#include <functional>
#include <vector>

#include <machine/amdgcn/parsers.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

std::vector<uint32_t> numbers(const std::string& text) {
  std::vector<uint32_t> all;
  for (const char* at = text.c_str(); *at != 0;) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    char* end = nullptr;
    all.push_back(static_cast<uint32_t>(std::strtoul(at, &end, 0)));
    at = end;
  }
  return all;
}

/// `source` maps a lane to the lane that it reads; -1: none.
void permute(LaneChange& lanes, const std::function<int(int)>& source) {
  lanes.dpp = true;
  for (int lane = 0; lane < 64; ++lane) lanes.from[static_cast<size_t>(lane)] = static_cast<int8_t>(source(lane));
}

bool parse_permutation(LaneChange& lanes, const std::string& key, const std::string& value) {
  const std::vector<uint32_t> list = numbers(value);
  const int n = list.empty() ? 0 : static_cast<int>(list[0]);
  if (key == "quad_perm" && list.size() == 4) {
    permute(lanes, [&](int lane) { return (lane & ~3) + static_cast<int>(list[static_cast<size_t>(lane & 3)] & 3); });
  } else if (key == "row_shl") {
    permute(lanes, [n](int lane) { return (lane & 15) + n < 16 ? lane + n : -1; });
  } else if (key == "row_shr") {
    permute(lanes, [n](int lane) { return (lane & 15) >= n ? lane - n : -1; });
  } else if (key == "row_ror") {
    permute(lanes, [n](int lane) { return (lane & ~15) + ((lane - n) & 15); });
  } else if (key == "wave_shl") {
    permute(lanes, [](int lane) { return lane < 63 ? lane + 1 : -1; });
  } else if (key == "wave_shr") {
    permute(lanes, [](int lane) { return lane - 1; });
  } else if (key == "wave_rol") {
    permute(lanes, [](int lane) { return (lane + 1) & 63; });
  } else if (key == "wave_ror") {
    permute(lanes, [](int lane) { return (lane - 1) & 63; });
  } else if (key == "row_mirror") {
    permute(lanes, [](int lane) { return lane ^ 15; });
  } else if (key == "row_half_mirror") {
    permute(lanes, [](int lane) { return lane ^ 7; });
  } else if (key == "row_bcast" && n == 15) {
    permute(lanes, [](int lane) { return lane < 16 ? -1 : (lane & ~15) - 1; });
  } else if (key == "row_bcast" && n == 31) {
    permute(lanes, [](int lane) { return lane < 32 ? -1 : 31; });
  } else if (key == "row_newbcast" || key == "row_share") {
    permute(lanes, [n](int lane) { return (lane & ~15) + n; });
  } else if (key == "row_xmask") {
    permute(lanes, [n](int lane) { return lane ^ n; });
  } else {
    return false;
  }
  return true;
}

/// Lanes whose row (16 lanes) or bank (4 lanes of each row) has its bit set.
uint64_t masked_lanes(uint32_t mask, int shift) {
  uint64_t lanes = 0;
  for (int lane = 0; lane < 64; ++lane) lanes |= uint64_t{mask >> (lane >> shift & 3) & 1} << lane;
  return lanes;
}

uint8_t selection(const std::string& value) {
  if (starts_with(value, "BYTE_")) return static_cast<uint8_t>(value[5] - '0');
  if (starts_with(value, "WORD_")) return static_cast<uint8_t>(4 + (value[5] - '0'));
  if (value == "DWORD") return 6;
  throw Fault("selection " + value);
}

bool parse_sub_dword(LaneChange& lanes, const std::string& key, const std::string& value) {
  if (key == "dst_sel") {
    lanes.destination = selection(value);
  } else if (key == "src0_sel") {
    lanes.source[0] = selection(value);
  } else if (key == "src1_sel") {
    lanes.source[1] = selection(value);
  } else if (key == "dst_unused") {
    lanes.unused = value == "UNUSED_PRESERVE" ? LaneChange::Unused::preserve
                   : value == "UNUSED_SEXT"   ? LaneChange::Unused::sign
                                              : LaneChange::Unused::zero;
  } else {
    return false;
  }
  lanes.sdwa = true;
  return true;
}

/// gfx90a and gfx11 have one bit, agent scope for loads; gfx942 encodes the scope in two bits; gfx12 names it.
bool parse_cache_policy(Instruction& instruction, const std::string& key, const std::string& value,
                        const Target& target) {
  const bool atomic = instruction.mnemonic.find("_atomic_") != std::string::npos;
  // No modelled hint bypasses the scalar cache.
  if (starts_with(instruction.mnemonic, "s_")) return false;
  const auto widen = [&](uint32_t bits) {
    instruction.scope = static_cast<Scope>(static_cast<uint32_t>(instruction.scope) | bits);
  };
  if (target.scope_bits) {
    if (key == "nt") return true;
    if (key == "sc1") {
      widen(atomic ? 3 : 2);
    } else if (key == "sc0" && atomic) {
      instruction.returns = true;
    } else if (key == "sc0") {
      widen(1);
    } else {
      return false;
    }
    return true;
  }
  if (target.generation < 12) {
    if (key == "slc" || (key == "dlc" && target.generation == 11)) return true;
    if (key != "glc") return false;
    if (atomic) {
      instruction.returns = true;
    } else if (instruction.mnemonic.find("_load_") != std::string::npos) {
      widen(2);
    }
    return true;
  }
  if (key == "scope") {
    instruction.scope = value == "SCOPE_SE"    ? Scope::group
                        : value == "SCOPE_DEV" ? Scope::agent
                        : value == "SCOPE_SYS" ? Scope::system
                                               : throw Fault("modifier scope:" + value);
    return true;
  }
  if (key != "th") return false;
  if (value == "TH_ATOMIC_RETURN") {
    instruction.returns = true;
    return true;
  }
  return value == "TH_LOAD_NT" || value == "TH_STORE_NT" || value == "TH_LOAD_HT" || value == "TH_STORE_HT" ||
         value == "TH_LOAD_LU";
}

}  // namespace

void parse_modifier(Instruction& instruction, LaneChange& lanes, const std::string& word, const Target& target) {
  const size_t colon = word.find(':');
  const std::string key = word.substr(0, colon);
  const std::string value = colon == std::string::npos ? std::string() : word.substr(colon + 1);
  if (key == "offset" || key == "offset0") {
    char* end = nullptr;
    instruction.offset = static_cast<int32_t>(std::strtol(value.c_str(), &end, 0));
    if (*end == 0) return;
  } else if (key == "offset1") {
    instruction.second_offset = static_cast<int32_t>(std::strtol(value.c_str(), nullptr, 0));
    return;
  } else if (key == "offen" && value.empty()) {
    instruction.offset_enabled = true;
    return;
  } else if (key == "clamp" && value.empty()) {
    instruction.clamp = true;
    return;
  } else if (key == "bitop3") {
    instruction.truth_table = static_cast<uint8_t>(std::strtoul(value.c_str(), nullptr, 0));
    return;
  } else if (key == "scale_offset" && value.empty()) {
    instruction.scaled = true;
    return;
  } else if (key == "op_sel" || key == "op_sel_hi") {
    const std::vector<uint32_t> list = numbers(value);
    uint8_t& select = key == "op_sel" ? instruction.op_select : instruction.op_select_high;
    select = 0;
    for (size_t i = 0; i < list.size(); ++i) select |= static_cast<uint8_t>(list[i] << i);
    return;
  } else if (key == "row_mask" || key == "bank_mask") {
    lanes.written &= masked_lanes(numbers(value).at(0), key == "row_mask" ? 4 : 2);
    return;
  } else if (key == "bound_ctrl") {
    lanes.zero_bound = true;
    return;
  } else if (key == "fi") {
    lanes.fetch_inactive = value == "1";
    return;
  }
  if (parse_permutation(lanes, key, value) || parse_sub_dword(lanes, key, value) ||
      parse_cache_policy(instruction, key, value, target))
    return;
  throw Fault("modifier " + word);
}

}  // namespace machine::amdgcn
