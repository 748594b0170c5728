// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parser of modifiers after the operands in the disassembler's text: offsets, cache bits, DPP, SDWA.

#include <string>

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

/// @throws Fault if the modifier is unknown
void parse_modifier(Instruction& instruction, LaneChange& lanes, const std::string& word, const Target& target);

}  // namespace machine::amdgcn
