// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Makes instructions of the disassembler's text.

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

/// Fills an instruction in from its text. What is not known about it goes into `trouble`, and then nothing runs it.
void parse_instruction(Instruction& instruction, const Target& target);

/// What executes a mnemonic (without the suffix of its encoding); null where none is known. Also fills in what memory
/// accesses move.
Handler find_handler(Instruction& instruction, const Target& target);

}  // namespace machine::amdgcn
