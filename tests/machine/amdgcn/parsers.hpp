// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parsers of the disassembler's text: instructions, their operands, and the modifiers after these (offsets,
/// cache bits, DPP, SDWA).

#include <string>
#include <vector>

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

std::string trimmed(const std::string& text);
bool starts_with(const std::string& text, const char* beginning);
bool ends_with(const std::string& text, const char* end);
/// Splits at commas outside brackets.
std::vector<std::string> split_operands(const std::string& text);

/// `wide`: constants with a decimal point have 64 bits; `sign`: hexadecimal constants are sign-extended.
/// @throws Fault if the operand is unknown
Operand parse_operand(std::string text, bool wide, bool sign);

/// @throws Fault if the modifier is unknown
void parse_modifier(Instruction& instruction, LaneChange& lanes, const std::string& word, const Target& target);

/// Parses an instruction from its text. Unknown parts are reported in `trouble`; the instruction is then not
/// executable.
void parse_instruction(Instruction& instruction, const Target& target);

/// Handler of a mnemonic (without its encoding suffix); null if unknown. Also sets the size of memory accesses.
Handler find_handler(Instruction& instruction, const Target& target);

}  // namespace machine::amdgcn
