// SPDX-License-Identifier: MIT
#include <machine/amdgcn/program.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include <machine/amdgcn/elf_file.hpp>
#include <machine/amdgcn/instruction_parser.hpp>
#include <machine/amdgcn/message_pack.hpp>
#include <machine/amdgcn/operand_parser.hpp>
#include <machine/amdgcn/tool_output.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint64_t page = 4096;
constexpr uint32_t none = ~0u;
/// Kernels that are disassembled one by one before all others are at once.
constexpr uint32_t single_kernels = 4;
constexpr uint32_t all_parts = single_kernels + 1;

/// The mark behind code that was disassembled together.
bool is_end(const Instruction& instruction) { return instruction.text.empty(); }

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

OpenFile::OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Program::Program(const std::string& path) : path_(path), file_(path) {
  const ElfFile file = read_elf(path);
  for (const ElfSegment& segment : file.segments)
    image_bytes_ = std::max(image_bytes_, segment.address + segment.memory_bytes);
  image_bytes_ = (image_bytes_ + page - 1) / page * page;
  image_ = {static_cast<uint8_t*>(std::aligned_alloc(page, image_bytes_)), std::free};
  std::memset(image_.get(), 0, image_bytes_);
  for (const ElfSegment& segment : file.segments) {
    std::memcpy(image_.get() + segment.address, file.bytes.data() + segment.offset, segment.file_bytes);
    if (!segment.executable) continue;
    if (!numbers_.empty()) throw Fault(path + " has several segments of code");
    code_begin_ = segment.address;
    numbers_.assign((segment.memory_bytes + 3) / 4, none);
  }
  code_.reserve(numbers_.size() + all_parts);  // with the marks
  relocate(file, image_.get(), image_bytes_);
  read_metadata(file.metadata);
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.function) functions_.push_back({symbol.address, symbol.address + symbol.bytes, symbol.name});
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
  kernel.entry = address + static_cast<uint64_t>(entry);
}

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

void Program::disassemble(const std::vector<std::string>& options) {
  std::vector<std::string> command{"llvm-objdump-19", "-d"};
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

const Kernel& Program::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw Fault("no kernel " + name + " in " + path_);
  return found->second;
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
      if (one.mnemonic == "s_getpc_b64") call_target(number, todo);
      if (one.mnemonic == "s_branch" || one.mnemonic == "s_endpgm" || one.mnemonic == "s_setpc_b64") break;
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
    std::vector<std::string> command{"llvm-symbolizer-19", "--obj=-", "--functions=none", "--inlines"};
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
