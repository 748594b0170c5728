// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Translates PTX statements to a Program. Unknown constructs raise a Fault.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <machine/core/address_space.hpp>
#include <machine/ptx/lexer.hpp>
#include <machine/ptx/program.hpp>

namespace machine::ptx {

class Parser {
 public:
  explicit Parser(const std::string& text);
  Program take();

  // For the decoder.

  [[noreturn]] void fail(const std::string& what) const;
  Operand operand(const std::string& text);
  int32_t register_of(const std::string& name, uint8_t* bits = nullptr) const;
  /// `[base+offset]`, of the instruction's space.
  void address(const std::string& text, Instruction& out);
  /// Address denoted by `name`: a variable or an entry of the local depot. Returns false if it denotes none.
  bool address_of_variable(const std::string& name, Instruction& out);
  void branch_to(const std::string& label) { fixups_.emplace_back(function().code.size(), label); }
  void call(const std::vector<std::string>& operands, Instruction& out);
  Function& function() { return program_.functions[static_cast<size_t>(current_)]; }

 private:
  struct Registers {
    int32_t first = 0;
    int32_t count = 0;  ///< 0: one register of exactly this name
    uint8_t bits = 0;
  };
  struct Area {
    uint32_t offset = 0;
    uint32_t bytes = 0;
  };
  struct Block {
    std::unordered_map<std::string, Registers> registers;
    std::unordered_map<std::string, Area> parameters;
    std::unordered_map<std::string, uint32_t> locals;
  };
  /// A declaration such as `.param .align 8 .b8 name[16]`.
  struct Declaration {
    std::string name;
    uint32_t align = 1;
    uint64_t bytes = 0;
    Type type;
    bool open_ended = false;  ///< `name[]`
  };

  /// Most bytes of a variable, and of all variables of a space.
  static constexpr uint64_t most_bytes = 64 << 20;

  void run();
  void statement(const Statement& one);
  void directive(const std::string& text);
  void location(const std::string& text);
  void header(std::string text);
  void finish();
  void link();
  void declare_registers(const std::string& text);
  void declare_parameter(const std::string& text);
  void declare_variable(const std::string& text);
  void initialise(const std::string& text, const Type& type, Variable& out);
  Declaration declaration(const std::string& text) const;
  /// Where a variable begins that is declared after `used` bytes of others.
  uint32_t place(uint64_t used, const Declaration& declared) const;
  void instruction(std::string text);
  const Area& parameter(const std::string& name) const;

  Program program_;
  Lexer lexer_;
  uint32_t line_ = 0;
  int32_t current_ = -1;
  int32_t place_ = -1;
  std::vector<Block> blocks_;
  std::unordered_map<std::string, size_t> labels_;
  std::vector<std::pair<size_t, std::string>> fixups_;
  std::unordered_map<uint64_t, int32_t> inlined_;
};

/// `setp.eq.and.s32`, split at the dots, with its operands.
void decode(Parser& parser, const std::vector<std::string>& name, const std::vector<std::string>& operands,
            Instruction& out);

inline uint64_t aligned(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

/// @throws Fault through the parser if it is not a type
bool parse_type(const std::string& text, Type& out);

}  // namespace machine::ptx
