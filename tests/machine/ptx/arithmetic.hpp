// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What instructions compute that touch registers only. Sources: the PTX ISA, chapters "Integer Arithmetic",
/// "Floating-Point", "Comparison and Selection", "Logic and Shift", "Data Movement and Conversion".
///
/// Operands are as their registers hold them, zero-extended: each function cuts them to its type.

#include <string>
#include <vector>

#include <machine/ptx/program.hpp>

namespace machine::ptx {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// setp's comparison, 0 or 1; null where it is not known.
Compute comparison(const std::string& relation, const Type& type);
Compute move_of(const Type& type);
/// By the instruction's words. `bits`: of the register that takes the result. `inputs`: how many there must be.
/// Null where it is not known.
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
/// Untyped bits count as unsigned.
template <class Operation>
Compute of_integer(const Type& type) {
  if (type.is_float() || type.letter == 'p') return nullptr;
  return type.is_signed() ? of_signed<Operation>(type.bits) : of_unsigned<Operation>(type.bits);
}

}  // namespace machine::ptx
