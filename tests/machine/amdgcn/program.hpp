// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A code object: its segments in this process's memory, its kernels, its instructions.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

struct Argument {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  std::string kind;  ///< "by_value", "global_buffer", "hidden_block_count_x" …
  bool hidden() const { return kind.compare(0, 7, "hidden_") == 0; }
};

/// A file that stays readable after it was removed.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// A kernel, described by its descriptor (LLVM's "Kernel Descriptor") and its metadata.
struct Kernel {
  std::string name;
  uint64_t entry = 0;  ///< address of its first instruction
  uint32_t shared_bytes = 0;
  uint32_t private_bytes = 0;
  uint32_t argument_bytes = 0;  ///< with hidden ones
  uint32_t vector_registers = 0;
  uint32_t resources1 = 0;
  uint32_t resources2 = 0;
  uint32_t resources3 = 0;
  uint16_t properties = 0;
  bool dynamic_stack = false;
  std::vector<Argument> arguments;
};

struct Function {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
};

class Program {
 public:
  /// @throws Fault if the file is not a code object of a known target
  explicit Program(const std::string& path);

  const Target& target() const { return target_; }
  uint8_t* image() const { return image_.get(); }
  uint64_t image_bytes() const { return image_bytes_; }
  const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  const Kernel& kernel(const std::string& name) const;

  /// The instructions that have been disassembled. References stay valid.
  std::vector<Instruction>& code() { return code_; }
  const std::vector<Instruction>& code() const { return code_; }
  /// Index of the instruction at `address`. @throws Fault if none starts there
  uint32_t at(uint64_t address);
  /// The instruction, parsed.
  Instruction& fetch(uint32_t number) {
    Instruction& instruction = code_[number];
    if (!instruction.parsed) parse(number);
    return instruction;
  }
  /// Instructions reachable from a kernel by branches, and by calls whose target the code computes.
  const std::vector<uint32_t>& reachable(const std::string& kernel);
  /// Source locations of instructions: "file:line", innermost first, separated by " < "; empty if unknown.
  std::vector<std::string> sources(const std::vector<uint32_t>& numbers) const;

 private:
  static constexpr uint32_t none = ~0u;
  /// Kernels that are disassembled one by one before all others are at once.
  static constexpr uint32_t single_kernels = 4;
  static constexpr uint32_t all_parts = single_kernels + 1;

  void parse(uint32_t number);
  void read_code(uint64_t address);
  void disassemble(const std::vector<std::string>& options);
  uint32_t* number_at(uint64_t address);
  void read_metadata(const std::vector<uint8_t>& file);
  void read_descriptor(const std::string& name, uint64_t address);
  void call_target(uint32_t number, std::vector<uint32_t>& todo);

  /// A tool of the LLVM that made the code, which knows its instructions; of another, if that is not installed.
  std::string tool(const std::string& name) const;

  std::string path_;
  std::string made_by_;  ///< LLVM's version
  OpenFile file_;
  Target target_;
  std::unique_ptr<uint8_t, void (*)(void*)> image_{nullptr, nullptr};
  uint64_t image_bytes_ = 0;
  std::vector<Instruction> code_;
  uint64_t code_begin_ = 0;
  std::vector<uint32_t> numbers_;  ///< by (address - code_begin_) / 4: of an instruction, or `none`
  uint32_t parts_read_ = 0;
  std::map<std::string, Kernel> kernels_;
  std::vector<Function> functions_;
  std::map<std::string, std::vector<uint32_t>> reachable_;
};

}  // namespace machine::amdgcn
