// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One instruction of a code object, parsed from the disassembler's text.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace machine::amdgcn {

/// Indices of named scalar registers in a wave's register file.
enum ScalarRegister : uint16_t {
  flat_scratch = 102,
  vcc = 106,
  ttmp = 108,
  m0 = 124,
  null_register = 125,
  exec = 126,
  scalar_registers = 128
};

/// The accumulation registers of gfx90a and gfx942 follow the 256 others; gfx1250 has more of these.
constexpr uint16_t accumulators = 256;
constexpr uint16_t vector_registers = 512;

/// Start of the generic addresses of LDS and of private memory, which no process uses.
constexpr uint64_t shared_base = uint64_t{1} << 56;
constexpr uint64_t private_base = uint64_t{2} << 56;
/// Where the generic address of private memory names the lane, in bits 52 and up (gfx1250).
constexpr uint64_t lanes_private_base = uint64_t{4} << 56;
constexpr uint32_t lane_shift = 52;

struct Operand {
  enum class Kind : uint8_t { none, vector, scalar, constant, condition, off };
  Kind kind = Kind::none;
  uint8_t width = 1;  ///< in dwords
  bool negate = false;
  bool absolute = false;
  uint8_t half = 0;  ///< of the register, with 16 bits: 1 the lower, 2 the upper
  uint16_t index = 0;
  uint64_t value = 0;  ///< of a constant
  bool has_signs() const { return negate || absolute; }
  bool is_changed() const { return has_signs() || half != 0; }
};

enum class AtomicOperation : uint8_t {
  exchange,
  compare_exchange,
  add,
  subtract,
  bit_and,
  bit_or,
  bit_xor,
  smallest,
  largest,
  smallest_signed,
  largest_signed,
  increment,
  decrement
};

/// Scope of an access: determines which caches it bypasses.
enum class Scope : uint8_t { unit, group, agent, system };

/// Accesses that a wait leaves in flight; `any` for counters that it ignores.
struct Waits {
  static constexpr uint8_t any = 255;
  uint8_t vector = any;            ///< vector memory; only loads if stores have their own counter
  uint8_t stores = any;            ///< gfx11, gfx12
  uint8_t shared = any;            ///< LDS (gfx12)
  uint8_t scalar = any;            ///< scalar loads and messages (gfx12)
  uint8_t shared_or_scalar = any;  ///< both in one counter (gfx9, gfx11)
};

/// Caches that an invalidation empties.
enum CacheLevels : uint8_t { first_level = 1, array_level = 2, second_level = 4 };

/// DPP: the lane from which a lane reads the first source. SDWA: the parts of registers that are used.
struct LaneChange {
  bool dpp = false;
  bool sdwa = false;
  std::array<int8_t, 64> from{};    ///< -1: none
  uint64_t written = ~uint64_t{0};  ///< lanes enabled by the row and bank masks
  bool zero_bound = false;          ///< lanes without a source read 0; otherwise they keep their result
  bool fetch_inactive = false;
  enum class Unused : uint8_t { zero, sign, preserve };
  Unused unused = Unused::zero;
  uint8_t destination = 6;  ///< 0-3: a byte, 4-5: a word, 6: all
  uint8_t source[2] = {6, 6};
  bool sign_extend[2] = {false, false};
};

/// How the result arrives. Results of the same kind arrive in issue order.
enum class Arrival : uint8_t { at_once, vector_memory, shared_memory };

struct Wave;
struct Instruction;
using Handler = void (*)(Wave&, const Instruction&);

struct Instruction {
  Handler run = nullptr;
  uint8_t operands = 0;
  uint8_t bytes = 4;  ///< bytes per lane of a memory access
  Scope scope = Scope::unit;
  AtomicOperation atomic = AtomicOperation::exchange;
  uint8_t levels = 0;  ///< CacheLevels of an invalidation
  Arrival arrival = Arrival::at_once;
  bool returns = false;         ///< an atomic that returns the old value
  bool offset_enabled = false;  ///< buffers: offen
  bool clamp = false;
  bool sign_extend = false;    ///< loads of less than 32 bits
  bool high_half = false;      ///< loads and stores of 16 bits or less: the upper half of the register
  bool low_half = false;       ///< loads that preserve the upper half
  bool of_lanes = false;       ///< every active lane takes part
  uint8_t truth_table = 0;     ///< of a logical operation of three operands
  bool scaled = false;         ///< an offset in a register counts accesses, not bytes
  uint8_t op_select_high = 7;  ///< likewise, for the upper half of a packed result
  uint8_t op_select = 0;       ///< one bit per operand: use the upper half
  uint32_t target = ~0u;       ///< branch target: index of an instruction
  int32_t offset = 0;
  int32_t second_offset = 0;
  Operand operand[6];
  Waits waits;
  Waits dropped;  ///< what a mutation removed from `waits`
  std::shared_ptr<const LaneChange> lanes;
  std::shared_ptr<Instruction> second;  ///< the other half of a dual instruction
  uint64_t address = 0;                 ///< in the code object
  uint64_t executed = 0;
  Waits served;            ///< of a wait, since start(): `any` for counters without accesses in flight
  bool to_memory = false;  ///< of an access, since start(): not only to registers of a device
  bool begun = false;      ///< since start(), which clears `executed` and `served` of no others
  bool parsed = false;
  std::string text;
  std::string mnemonic;  ///< without the encoding suffix
  std::string trouble;   ///< why it cannot be executed
};

}  // namespace machine::amdgcn
