// SPDX-License-Identifier: MIT
#include <machine/amdgcn/program.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <machine/amdgcn/elf_file.hpp>
#include <machine/amdgcn/instruction_parser.hpp>
#include <machine/amdgcn/message_pack.hpp>
#include <machine/amdgcn/operand_parser.hpp>
#include <machine/amdgcn/tool_output.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint64_t page = 4096;

/// Target in a name such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".
std::string target_name(const std::string& text) {
  const size_t dashes = text.find("--");
  if (dashes == std::string::npos) return text;
  return text.substr(dashes + 2, text.find(':', dashes) - dashes - 2);
}

void relocate(const ElfFile& file, uint8_t* image, uint64_t image_bytes) {
  constexpr uint32_t absolute64 = 3;
  constexpr uint32_t relative64 = 13;
  const auto base = reinterpret_cast<uint64_t>(image);
  for (const ElfRelocation& one : file.relocations) {
    if (one.type != absolute64 && one.type != relative64) throw Fault("relocation of type " + std::to_string(one.type));
    if (one.address + 8 > image_bytes) throw Fault("relocation outside of the image");
    const uint64_t value = base + (one.type == absolute64 ? one.symbol : 0) + static_cast<uint64_t>(one.addend);
    std::memcpy(image + one.address, &value, sizeof value);
  }
}

}  // namespace

Program::Program(const std::string& path) : path_(path) {
  const ElfFile file = read_elf(path);
  for (const ElfSegment& segment : file.segments)
    image_bytes_ = std::max(image_bytes_, segment.address + segment.memory_bytes);
  image_bytes_ = (image_bytes_ + page - 1) / page * page;
  image_ = {static_cast<uint8_t*>(std::aligned_alloc(page, image_bytes_)), std::free};
  std::memset(image_.get(), 0, image_bytes_);
  for (const ElfSegment& segment : file.segments)
    std::memcpy(image_.get() + segment.address, file.bytes.data() + segment.offset, segment.file_bytes);
  relocate(file, image_.get(), image_bytes_);
  read_metadata(file.metadata);
  read_code();
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.function) functions_.push_back({symbol.address, symbol.name});
    if (ends_with(symbol.name, ".kd")) read_descriptor(symbol.name.substr(0, symbol.name.size() - 3), symbol.address);
  }
}

void Program::read_metadata(const std::vector<uint8_t>& file) {
  const Value metadata = read_message(file);
  target_ = target_of(target_name(metadata["amdhsa.target"].text));
  for (const Value& entry : metadata["amdhsa.kernels"].list) {
    Kernel kernel;
    kernel.name = entry[".name"].text;
    kernel.argument_bytes = entry[".kernarg_segment_size"].number();
    kernel.vector_registers = entry[".vgpr_count"].number();
    kernel.dynamic_stack = entry[".uses_dynamic_stack"].integer != 0;
    if (entry[".wavefront_size"].number() != target_.lanes)
      throw Fault(kernel.name + " is for waves of " + std::to_string(entry[".wavefront_size"].integer));
    for (const Value& one : entry[".args"].list)
      kernel.arguments.push_back({one[".offset"].number(), one[".size"].number(), one[".value_kind"].text});
    std::string symbol = entry[".symbol"].text;
    if (ends_with(symbol, ".kd")) symbol.resize(symbol.size() - 3);
    kernels_.emplace(symbol, std::move(kernel));
  }
}

void Program::read_descriptor(const std::string& name, uint64_t address) {
  const auto found = kernels_.find(name);
  if (found == kernels_.end() || address + 64 > image_bytes_) throw Fault("descriptor of " + name);
  Kernel& kernel = found->second;
  const uint8_t* const descriptor = image_.get() + address;
  int64_t entry = 0;
  std::memcpy(&kernel.shared_bytes, descriptor, 4);
  std::memcpy(&kernel.private_bytes, descriptor + 4, 4);
  std::memcpy(&entry, descriptor + 16, 8);
  std::memcpy(&kernel.resources1, descriptor + 48, 4);
  std::memcpy(&kernel.resources2, descriptor + 52, 4);
  std::memcpy(&kernel.properties, descriptor + 56, 2);
  kernel.first = at(address + static_cast<uint64_t>(entry));
}

void Program::read_code() {
  std::istringstream lines(output_of({"llvm-objdump-19", "-d", path_}));
  for (std::string line; std::getline(lines, line);) {
    const size_t comment = line.rfind("// ");
    if (line.empty() || line[0] != '\t' || comment == std::string::npos) continue;
    Instruction instruction;
    instruction.address = std::strtoull(line.c_str() + comment + 3, nullptr, 16);
    instruction.text = trimmed(line.substr(0, comment));
    at_[instruction.address] = static_cast<uint32_t>(code_.size());
    code_.push_back(std::move(instruction));
  }
  if (code_.empty()) throw Fault(path_ + " has no instructions");
}

const Kernel& Program::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw Fault("no kernel " + name + " in " + path_);
  return found->second;
}

uint32_t Program::at(uint64_t address) const {
  const auto found = at_.find(address);
  if (found != at_.end()) return found->second;
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
  std::vector<bool> seen(code_.size());
  std::vector<uint32_t> todo{kernel(name).first};
  while (!todo.empty()) {
    uint32_t number = todo.back();
    todo.pop_back();
    for (; number < code_.size() && !seen[number]; ++number) {
      seen[number] = true;
      all.push_back(number);
      const Instruction& one = fetch(number);
      if (one.target != ~0u) todo.push_back(one.target);
      if (one.mnemonic == "s_getpc_b64") call_target(number, todo);
      if (one.mnemonic == "s_branch" || one.mnemonic == "s_endpgm" || one.mnemonic == "s_setpc_b64") break;
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> Program::sources(const std::vector<uint32_t>& numbers) const {
  constexpr size_t at_once = 512;
  std::vector<std::string> all;
  for (size_t begin = 0; begin < numbers.size(); begin += at_once) {
    const size_t end = std::min(begin + at_once, numbers.size());
    std::vector<std::string> command{"llvm-symbolizer-19", "--obj=" + path_, "--functions=none", "--inlines"};
    for (size_t i = begin; i < end; ++i) command.push_back(std::to_string(code_[numbers[i]].address));
    std::istringstream lines(output_of(command));
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
