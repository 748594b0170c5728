// SPDX-License-Identifier: MIT

#include <cctype>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <machine/amdgcn/parsers.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

uint8_t limit_of(const std::string& text) {
  const auto limit = std::strtoul(text.c_str(), nullptr, 0);
  return static_cast<uint8_t>(limit < Waits::any ? limit : Waits::any - 1);
}

/// Parses waits such as "vmcnt(0) lgkmcnt(3)".
void parse_old_wait(Waits& waits, const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t open = word.find('(');
    const std::string name = word.substr(0, open);
    if (open == std::string::npos) throw Fault("wait " + word);
    const uint8_t limit = limit_of(word.substr(open + 1));
    if (name == "vmcnt") {
      waits.vector = limit;
    } else if (name == "lgkmcnt") {
      waits.shared_or_scalar = limit;
    } else if (name != "expcnt") {
      throw Fault("wait " + word);
    }
  }
}

bool parse_wait(Instruction& instruction, const std::string& rest) {
  Waits& waits = instruction.waits;
  const std::string& name = instruction.mnemonic;
  if (name == "s_waitcnt") {
    parse_old_wait(waits, rest);
  } else if (name == "s_waitcnt_vscnt") {
    if (!starts_with(rest, "null,")) throw Fault("wait with a register");
    waits.stores = limit_of(rest.substr(5));
  } else if (name == "s_wait_loadcnt") {
    waits.vector = limit_of(rest);
  } else if (name == "s_wait_storecnt") {
    waits.stores = limit_of(rest);
  } else if (name == "s_wait_dscnt") {
    waits.shared = limit_of(rest);
  } else if (name == "s_wait_kmcnt") {
    waits.scalar = limit_of(rest);
  } else if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    const auto both = std::strtoul(rest.c_str(), nullptr, 0);
    waits.shared = static_cast<uint8_t>(both & 63);
    (name == "s_wait_loadcnt_dscnt" ? waits.vector : waits.stores) = static_cast<uint8_t>(both >> 8 & 63);
  } else if (name == "s_wait_samplecnt" || name == "s_wait_bvhcnt" || name == "s_wait_expcnt" ||
             name == "s_waitcnt_depctr" || name == "s_wait_alu" || name == "s_wait_xcnt") {
    // Counters of images, exports, hazards and address translations: the machine never has any outstanding.
  } else {
    return false;
  }
  return true;
}

/// Whether the operands are only hints, or are implied by the mnemonic's handler.
bool takes_no_operands(const std::string& name) {
  for (const char* one :
       {"s_delay_alu", "s_clause", "s_code_end", "s_sendmsg", "s_nop", "s_set_inst_prefetch_distance", "s_setprio",
        "s_set_vgpr_msb", "s_barrier_wait", "s_endpgm", "s_barrier", "s_icache_inv", "s_dcache_inv"})
    if (name == one) return true;
  return false;
}

bool is_branch(const std::string& name) { return name == "s_branch" || starts_with(name, "s_cbranch_"); }

bool is_sign_extended(const std::string& name) { return name.find("_i64") != std::string::npos; }

/// Whether operands have 64 bits: constants with a decimal point are then doubles.
bool is_wide(const std::string& name) {
  return ends_with(name, "_b64") || ends_with(name, "_u64") || ends_with(name, "_i64") || ends_with(name, "_f64");
}

/// Splits off the modifiers, which follow the last operand or the mnemonic, separated by spaces.
std::vector<std::string> split_modifiers(std::string& rest) {
  std::vector<std::string> modifiers;
  const size_t comma = [&] {
    int depth = 0;
    size_t last = std::string::npos;
    for (size_t i = 0; i < rest.size(); ++i) {
      depth += (rest[i] == '[' || rest[i] == '(') - (rest[i] == ']' || rest[i] == ')');
      if (rest[i] == ',' && depth == 0) last = i;
    }
    return last;
  }();
  const size_t begin = comma == std::string::npos ? 0 : comma + 1;
  std::istringstream words(rest.substr(begin));
  std::string first;
  words >> first;
  for (std::string word; words >> word;) modifiers.push_back(word);
  rest = rest.substr(0, begin) + first;
  return modifiers;
}

/// "v9 /*v265*/": registers from 256 on, whose number is partly in s_set_vgpr_msb (gfx1250).
void take_whole_numbers(std::string& text) {
  for (size_t open; (open = text.find(" /*")) != std::string::npos;) {
    const size_t close = text.find("*/", open);
    if (close == std::string::npos) return;
    size_t begin = open;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                         std::string("[:].").find(text[begin - 1]) != std::string::npos))
      --begin;
    text.replace(begin, close + 2 - begin, text.substr(open + 3, close - open - 3));
  }
}

void parse_half(Instruction& instruction, const std::string& text, const Target& target) {
  const size_t space = text.find_first_of(" \t");
  std::string rest = space == std::string::npos ? std::string() : trimmed(text.substr(space));
  take_whole_numbers(rest);
  std::string& name = instruction.mnemonic;
  name = text.substr(0, space);
  if (starts_with(name, "v_dual_")) name.erase(2, 5);
  for (const char* suffix : {"_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"}) {
    if (!ends_with(name, suffix)) continue;
    name.resize(name.size() - std::string(suffix).size());
    break;
  }
  instruction.of_lanes = name.compare(0, 2, "s_") != 0;
  LaneChange lanes;
  if (parse_wait(instruction, rest) || takes_no_operands(name)) {
  } else if (is_branch(name)) {
    instruction.offset = static_cast<int16_t>(std::strtoul(rest.c_str(), nullptr, 10));
  } else if (starts_with(name, "buffer_wb") || starts_with(name, "buffer_inv") || starts_with(name, "buffer_gl") ||
             starts_with(name, "global_inv") || starts_with(name, "global_wb")) {
    std::istringstream words(rest);
    for (std::string word; words >> word;) parse_modifier(instruction, lanes, word, target);
  } else {
    if (name == "s_sendmsg_rtn_b64") {
      if (!ends_with(rest, "sendmsg(MSG_RTN_GET_REALTIME)")) throw Fault("message " + rest);
      rest.resize(rest.find(','));
    } else if (name == "s_getreg_b32") {
      // The extent of a cluster of workgroups: there is none.
      if (rest.find("hwreg(HW_REG_IB_STS2, 6, 4)") == std::string::npos) throw Fault("hardware register " + rest);
      rest.replace(rest.find(','), std::string::npos, ", 0");
    } else if (name == "s_setreg_imm32_b32") {
      // How addresses of instructions are translated.
      if (!starts_with(rest, "hwreg(HW_REG_WAVE_MODE, 25, 1)")) throw Fault("hardware register " + rest);
      rest.clear();
    }
    if (starts_with(name, "v_cmpx_") && target.generation >= 11) {
      // Writes the mask of lanes, which only the mnemonic indicates.
      instruction.operand[instruction.operands++] = parse_operand("exec", false, false);
    }
    for (const std::string& word : split_modifiers(rest)) parse_modifier(instruction, lanes, word, target);
    for (const std::string& part : split_operands(rest)) {
      if (instruction.operands == 6) throw Fault("more than 6 operands");
      instruction.operand[instruction.operands++] = parse_operand(part, is_wide(name), is_sign_extended(name));
    }
  }
  // What the names of halves say already.
  for (uint32_t i = 0; i < instruction.operands; ++i)
    if (instruction.operand[i].half != 0) instruction.op_select = 0;
  if (lanes.dpp || lanes.sdwa) instruction.lanes = std::make_shared<const LaneChange>(lanes);
  instruction.run = find_handler(instruction, target);
  if (instruction.run == nullptr) throw Fault("instruction not known");
}

}  // namespace

void parse_instruction(Instruction& instruction, const Target& target) {
  if (instruction.parsed) return;
  instruction.parsed = true;
  try {
    const size_t other = instruction.text.find(" :: ");
    if (other == std::string::npos) {
      parse_half(instruction, instruction.text, target);
    } else {
      instruction.second = std::make_shared<Instruction>();
      parse_half(*instruction.second, trimmed(instruction.text.substr(other + 4)), target);
      parse_half(instruction, trimmed(instruction.text.substr(0, other)), target);
    }
  } catch (const Fault& fault) {
    instruction.trouble = fault.what();
    instruction.run = nullptr;
  }
}

}  // namespace machine::amdgcn
