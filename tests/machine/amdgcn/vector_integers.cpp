// SPDX-License-Identifier: MIT
/// @file
/// @brief Vector instructions with integer results of 32 bits.

#include <algorithm>

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

i32 as_signed(u32 value) { return static_cast<i32>(value); }
i32 signed24(u32 value) { return as_signed(value << 8) >> 8; }
u32 low_bits(u32 count) { return count == 0 ? 0 : ~u32{0} >> (32 - count); }

u32 extract(u32 value, u32 offset, u32 count) { return value >> (offset & 31) & low_bits(count & 31); }
u32 extract_signed(u32 value, u32 offset, u32 count) {
  count &= 31;
  if (count == 0) return 0;
  const u32 field = static_cast<u32>(as_signed(value) >> (offset & 31)) & low_bits(count);
  return static_cast<u32>(as_signed(field << (32 - count)) >> (32 - count));
}

/// v_perm: four bytes, each one of eight source bytes, a sign of one of four halves, or a constant (0 or 255).
u32 choose_bytes(u32 high, u32 low, u32 choices) {
  const u64 bytes = u64{high} << 32 | low;
  u32 result = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 choice = choices >> 8 * k & 255;
    u32 byte = 255;
    if (choice < 8) {
      byte = bytes >> 8 * choice & 255;
    } else if (choice < 12) {
      byte = bytes >> (16 * (choice - 8) + 15) & 1 ? 255 : 0;
    } else if (choice == 12) {
      byte = 0;
    }
    result |= byte << 8 * k;
  }
  return result;
}

u32 reversed(u32 value) {
  u32 result = 0;
  for (u32 k = 0; k < 32; ++k) result |= (value >> k & 1) << (31 - k);
  return result;
}

template <class Function>
void clamped(Wave& wave, const Instruction& i, Function function, u32 bound, bool (*overflows)(u32, u32)) {
  if (!i.clamp) return binary(wave, i, function);
  binary(wave, i, [&](u32 a, u32 b) { return overflows(a, b) ? bound : function(a, b); });
}

void add_u32(Wave& wave, const Instruction& i) {
  clamped(wave, i, [](u32 a, u32 b) { return a + b; }, ~u32{0}, [](u32 a, u32 b) { return a + b < a; });
}
void sub_u32(Wave& wave, const Instruction& i) {
  clamped(wave, i, [](u32 a, u32 b) { return a - b; }, 0, [](u32 a, u32 b) { return a < b; });
}
void subrev_u32(Wave& wave, const Instruction& i) {
  clamped(wave, i, [](u32 a, u32 b) { return b - a; }, 0, [](u32 a, u32 b) { return b < a; });
}

void conditional(Wave& wave, const Instruction& i) {
  const u64 mask = i.operands > 3 ? mask_value(wave, i.operand[3]) : vcc_mask(wave);
  Source a(wave, i.operand[1]);
  Source b(wave, i.operand[2]);
  const u64 lanes = change_lanes(wave, i, a, &b);
  u32 result[64];
  every_lane(wave, [&](u32 lane) { result[lane] = mask >> lane & 1 ? b[lane] : a[lane]; });
  write_result(wave, i, result, lanes);
}

/// With a carry out, and a carry in if there is a fifth operand.
template <class Function>
void carry(Wave& wave, const Instruction& i, Function function) {
  Source a(wave, i.operand[2]);
  Source b(wave, i.operand[3]);
  const u64 lanes = change_lanes(wave, i, a, &b);
  const u64 in = i.operands > 4 ? mask_value(wave, i.operand[4]) : 0;
  u32 result[64];
  u64 out = 0;
  every_lane(wave, [&](u32 lane) {
    const u64 sum = function(u64{a[lane]}, u64{b[lane]}, in >> lane & 1);
    result[lane] = static_cast<u32>(sum);
    out |= (sum >> 32 & 1) << lane;
  });
  write_result(wave, i, result, lanes);
  write_mask(wave, i.operand[1], out & lanes);
}

/// Any function of the bits of three operands; of two, the third is 0.
template <u32 Operands>
void logical(Wave& wave, const Instruction& i) {
  if constexpr (Operands == 3) {
    ternary(wave, i, [&](u32 a, u32 b, u32 c) { return by_truth_table(i, a, b, c); });
  } else {
    binary(wave, i, [&](u32 a, u32 b) { return by_truth_table(i, a, b, 0); });
  }
}

}  // namespace

// Entries: the mnemonic, and the result of operands a, b and c.
#define XIO_UNARY(name, result)                                                                             \
  {                                                                                                         \
    name, {                                                                                                 \
      [](Wave& w, const Instruction& i) { unary(w, i, [](u32 a) -> u32 { return result; }); }, lane_changes \
    }                                                                                                       \
  }
#define XIO_BINARY(name, result)                                                                                    \
  {                                                                                                                 \
    name, {                                                                                                         \
      [](Wave& w, const Instruction& i) { binary(w, i, [](u32 a, u32 b) -> u32 { return result; }); }, lane_changes \
    }                                                                                                               \
  }
#define XIO_TERNARY(name, result)                                                                                    \
  {                                                                                                                  \
    name, {                                                                                                          \
      [](Wave& w, const Instruction& i) { ternary(w, i, [](u32 a, u32 b, u32 c) -> u32 { return result; }); }, plain \
    }                                                                                                                \
  }
#define XIO_CARRY(name, result)                                                                              \
  {                                                                                                          \
    name, {                                                                                                  \
      [](Wave& w, const Instruction& i) { carry(w, i, [](u64 a, u64 b, u64 c) -> u64 { return result; }); }, \
          lane_changes                                                                                       \
    }                                                                                                        \
  }

void add_vector_integers(HandlerTable& table) {
  table.insert({
      XIO_UNARY("v_mov_b32", a),
      XIO_UNARY("v_not_b32", ~a),
      XIO_UNARY("v_bfrev_b32", reversed(a)),
      XIO_UNARY("v_ffbl_b32", a == 0 ? ~u32{0} : static_cast<u32>(__builtin_ctz(a))),
      XIO_UNARY("v_ctz_i32_b32", a == 0 ? ~u32{0} : static_cast<u32>(__builtin_ctz(a))),
      XIO_UNARY("v_ffbh_u32", a == 0 ? ~u32{0} : static_cast<u32>(__builtin_clz(a))),
      XIO_UNARY("v_clz_i32_u32", a == 0 ? ~u32{0} : static_cast<u32>(__builtin_clz(a))),
      XIO_UNARY("v_accvgpr_read_b32", a),
      XIO_UNARY("v_accvgpr_write_b32", a),
      {"v_add_u32", {add_u32, lane_changes | clamping}},
      {"v_sub_u32", {sub_u32, lane_changes | clamping}},
      {"v_subrev_u32", {subrev_u32, lane_changes | clamping}},
      XIO_BINARY("v_and_b32", a & b),
      XIO_BINARY("v_or_b32", a | b),
      XIO_BINARY("v_xor_b32", a ^ b),
      XIO_BINARY("v_xnor_b32", ~(a ^ b)),
      XIO_BINARY("v_lshlrev_b32", b << (a & 31)),
      XIO_BINARY("v_lshrrev_b32", b >> (a & 31)),
      XIO_BINARY("v_ashrrev_i32", static_cast<u32>(as_signed(b) >> (a & 31))),
      XIO_BINARY("v_min_u32", a < b ? a : b),
      XIO_BINARY("v_max_u32", a > b ? a : b),
      XIO_BINARY("v_min_i32", as_signed(a) < as_signed(b) ? a : b),
      XIO_BINARY("v_max_i32", as_signed(a) > as_signed(b) ? a : b),
      XIO_BINARY("v_mul_lo_u32", a * b),
      XIO_BINARY("v_mul_hi_u32", static_cast<u32>(u64{a} * b >> 32)),
      XIO_BINARY("v_mul_hi_i32", static_cast<u32>(static_cast<u64>(int64_t{as_signed(a)} * as_signed(b)) >> 32)),
      XIO_BINARY("v_mul_u32_u24", (a & 0xffffff) * (b & 0xffffff)),
      XIO_BINARY("v_mul_hi_u32_u24", static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32)),
      XIO_BINARY("v_mul_i32_i24", static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b))),
      XIO_BINARY("v_bcnt_u32_b32", static_cast<u32>(__builtin_popcount(a)) + b),
      XIO_BINARY("v_bfm_b32", low_bits(a & 31) << (b & 31)),
      XIO_TERNARY("v_and_or_b32", (a & b) | c),
      XIO_TERNARY("v_or3_b32", a | b | c),
      XIO_TERNARY("v_xor3_b32", a ^ b ^ c),
      XIO_TERNARY("v_mad_u32", a * b + c),
      {"v_bitop3_b32", {logical<3>, lane_changes}},
      {"v_bitop2_b32", {logical<2>, plain}},
      XIO_TERNARY("v_lshl_or_b32", a << (b & 31) | c),
      XIO_TERNARY("v_lshl_add_u32", (a << (b & 31)) + c),
      XIO_TERNARY("v_add_lshl_u32", (a + b) << (c & 31)),
      XIO_TERNARY("v_add3_u32", a + b + c),
      XIO_TERNARY("v_xad_u32", (a ^ b) + c),
      XIO_TERNARY("v_bfe_u32", extract(a, b, c)),
      XIO_TERNARY("v_bfe_i32", extract_signed(a, b, c)),
      XIO_TERNARY("v_bfi_b32", (a & b) | (~a & c)),
      XIO_TERNARY("v_alignbit_b32", static_cast<u32>((u64{a} << 32 | b) >> (c & 31))),
      XIO_TERNARY("v_alignbyte_b32", static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3))),
      XIO_TERNARY("v_perm_b32", choose_bytes(a, b, c)),
      XIO_TERNARY("v_mad_u32_u24", (a & 0xffffff) * (b & 0xffffff) + c),
      XIO_TERNARY("v_mad_i32_i24", static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) + c),
      XIO_TERNARY("v_min3_u32", std::min(a, std::min(b, c))),
      XIO_TERNARY("v_max3_u32", std::max(a, std::max(b, c))),
      XIO_TERNARY("v_med3_u32", std::max(std::min(a, b), std::min(std::max(a, b), c))),
      {"v_cndmask_b32", {conditional, lane_changes | signs}},
      XIO_CARRY("v_add_co_u32", (static_cast<void>(c), a + b)),
      XIO_CARRY("v_addc_co_u32", a + b + c),
      XIO_CARRY("v_sub_co_u32", (static_cast<void>(c), a - b)),
      XIO_CARRY("v_subb_co_u32", a - b - c),
      XIO_CARRY("v_subrev_co_u32", (static_cast<void>(c), b - a)),
      XIO_CARRY("v_subbrev_co_u32", b - a - c),
  });
}

#undef XIO_UNARY
#undef XIO_BINARY
#undef XIO_TERNARY
#undef XIO_CARRY

}  // namespace machine::amdgcn
