// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A wave: its registers, and its accesses in flight.

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include <machine/amdgcn/caches.hpp>
#include <machine/amdgcn/instruction.hpp>

namespace machine::amdgcn {

class Processor;

/// A vector memory access in flight. Every lane's part of it is performed on its own, parts of more than 8 bytes in
/// pieces of 8.
struct Access {
  enum class Kind : uint8_t { load, store, atomic, write_back };
  Kind kind;
  Scope scope;
  uint8_t bytes;
  uint8_t registers;    ///< that it returns
  bool stores_counter;  ///< counted where stores are
  bool to_registers;    ///< of a device
  uint16_t destination;
  const Instruction* instruction;
  uint64_t mask;     ///< lanes
  uint64_t left[2];  ///< lanes of which the first 8 bytes, and those behind, have not been performed
  uint64_t low, high;
  uint64_t issued;
  uint64_t hold;  ///< not before this tick, unless a wait asks for it
  uint64_t address[64];
  uint32_t data[4][64];
  bool pending() const { return (left[0] | left[1]) != 0; }
};

/// A scalar load, or a clock.
struct ScalarAccess {
  uint16_t destination;
  uint8_t registers;
  uint8_t bytes;
  bool clock;
  bool message;  ///< answers of messages come in order, other than what goes through the scalar cache
  bool sign_extend;
  bool sampled;  ///< what it gives is decided
  uint64_t address;
  uint32_t data[16];
};

/// An access to LDS, or a permutation that goes the same way. Those of one wave are performed in order.
struct SharedAccess {
  enum class Kind : uint8_t { load, store, atomic, permutation };
  Kind kind;
  uint8_t bytes;
  uint8_t parts;      ///< 2: two addresses for each lane
  uint8_t registers;  ///< that it returns
  bool performed;
  uint16_t destination;
  const Instruction* instruction;
  uint64_t mask;
  uint32_t address[2][64];
  uint32_t data[4][64];
};

struct Group {
  uint32_t index[3] = {0, 0, 0};
  uint32_t unit = 0;
  uint32_t waves = 0;     ///< that have not ended
  uint32_t arrived = 0;   ///< at the barrier
  uint64_t barriers = 0;  ///< that all have come to
  uint64_t begins = 0;
  std::vector<uint8_t> shared;
};

using Lanes = std::array<uint32_t, 64>;

struct Wave {
  Processor* processor = nullptr;
  Group* group = nullptr;
  Requester requester;
  uint32_t lanes = 64;
  uint32_t number = 0;
  uint32_t counter = 0;  ///< the instruction that is next
  bool scc = false;
  bool done = false;
  bool at_barrier = false;
  bool signalled = false;  ///< has come to the barrier, and not yet waited for the others
  bool yielded = false;    ///< the instruction could not go on, and is tried again
  uint64_t barrier = 0;    ///< which one it has signalled
  uint64_t wake = 0;
  uint32_t s[scalar_registers] = {};
  std::vector<Lanes> v;
  std::vector<std::unique_ptr<Access>> flight;
  std::vector<ScalarAccess> scalars;
  std::deque<SharedAccess> shared;
  uint64_t poisoned_vectors[vector_registers / 64] = {};
  uint64_t poisoned_scalars[scalar_registers / 64] = {};
  uint32_t private_bytes = 0;  ///< of one lane
  std::vector<uint8_t> private_memory;

  uint64_t active() const { return lanes == 64 ? pair(exec) : s[exec]; }
  uint64_t pair(uint32_t index) const { return s[index] | uint64_t{s[index + 1]} << 32; }
  void set_pair(uint32_t index, uint64_t value) {
    s[index] = static_cast<uint32_t>(value);
    s[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  bool in_flight() const { return !flight.empty() || !scalars.empty() || !shared.empty(); }
};

}  // namespace machine::amdgcn
