// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Operands in the disassembler's text.

#include <string>
#include <vector>

#include <machine/amdgcn/instruction.hpp>

namespace machine::amdgcn {

std::string trimmed(const std::string& text);
bool starts_with(const std::string& text, const char* beginning);
bool ends_with(const std::string& text, const char* end);
/// Splits at commas that are in no brackets.
std::vector<std::string> split_operands(const std::string& text);

/// `wide`: constants with a decimal point are of 64 bits; `sign`: hexadecimal ones are extended by their sign.
/// @throws Fault where it is none that is known
Operand parse_operand(std::string text, bool wide, bool sign);

}  // namespace machine::amdgcn
