// SPDX-License-Identifier: MIT
/// @file
/// @brief The instructions of a code object, disassembled as they are needed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/program.hpp>
#include <machine/amdgcn/tool_output.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

/// The mark behind code that was disassembled together.
bool is_end(const Instruction& instruction) { return instruction.text.empty(); }

}  // namespace

/// Disassembles what is needed of an address: a run needs few kernels, and the tool takes its time.
void Program::read_code(uint64_t address) {
  const auto function = std::find_if(functions_.begin(), functions_.end(),
                                     [&](const Function& one) { return address >= one.begin && address < one.end; });
  if (parts_read_ == single_kernels || function == functions_.end()) {
    parts_read_ = all_parts;
    return disassemble({});
  }
  std::string names = function->name;
  if (parts_read_++ == 0) {  // small, and called by any of the kernels
    for (const Function& one : functions_)
      if (kernels_.count(one.name) == 0) names += "," + one.name;
  }
  disassemble({"--disassemble-symbols=" + names});
}

std::string Program::tool(const std::string& name) const {
  for (const std::string& version : {made_by_, std::string("22"), std::string("19")})
    if (!version.empty() && is_installed(name + "-" + version)) return name + "-" + version;
  return name + "-" + (made_by_.empty() ? "19" : made_by_);
}

void Program::disassemble(const std::vector<std::string>& options) {
  std::vector<std::string> command{tool("llvm-objdump"), "-d"};
  command.insert(command.end(), options.begin(), options.end());
  command.emplace_back("-");
  const std::string text = output_of(command, file_.descriptor());
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const size_t comment = line.rfind("// ");
    if (line.empty() || line[0] != '\t' || comment == std::string_view::npos) continue;
    const uint64_t address = std::strtoull(line.data() + comment + 3, nullptr, 16);
    uint32_t* const number = number_at(address);
    if (number == nullptr || *number != none) continue;
    *number = static_cast<uint32_t>(code_.size());
    code_.emplace_back();
    code_.back().address = address;
    code_.back().text = trimmed(std::string(line.substr(0, comment)));
  }
  code_.emplace_back();  // where code that goes on behind its end stops
  code_.back().parsed = true;
  code_.back().trouble = "the end of the code";
}

uint32_t* Program::number_at(uint64_t address) {
  const uint64_t place = (address - code_begin_) / 4;
  return address % 4 == 0 && place < numbers_.size() ? &numbers_[place] : nullptr;
}

uint32_t Program::at(uint64_t address) {
  const uint32_t* const number = number_at(address);
  while (number != nullptr && *number == none && parts_read_ != all_parts) read_code(address);
  if (number != nullptr && *number != none) return *number;
  char text[64];
  std::snprintf(text, sizeof text, "no instruction begins at 0x%llx", static_cast<unsigned long long>(address));
  throw Fault(text);
}

void Program::parse(uint32_t number) {
  Instruction& instruction = code_[number];
  parse_instruction(instruction, target_);
  if (starts_with(instruction.mnemonic, "s_cbranch_") || instruction.mnemonic == "s_branch")
    instruction.target = at(instruction.address + 4 + static_cast<uint64_t>(int64_t{instruction.offset} * 4));
}

/// Recognises a call target: s_getpc and the two additions that form a function's address.
void Program::call_target(uint32_t number, std::vector<uint32_t>& todo) {
  const uint16_t base = code_[number].operand[0].index;
  uint64_t offset = 0;
  uint32_t parts = 0;
  for (uint32_t next = number + 1; next < code_.size() && next < number + 12 && parts < 2; ++next) {
    const Instruction& one = fetch(next);
    const std::string& name = one.mnemonic;
    if (name == "s_add_nc_u64" && one.operand[0].index == base && one.operand[2].kind == Operand::Kind::constant) {
      offset = one.operand[2].value;
      parts = 2;
      break;
    }
    const bool low = name == "s_add_u32" || name == "s_add_co_u32";
    const bool high = name == "s_addc_u32" || name == "s_add_co_ci_u32";
    if ((!low && !high) || one.operand[0].index != base + (high ? 1 : 0)) continue;
    if (one.operand[2].kind != Operand::Kind::constant) return;
    offset += (one.operand[2].value & 0xffffffffu) << (high ? 32 : 0);
    ++parts;
  }
  if (parts != 2 || number + 1 == code_.size()) return;
  const uint64_t address = code_[number + 1].address + offset;
  for (const Function& function : functions_)
    if (function.begin == address) todo.push_back(at(address));
}

const std::vector<uint32_t>& Program::reachable(const std::string& name) {
  std::vector<uint32_t>& all = reachable_[name];
  if (!all.empty()) return all;
  std::vector<bool> seen;
  std::vector<uint32_t> todo{at(kernel(name).entry)};
  while (!todo.empty()) {
    uint32_t number = todo.back();
    todo.pop_back();
    seen.resize(code_.size());
    for (; number < seen.size() && !seen[number]; ++number) {
      const Instruction& one = fetch(number);
      if (is_end(one)) break;
      seen[number] = true;
      all.push_back(number);
      if (one.target != ~0u) todo.push_back(one.target);
      if (one.mnemonic == "s_getpc_b64" || one.mnemonic == "s_get_pc_i64") call_target(number, todo);
      if (one.mnemonic == "s_branch" || one.mnemonic == "s_endpgm" || one.mnemonic == "s_setpc_b64" ||
          one.mnemonic == "s_set_pc_i64")
        break;
    }
  }
  std::sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return code_[a].address < code_[b].address; });
  return all;
}

std::vector<std::string> Program::sources(const std::vector<uint32_t>& numbers) const {
  constexpr size_t at_once = 512;
  std::vector<std::string> all;
  for (size_t begin = 0; begin < numbers.size(); begin += at_once) {
    const size_t end = std::min(begin + at_once, numbers.size());
    std::vector<std::string> command{tool("llvm-symbolizer"), "--obj=-", "--functions=none", "--inlines"};
    for (size_t i = begin; i < end; ++i) command.push_back(std::to_string(code_[numbers[i]].address));
    std::istringstream lines(output_of(command, file_.descriptor()));
    std::string one;
    for (std::string line; std::getline(lines, line);) {
      if (line.empty()) {
        all.push_back(one);
        one.clear();
      } else if (!starts_with(line, "??")) {
        one += (one.empty() ? "" : " < ") + line.substr(0, line.rfind(':'));
      }
    }
    all.resize(end);
  }
  return all;
}

}  // namespace machine::amdgcn
