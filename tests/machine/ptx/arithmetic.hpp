// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Results of instructions that access only registers. Sources: the PTX ISA, chapters "Integer Arithmetic",
/// "Floating-Point", "Comparison and Selection", "Logic and Shift", "Data Movement and Conversion".
///
/// Operands are zero-extended register values; each function truncates them to its type.

#include <string>
#include <vector>

#include <machine/ptx/program.hpp>

namespace machine::ptx {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// Comparison of setp, 0 or 1; null if unknown.
Compute comparison(const std::string& relation, const Type& type);
Compute move_of(const Type& type);
/// Computation of an instruction, given by its words. `bits`: width of the result register. `inputs`: required number
/// of inputs. Null if unknown.
Compute computation(const std::vector<std::string>& words, uint8_t bits, uint32_t& inputs);
/// add.cc, addc, sub.cc, subc, mad.cc, madc.
Carry carrying(const std::vector<std::string>& words, uint32_t& inputs);

// Parts of computation().
Compute integer_computation(const std::vector<std::string>& words, const Type& type, uint32_t& inputs);
Compute bit_computation(const std::vector<std::string>& words, const Type& type, uint32_t& inputs);
Compute float_computation(const std::vector<std::string>& words, const Type& type, uint32_t& inputs);
Compute conversion(const std::vector<std::string>& words, uint8_t bits);

bool special_register(const std::string& name, Special& out);

// For functions of any integer type.

template <class Operation>
Compute of_unsigned(uint32_t bits) {
  switch (bits) {
    case 8: return &Operation::template run<uint8_t>;
    case 16: return &Operation::template run<uint16_t>;
    case 32: return &Operation::template run<uint32_t>;
    case 64: return &Operation::template run<uint64_t>;
    default: return nullptr;
  }
}
template <class Operation>
Compute of_signed(uint32_t bits) {
  switch (bits) {
    case 8: return &Operation::template run<int8_t>;
    case 16: return &Operation::template run<int16_t>;
    case 32: return &Operation::template run<int32_t>;
    case 64: return &Operation::template run<int64_t>;
    default: return nullptr;
  }
}
/// Untyped bits are treated as unsigned.
template <class Operation>
Compute of_integer(const Type& type) {
  if (type.is_float() || type.letter == 'p') return nullptr;
  return type.is_signed() ? of_signed<Operation>(type.bits) : of_unsigned<Operation>(type.bits);
}

}  // namespace machine::ptx
