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

/// A vector memory access in flight. Each lane's part is performed separately, parts of more than 8 bytes in pieces of
/// 8.
struct Access {
  enum class Kind : uint8_t { load, store, atomic, write_back };
  Kind kind;
  Scope scope;
  uint8_t bytes;
  uint8_t registers;    ///< registers that it returns
  bool stores_counter;  ///< counted by the store counter
  bool to_registers;    ///< goes to a device's registers
  uint16_t destination;
  const Instruction* instruction;
  uint64_t mask;     ///< lanes
  uint64_t left[2];  ///< lanes whose first 8 bytes, and whose further bytes, have not been performed
  uint64_t low, high;
  /// Words of 8 bytes that it accesses, modulo 1024: accesses without a common bit do not overlap.
  uint64_t words[16];
  uint64_t issued;
  uint64_t hold;  ///< not performed before this tick, unless a later access must follow it
  uint64_t address[64];
  uint32_t data[4][64];
  /// Of private memory: lanes whose part of `data` the lane has never stored, and where it was loaded from.
  uint64_t unstored[4];
  uint32_t unstored_at;
  bool pending() const { return (left[0] | left[1]) != 0; }
};

/// A scalar load, or a clock.
struct ScalarAccess {
  uint16_t destination;
  uint8_t registers;
  uint8_t bytes;
  bool clock;
  bool message;  ///< results of messages arrive in order, unlike those of the scalar cache
  bool sign_extend;
  bool sampled;  ///< its result is determined
  uint64_t address;
  uint32_t data[16];
};

/// An access to LDS, or a permutation, which uses the same path. Accesses of one wave are performed in order.
struct SharedAccess {
  enum class Kind : uint8_t { load, store, atomic, permutation };
  Kind kind;
  uint8_t bytes;
  uint8_t parts;      ///< 2: two addresses per lane
  uint8_t registers;  ///< registers that it returns
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
  bool in_order = false;  ///< one cache keeps the accesses of its waves in order
  uint32_t waves = 0;     ///< waves that have not ended
  uint32_t arrived = 0;   ///< waves at the barrier
  uint64_t barriers = 0;  ///< barriers that all waves have reached
  std::vector<uint8_t> shared;
};

using Lanes = std::array<uint32_t, 64>;

struct Wave {
  Processor* processor = nullptr;
  Group* group = nullptr;
  Requester requester;
  uint32_t lanes = 64;
  uint32_t number = 0;
  uint32_t counter = 0;  ///< index of the next instruction
  bool scc = false;
  bool done = false;
  bool at_barrier = false;
  bool signalled = false;  ///< has arrived at the barrier, but not yet waited
  bool yielded = false;    ///< the instruction was blocked and is retried
  bool blocked = false;    ///< a wait has slept
  uint64_t barrier = 0;    ///< number of the signalled barrier
  uint64_t wake = 0;
  uint32_t s[scalar_registers] = {};
  std::vector<Lanes> v;
  std::vector<std::unique_ptr<Access>> flight;
  size_t stores = 0;  ///< of them, those that the store counter counts
  std::vector<ScalarAccess> scalars;
  std::deque<SharedAccess> shared;
  bool poisoned = false;  ///< some register is
  uint64_t poisoned_vectors[vector_registers / 64] = {};
  uint64_t poisoned_scalars[scalar_registers / 64] = {};
  uint32_t private_bytes = 0;  ///< per lane
  std::vector<uint8_t> private_memory;
  std::vector<bool> private_stored;  ///< by byte of `private_memory`
  /// Lanes of each register that hold bytes of private memory which the lane has never stored; see unstored.cpp.
  bool any_unstored = false;
  uint64_t unstored[vector_registers] = {};
  uint32_t unstored_at[vector_registers] = {};

  uint64_t active() const { return lanes == 64 ? pair(exec) : s[exec]; }
  uint64_t pair(uint32_t index) const { return s[index] | uint64_t{s[index + 1]} << 32; }
  void set_pair(uint32_t index, uint64_t value) {
    s[index] = static_cast<uint32_t>(value);
    s[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  bool in_flight() const { return !flight.empty() || !scalars.empty() || !shared.empty(); }
};

}  // namespace machine::amdgcn
