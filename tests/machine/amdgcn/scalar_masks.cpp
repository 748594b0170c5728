// SPDX-License-Identifier: MIT
/// @file
/// @brief Scalar instructions on lane masks and bits: SCC is set if the result is not 0.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

template <class Function>
void bits32(Wave& wave, const Instruction& i, Function function) {
  const u32 b = i.operands > 2 ? scalar_value(wave, i.operand[2]) : 0;
  const auto result = static_cast<u32>(function(scalar_value(wave, i.operand[1]), b));
  write_scalar(wave, i.operand[0], result);
  wave.scc = result != 0;
}
template <class Function>
void bits64(Wave& wave, const Instruction& i, Function function) {
  const u64 b = i.operands > 2 ? scalar_value64(wave, i.operand[2]) : 0;
  const u64 result = function(scalar_value64(wave, i.operand[1]), b);
  write_scalar64(wave, i.operand[0], result);
  wave.scc = result != 0;
}
/// Saves the mask of active lanes in the first operand, and computes the new mask from it and the second.
template <class Function>
void save32(Wave& wave, const Instruction& i, Function function) {
  const u32 old = wave.s[exec];
  const auto result = static_cast<u32>(function(scalar_value(wave, i.operand[1]), old));
  write_scalar(wave, i.operand[0], old);
  wave.s[exec] = result;
  wave.scc = result != 0;
}
template <class Function>
void save64(Wave& wave, const Instruction& i, Function function) {
  const u64 old = wave.pair(exec);
  const u64 result = function(scalar_value64(wave, i.operand[1]), old);
  write_scalar64(wave, i.operand[0], old);
  wave.set_pair(exec, result);
  wave.scc = result != 0;
}

void count32(Wave& wave, const Instruction& i) {
  bits32(wave, i, [](u32 a, u32) { return static_cast<u32>(__builtin_popcount(a)); });
}
void count64(Wave& wave, const Instruction& i) {
  const auto result = static_cast<u32>(__builtin_popcountll(scalar_value64(wave, i.operand[1])));
  write_scalar(wave, i.operand[0], result);
  wave.scc = result != 0;
}
void select32(Wave& wave, const Instruction& i) {
  write_scalar(wave, i.operand[0], scalar_value(wave, i.operand[wave.scc ? 1 : 2]));
}
void select64(Wave& wave, const Instruction& i) {
  write_scalar64(wave, i.operand[0], scalar_value64(wave, i.operand[wave.scc ? 1 : 2]));
}
void move_if32(Wave& wave, const Instruction& i) {
  if (wave.scc) write_scalar(wave, i.operand[0], scalar_value(wave, i.operand[1]));
}
void move_if64(Wave& wave, const Instruction& i) {
  if (wave.scc) write_scalar64(wave, i.operand[0], scalar_value64(wave, i.operand[1]));
}

}  // namespace

// Entries: the 32-bit and 64-bit instruction and, if there is one, the form that saves the mask of active lanes.
#define XIO_BITS(name, result)                                                                         \
  {"s_" name "_b32",                                                                                   \
   {[](Wave& w, const Instruction& i) { bits32(w, i, [](u32 a, u32 b) { return result; }); }, plain}}, \
  {                                                                                                    \
    "s_" name "_b64", {                                                                                \
      [](Wave& w, const Instruction& i) { bits64(w, i, [](u64 a, u64 b) { return result; }); }, plain  \
    }                                                                                                  \
  }
#define XIO_SAVE(name, result)                                                                         \
  {"s_" name "_saveexec_b32",                                                                          \
   {[](Wave& w, const Instruction& i) { save32(w, i, [](u32 a, u32 b) { return result; }); }, plain}}, \
  {                                                                                                    \
    "s_" name "_saveexec_b64", {                                                                       \
      [](Wave& w, const Instruction& i) { save64(w, i, [](u64 a, u64 b) { return result; }); }, plain  \
    }                                                                                                  \
  }

void add_scalar_masks(HandlerTable& table) {
  table.insert({
      XIO_BITS("and", a & b),
      XIO_BITS("or", a | b),
      XIO_BITS("xor", a ^ b),
      XIO_BITS("andn2", a & ~b),
      XIO_BITS("orn2", a | ~b),
      XIO_BITS("nand", ~(a & b)),
      XIO_BITS("nor", ~(a | b)),
      XIO_BITS("xnor", ~(a ^ b)),
      XIO_BITS("not", (static_cast<void>(b), ~a)),
      XIO_SAVE("and", a & b),
      XIO_SAVE("or", a | b),
      XIO_SAVE("xor", a ^ b),
      XIO_SAVE("andn2", a & ~b),
      XIO_SAVE("orn2", a | ~b),
      {"s_bcnt1_i32_b32", {count32, plain}},
      {"s_bcnt1_i32_b64", {count64, plain}},
      {"s_cselect_b32", {select32, plain}},
      {"s_cselect_b64", {select64, plain}},
      {"s_cmov_b32", {move_if32, plain}},
      {"s_cmov_b64", {move_if64, plain}},
      {"s_cmp_eq_u64",
       {[](Wave& w, const Instruction& i) {
          w.scc = scalar_value64(w, i.operand[0]) == scalar_value64(w, i.operand[1]);
        },
        plain}},
      {"s_cmp_lg_u64",
       {[](Wave& w, const Instruction& i) {
          w.scc = scalar_value64(w, i.operand[0]) != scalar_value64(w, i.operand[1]);
        },
        plain}},
  });
}

#undef XIO_BITS
#undef XIO_SAVE

}  // namespace machine::amdgcn
