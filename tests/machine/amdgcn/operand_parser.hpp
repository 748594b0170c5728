// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parser of operands in the disassembler's text.

#include <string>
#include <vector>

#include <machine/amdgcn/instruction.hpp>

namespace machine::amdgcn {

std::string trimmed(const std::string& text);
bool starts_with(const std::string& text, const char* beginning);
bool ends_with(const std::string& text, const char* end);
/// Splits at commas outside brackets.
std::vector<std::string> split_operands(const std::string& text);

/// `wide`: constants with a decimal point have 64 bits; `sign`: hexadecimal constants are sign-extended.
/// @throws Fault if the operand is unknown
Operand parse_operand(std::string text, bool wide, bool sign);

}  // namespace machine::amdgcn
