// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Decoded PTX: functions of instructions, variables, and source locations.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace machine::ptx {

enum class Kind : uint8_t {
  compute,  ///< registers to a register, by a function
  compare,  ///< setp
  carry,    ///< compute, with the condition code
  pack,     ///< mov d, {a, b}
  unpack,   ///< mov {d, e}, a
  special,  ///< mov from a special register
  address,  ///< mov of a variable's address
  convert_address,
  load,
  store,
  atomic,
  fence,
  warp_barrier,
  vote,
  match,
  reduce,
  shuffle,
  active_mask,
  block_barrier,
  sleep,
  branch,
  call,
  leave,  ///< ret
  exit,
  trap,
  nothing
};

enum class Order : uint8_t { weak, relaxed, acquire, release, acq_rel, sc };
enum class Scope : uint8_t { cta, gpu, sys };
enum class Space : uint8_t { generic, global, constant, parameter, local, shared };

/// Variant of a collective, an atomic or a setp.
enum class How : uint8_t {
  none,
  add,
  exchange,
  compare_exchange,
  bit_and,
  bit_or,
  bit_xor,
  min,
  max,
  increment,
  decrement,
  ballot,
  any,
  all,
  uniform,
  index,
  up,
  down,
  butterfly
};

enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  lane,
  warp,
  warps,
  warp_size,
  smid,
  gridid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  globaltimer,
  globaltimer_lo,
  clock,
  clock_hi,
  clock64,
  dynamic_shared,
  total_shared
};

struct Type {
  char letter = 'b';  ///< b u s f, p: predicate
  uint8_t bits = 0;
  bool is_signed() const { return letter == 's'; }
  bool is_float() const { return letter == 'f'; }
  uint32_t bytes() const { return bits / 8u; }
};

/// A register or a constant.
struct Operand {
  int32_t index = -1;  ///< index of the register; negative: `value`
  bool negated = false;
  uint8_t bits = 64;  ///< of the register
  uint64_t value = 0;
};

using Compute = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/// `carry` is an input and an output.
using Carry = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c, bool& carry);

/// What an access with one value needs is in the first line.
struct alignas(64) Instruction {
  Kind kind = Kind::nothing;
  How how = How::none;
  Order order = Order::weak;
  Scope scope = Scope::sys;
  Space space = Space::generic;
  Type type;
  Special special = Special::tid_x;
  bool removed = false;         ///< by a mutation
  bool non_coherent = false;    ///< ld.global.nc
  bool to_space = false;        ///< cvta.to
  bool release_half = true;     ///< of a fence
  bool acquire_half = true;     ///< of a fence
  bool narrow_barrier = false;  ///< of a block barrier: not all threads of the block
  bool arrive_only = false;     ///< of a block barrier
  uint8_t outputs = 0;
  uint8_t inputs = 0;
  bool predicate_negated = false;
  int32_t predicate = -1;
  int64_t offset = 0;  ///< of an address; in the parameter area for the parameter space
  Operand base;        ///< of an address
  Operand out[4];
  Operand in[4];
  Compute compute = nullptr;
  Carry carry = nullptr;
  int32_t target = -1;         ///< of a branch; the index of a call's `calls` entry
  uint32_t value_of_true = 1;  ///< of a comparison
  uint32_t line = 0;           ///< of the PTX text, from 1
  int32_t place = -1;
};

/// Short form of an instruction that is executed often. Its operands are places relative to the first register of the
/// function; the constants of the function are in front of it.
struct Quick {
  enum What : uint8_t {
    compute_with_constant,  ///< of a register and a constant
    compute_of_two,
    compute_of_four,  ///< the same, with all inputs
    constant_only,
    copy,
    branch,
    removed,
    other,  ///< see the instruction itself
    end     ///< the closing brace
  } what = other;
  bool predicate_negated = false;
  int32_t predicate = -1;
  int32_t out = 0;
  int32_t target = 0;
  int32_t in[2] = {};
  union {
    int32_t more[2];  ///< the last two of four inputs
    uint64_t constant = 0;
  };
  Compute compute = nullptr;
};

struct Parameter {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

/// Copy between the parameter areas of caller and callee.
struct Copy {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t bytes = 0;
};
struct Call {
  std::string name;
  int32_t function = -1;
  std::vector<uint32_t> arguments;  ///< offsets in the caller's area
  std::vector<uint32_t> results;
  std::vector<Copy> in;
  std::vector<Copy> out;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  std::vector<Parameter> parameters;
  std::vector<Parameter> results;
  uint32_t argument_bytes = 0;   ///< bytes of the parameters, which come first in the parameter area
  uint32_t parameter_bytes = 0;  ///< including results and arguments of calls
  uint32_t registers = 0;        ///< declared
  uint32_t places = 0;           ///< of registers, in a frame
  bool shared_places = false;    ///< operands are places
  uint32_t local_bytes = 0;
  uint32_t shared_bytes = 0;
  uint32_t first = 0;  ///< index of its first instruction in the program
  std::vector<Instruction> code;
  /// Per instruction, since start(); of accesses, fences and barriers only. Empty until the function is called.
  std::vector<uint64_t> executed;
  std::vector<Quick> quick;         ///< of `code`; empty before the first call, and after a change
  std::vector<uint64_t> constants;  ///< of `quick`, the one next to the registers first
  std::vector<Call> calls;
};

/// A variable of the module.
struct Variable {
  Space space = Space::global;
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool external = false;  ///< shared memory whose size the launch defines
  uint64_t offset = 0;    ///< in its space
  std::vector<uint8_t> initial;
  std::vector<std::pair<uint64_t, std::string>> pointers;  ///< initialiser entries that refer to a variable
};

struct Place {
  uint32_t file = 0;
  uint32_t line = 0;
  int32_t inlined_at = -1;  ///< another place
};

struct Program {
  std::string target;
  std::vector<std::string> text;  ///< lines
  std::map<uint32_t, std::string> files;
  std::vector<Place> places;
  std::vector<Function> functions;
  std::map<std::string, int32_t> by_name;
  std::map<std::string, Variable> variables;
  uint64_t global_bytes = 0;  ///< .global and .const
  uint64_t shared_bytes = 0;  ///< static

  /// `completion.hpp:116 < nvme_core.hpp:88`: innermost first.
  std::string source(int32_t place, uint32_t most = 10) const;
  /// The text of an instruction's line, without surrounding white space.
  std::string line(const Instruction& instruction) const;
};

/// Gives the registers places in a frame, and makes operands of registers into operands of places.
void share_places(Function& function);
/// Fills in the short form.
void shorten(Function& function);

/// @throws Fault with line and text of an unknown construct
Program parse(const std::string& text);
Program parse_file(const std::string& path);

}  // namespace machine::ptx
