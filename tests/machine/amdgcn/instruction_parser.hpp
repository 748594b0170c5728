// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parser of instructions in the disassembler's text.

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

/// Parses an instruction from its text. Unknown parts are reported in `trouble`; the instruction is then not
/// executable.
void parse_instruction(Instruction& instruction, const Target& target);

/// Handler of a mnemonic (without its encoding suffix); null if unknown. Also sets the size of memory accesses.
Handler find_handler(Instruction& instruction, const Target& target);

}  // namespace machine::amdgcn
