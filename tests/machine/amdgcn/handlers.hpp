// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Instruction tables by mnemonic, with the semantics of AMD's instruction set documents.

#include <string>
#include <unordered_map>

#include <machine/amdgcn/instruction.hpp>
#include <machine/amdgcn/target.hpp>

namespace machine::amdgcn {

/// Modifiers that an instruction accepts.
enum Takes : uint8_t { plain = 0, lane_changes = 1, signs = 2, clamping = 4, halves = 8 };

struct HandlerEntry {
  Handler run = nullptr;
  uint8_t takes = plain;
};

using HandlerTable = std::unordered_map<std::string, HandlerEntry>;

void add_vector_integers(HandlerTable& table);
void add_vector_halves(HandlerTable& table);
void add_vector_wide(HandlerTable& table);
void add_vector_floats(HandlerTable& table);
void add_vector_compares(HandlerTable& table);
void add_vector_lanes(HandlerTable& table);
void add_scalar_arithmetic(HandlerTable& table);
void add_scalar_masks(HandlerTable& table);
void add_scalar_floats(HandlerTable& table);
void add_control(HandlerTable& table);
void add_cache_control(HandlerTable& table);

/// Handler of a load, store or atomic, whose size is taken from the mnemonic and stored in the instruction. Null for
/// others.
Handler find_memory_access(Instruction& instruction, const Target& target);
Handler find_shared_access(Instruction& instruction);
/// "add_u32", "cmpswap_x2" … Returns false if it is unknown.
bool parse_atomic(const std::string& operation, Instruction& instruction);

}  // namespace machine::amdgcn
