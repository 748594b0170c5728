// SPDX-License-Identifier: MIT
/// @file
/// @brief Scalar arithmetic. The helper of an instruction determines how it sets SCC.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

i32 as_signed(u32 value) { return static_cast<i32>(value); }

template <class Function>
void plain32(Wave& wave, const Instruction& i, Function function) {
  const u32 b = i.operands > 2 ? scalar_value(wave, i.operand[2]) : 0;
  write_scalar(wave, i.operand[0], function(scalar_value(wave, i.operand[1]), b));
}
template <class Function>
void plain64(Wave& wave, const Instruction& i, Function function) {
  const u64 b = i.operands > 2 ? scalar_value64(wave, i.operand[2]) : 0;
  write_scalar64(wave, i.operand[0], function(scalar_value64(wave, i.operand[1]), b));
}
/// A 64-bit result from 32-bit sources.
template <class Function>
void widening(Wave& wave, const Instruction& i, Function function) {
  write_scalar64(wave, i.operand[0], function(scalar_value(wave, i.operand[1]), scalar_value(wave, i.operand[2])));
}
/// A 32-bit result from a 64-bit source.
template <class Function>
void narrowing(Wave& wave, const Instruction& i, Function function) {
  write_scalar(wave, i.operand[0], function(scalar_value64(wave, i.operand[1])));
}
/// SCC: a carry out of bit 31.
template <class Function>
void carry(Wave& wave, const Instruction& i, Function function) {
  const u64 sum = function(u64{scalar_value(wave, i.operand[1])}, u64{scalar_value(wave, i.operand[2])}, u64{wave.scc});
  write_scalar(wave, i.operand[0], static_cast<u32>(sum));
  wave.scc = (sum >> 32) != 0;
}
/// SCC: the first source is the result.
template <class Function>
void choice(Wave& wave, const Instruction& i, Function better) {
  const u32 a = scalar_value(wave, i.operand[1]);
  const u32 b = scalar_value(wave, i.operand[2]);
  wave.scc = better(a, b);
  write_scalar(wave, i.operand[0], wave.scc ? a : b);
}
/// SCC: signed overflow.
template <class Function>
void overflow(Wave& wave, const Instruction& i, Function function) {
  i32 result;
  wave.scc =
      function(as_signed(scalar_value(wave, i.operand[1])), as_signed(scalar_value(wave, i.operand[2])), &result);
  write_scalar(wave, i.operand[0], static_cast<u32>(result));
}
/// SCC: the result is not 0.
template <class Function>
void shift64(Wave& wave, const Instruction& i, Function function) {
  const u64 result = function(scalar_value64(wave, i.operand[1]), scalar_value(wave, i.operand[2]) & 63);
  write_scalar64(wave, i.operand[0], result);
  wave.scc = result != 0;
}
template <class Function>
void nonzero32(Wave& wave, const Instruction& i, Function function) {
  const u32 b = i.operands > 2 ? scalar_value(wave, i.operand[2]) : 0;
  const u32 result = function(scalar_value(wave, i.operand[1]), b);
  write_scalar(wave, i.operand[0], result);
  wave.scc = result != 0;
}
template <class Function>
void condition(Wave& wave, const Instruction& i, Function function) {
  wave.scc = function(scalar_value(wave, i.operand[0]), scalar_value(wave, i.operand[1]));
}

/// The 16-bit constant of the short forms.
i32 short_constant(const Instruction& i) { return static_cast<int16_t>(i.operand[1].value); }

u32 field(u32 value, u32 what) {
  const u32 count = what >> 16 & 127;
  if (count == 0) return 0;
  const u32 shifted = value >> (what & 31);
  return count >= 32 ? shifted : shifted & ((1u << count) - 1);
}
u32 signed_field(u32 value, u32 what) {
  const u32 count = what >> 16 & 127;
  if (count == 0) return 0;
  const i32 shifted = as_signed(value) >> (what & 31);
  return count >= 32 ? static_cast<u32>(shifted)
                     : static_cast<u32>(as_signed(static_cast<u32>(shifted) << (32 - count)) >> (32 - count));
}
u64 field64(u64 value, u32 what) {
  const u32 count = what >> 16 & 127;
  if (count == 0) return 0;
  const u64 shifted = value >> (what & 63);
  return count >= 64 ? shifted : shifted & ((u64{1} << count) - 1);
}
u32 reversed(u32 value) {
  u32 result = 0;
  for (u32 k = 0; k < 32; ++k) result |= (value >> k & 1) << (31 - k);
  return result;
}
u32 leading_zeros(u64 value, u32 bits) {
  return value == 0 ? ~u32{0} : static_cast<u32>(__builtin_clzll(value)) - (64 - bits);
}

template <u32 Shift>
void shift_and_add(Wave& wave, const Instruction& i) {
  carry(wave, i, [](u64 a, u64 b, u64) { return (a << Shift) + b; });
}

void add_constant(Wave& wave, const Instruction& i) {
  i32 result;
  wave.scc = __builtin_add_overflow(as_signed(scalar_value(wave, i.operand[0])), short_constant(i), &result);
  write_scalar(wave, i.operand[0], static_cast<u32>(result));
}
void multiply_constant(Wave& wave, const Instruction& i) {
  write_scalar(wave, i.operand[0], scalar_value(wave, i.operand[0]) * static_cast<u32>(short_constant(i)));
}
void set_bit(Wave& wave, const Instruction& i) {
  write_scalar(wave, i.operand[0], scalar_value(wave, i.operand[0]) | 1u << (scalar_value(wave, i.operand[1]) & 31));
}
void clear_bit(Wave& wave, const Instruction& i) {
  write_scalar(wave, i.operand[0], scalar_value(wave, i.operand[0]) & ~(1u << (scalar_value(wave, i.operand[1]) & 31)));
}
template <bool Set>
void compare_bit64(Wave& wave, const Instruction& i) {
  wave.scc = (scalar_value64(wave, i.operand[0]) >> (scalar_value(wave, i.operand[1]) & 63) & 1) == Set;
}
void field_of_64(Wave& wave, const Instruction& i) {
  const u64 result = field64(scalar_value64(wave, i.operand[1]), scalar_value(wave, i.operand[2]));
  write_scalar64(wave, i.operand[0], result);
  wave.scc = result != 0;
}

}  // namespace

#define XIO_ENTRY(name, helper, arguments, result)                                                \
  {                                                                                               \
    name, {                                                                                       \
      [](Wave& w, const Instruction& i) { helper(w, i, [] arguments { return result; }); }, plain \
    }                                                                                             \
  }
#define XIO_PLAIN(name, result) XIO_ENTRY(name, plain32, (u32 a, u32 b)->u32, (static_cast<void>(b), result))
#define XIO_NONZERO(name, result) XIO_ENTRY(name, nonzero32, (u32 a, u32 b)->u32, (static_cast<void>(b), result))
#define XIO_CARRY(name, result) XIO_ENTRY(name, carry, (u64 a, u64 b, u64 c)->u64, (static_cast<void>(c), result))
#define XIO_CHOICE(name, result) XIO_ENTRY(name, choice, (u32 a, u32 b)->bool, result)
#define XIO_CONDITION(name, result) XIO_ENTRY(name, condition, (u32 a, u32 b)->bool, result)
#define XIO_SIGNED(a) as_signed(a)
#define XIO_CONDITIONS(name, how)                                                                                     \
  XIO_CONDITION("s_cmp_" name "_u32", a how b), XIO_CONDITION("s_cmp_" name "_i32", XIO_SIGNED(a) how XIO_SIGNED(b)), \
      XIO_CONDITION("s_cmpk_" name "_u32", a how(b & 0xffff)),                                                        \
      XIO_CONDITION("s_cmpk_" name "_i32", XIO_SIGNED(a) how static_cast<int16_t>(b))

void add_scalar_arithmetic(HandlerTable& table) {
  table.insert({
      XIO_PLAIN("s_mov_b32", a),
      XIO_PLAIN("s_getreg_b32", a),
      XIO_PLAIN("s_movk_i32", static_cast<u32>(i32{static_cast<int16_t>(a)})),
      XIO_PLAIN("s_mul_i32", a * b),
      XIO_PLAIN("s_mul_hi_u32", static_cast<u32>(u64{a} * b >> 32)),
      XIO_PLAIN("s_mul_hi_i32", static_cast<u32>(static_cast<u64>(int64_t{as_signed(a)} * as_signed(b)) >> 32)),
      XIO_PLAIN("s_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
      XIO_PLAIN("s_brev_b32", reversed(a)),
      XIO_PLAIN("s_ff1_i32_b32", a == 0 ? ~u32{0} : static_cast<u32>(__builtin_ctz(a))),
      XIO_PLAIN("s_flbit_i32_b32", leading_zeros(a, 32)),
      XIO_PLAIN("s_sext_i32_i16", static_cast<u32>(i32{static_cast<int16_t>(a)})),
      XIO_PLAIN("s_sext_i32_i8", static_cast<u32>(i32{static_cast<int8_t>(a)})),
      XIO_PLAIN("s_pack_ll_b32_b16", (a & 0xffff) | b << 16),
      XIO_PLAIN("s_pack_lh_b32_b16", (a & 0xffff) | (b & 0xffff0000u)),
      XIO_PLAIN("s_pack_hh_b32_b16", a >> 16 | (b & 0xffff0000u)),
      XIO_ENTRY("s_mov_b64", plain64, (u64 a, u64)->u64, a),
      XIO_ENTRY("s_mul_u64", plain64, (u64 a, u64 b)->u64, a * b),
      XIO_ENTRY("s_add_nc_u64", plain64, (u64 a, u64 b)->u64, a + b),
      XIO_ENTRY("s_sub_nc_u64", plain64, (u64 a, u64 b)->u64, a - b),
      XIO_ENTRY("s_bfm_b64", widening, (u32 a, u32 b)->u64, ((u64{1} << (a & 63)) - 1) << (b & 63)),
      XIO_ENTRY("s_ff1_i32_b64", narrowing, (u64 a)->u32, a == 0 ? ~u32{0} : static_cast<u32>(__builtin_ctzll(a))),
      XIO_ENTRY("s_flbit_i32_b64", narrowing, (u64 a)->u32, leading_zeros(a, 64)),
      XIO_CARRY("s_add_u32", a + b),
      XIO_CARRY("s_addc_u32", a + b + c),
      XIO_CARRY("s_sub_u32", a - b),
      XIO_CARRY("s_subb_u32", a - b - c),
      XIO_ENTRY("s_add_i32", overflow, (i32 a, i32 b, i32 * r)->bool, __builtin_add_overflow(a, b, r)),
      XIO_ENTRY("s_sub_i32", overflow, (i32 a, i32 b, i32 * r)->bool, __builtin_sub_overflow(a, b, r)),
      XIO_CHOICE("s_min_u32", a < b),
      XIO_CHOICE("s_max_u32", a >= b),
      XIO_CHOICE("s_min_i32", as_signed(a) < as_signed(b)),
      XIO_CHOICE("s_max_i32", as_signed(a) >= as_signed(b)),
      XIO_NONZERO("s_lshl_b32", a << (b & 31)),
      XIO_NONZERO("s_lshr_b32", a >> (b & 31)),
      XIO_NONZERO("s_ashr_i32", static_cast<u32>(as_signed(a) >> (b & 31))),
      XIO_NONZERO("s_bfe_u32", field(a, b)),
      XIO_NONZERO("s_bfe_i32", signed_field(a, b)),
      XIO_NONZERO("s_abs_i32", as_signed(a) < 0 ? 0 - a : a),
      XIO_ENTRY("s_lshl_b64", shift64, (u64 a, u32 n)->u64, a << n),
      XIO_ENTRY("s_lshr_b64", shift64, (u64 a, u32 n)->u64, a >> n),
      XIO_ENTRY("s_ashr_i64", shift64, (u64 a, u32 n)->u64, static_cast<u64>(static_cast<int64_t>(a) >> n)),
      {"s_bfe_u64", {field_of_64, plain}},
      {"s_lshl1_add_u32", {shift_and_add<1>, plain}},
      {"s_lshl2_add_u32", {shift_and_add<2>, plain}},
      {"s_lshl3_add_u32", {shift_and_add<3>, plain}},
      {"s_lshl4_add_u32", {shift_and_add<4>, plain}},
      {"s_addk_i32", {add_constant, plain}},
      {"s_mulk_i32", {multiply_constant, plain}},
      {"s_bitset1_b32", {set_bit, plain}},
      {"s_bitset0_b32", {clear_bit, plain}},
      XIO_CONDITION("s_bitcmp1_b32", (a >> (b & 31) & 1) != 0),
      XIO_CONDITION("s_bitcmp0_b32", (a >> (b & 31) & 1) == 0),
      {"s_bitcmp1_b64", {compare_bit64<true>, plain}},
      {"s_bitcmp0_b64", {compare_bit64<false>, plain}},
      XIO_CONDITIONS("eq", ==),
      XIO_CONDITIONS("lg", !=),
      XIO_CONDITIONS("lt", <),
      XIO_CONDITIONS("le", <=),
      XIO_CONDITIONS("gt", >),
      XIO_CONDITIONS("ge", >=),
  });
}

#undef XIO_ENTRY
#undef XIO_PLAIN
#undef XIO_NONZERO
#undef XIO_CARRY
#undef XIO_CHOICE
#undef XIO_CONDITION
#undef XIO_SIGNED
#undef XIO_CONDITIONS

}  // namespace machine::amdgcn
