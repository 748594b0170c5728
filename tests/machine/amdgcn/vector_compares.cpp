// SPDX-License-Identifier: MIT
/// @file
/// @brief Comparisons: one bit per lane. Inactive lanes give 0.

#include <cstring>

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

float as_float(u32 bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A comparison in the mnemonic's type.
template <class Type>
Type converted(u64 bits) {
  if constexpr (std::is_same_v<Type, float>) {
    return as_float(static_cast<u32>(bits));
  } else {
    return static_cast<Type>(bits);
  }
}

template <class Type, class Function>
void compare(Wave& wave, const Instruction& i, Function function) {
  const u64 active = wave.active();
  u64 mask = 0;
  if constexpr (sizeof(Type) == 8) {
    each_lane(active, [&](u32 lane) {
      mask |= u64{function(static_cast<Type>(lane_value64(wave, i.operand[1], lane)),
                           static_cast<Type>(lane_value64(wave, i.operand[2], lane)))}
              << lane;
    });
    return write_mask(wave, i.operand[0], mask);
  }
  if (is_sparse(i, active)) {
    each_lane(active, [&](u32 lane) {
      mask |= u64{function(converted<Type>(lane_value(wave, i.operand[1], lane)),
                           converted<Type>(lane_value(wave, i.operand[2], lane)))}
              << lane;
    });
    return write_mask(wave, i.operand[0], mask);
  }
  Source a(wave, i.operand[1]);
  Source b(wave, i.operand[2]);
  const u64 lanes = change_lanes(wave, i, a, &b);
  // AMD's documents leave open whether such a lane gives 0 or keeps its bit.
  if (lanes != active) throw Fault("comparison by DPP with lanes that have no source");
  every_lane(wave,
             [&](u32 lane) { mask |= u64{function(converted<Type>(a[lane]), converted<Type>(b[lane]))} << lane; });
  write_mask(wave, i.operand[0], mask & lanes);
}

}  // namespace

#define XIO_COMPARE(name, type, takes, how)                                                                 \
  {                                                                                                         \
    "v_cmp_" name, {                                                                                        \
      [](Wave& w, const Instruction& i) { compare<type>(w, i, [](type a, type b) { return how; }); }, takes \
    }                                                                                                       \
  }
#define XIO_COMPARES(name, type, takes)                                                          \
  XIO_COMPARE("eq_" name, type, takes, a == b), XIO_COMPARE("ne_" name, type, takes, a != b),    \
      XIO_COMPARE("lt_" name, type, takes, a < b), XIO_COMPARE("le_" name, type, takes, a <= b), \
      XIO_COMPARE("gt_" name, type, takes, a > b), XIO_COMPARE("ge_" name, type, takes, a >= b)

void add_vector_compares(HandlerTable& table) {
  table.insert({
      XIO_COMPARES("u32", uint32_t, lane_changes),
      XIO_COMPARES("i32", int32_t, lane_changes),
      XIO_COMPARES("u16", uint16_t, lane_changes | halves),
      XIO_COMPARES("i16", int16_t, lane_changes | halves),
      XIO_COMPARES("u64", uint64_t, plain),
      XIO_COMPARES("i64", int64_t, plain),
      XIO_COMPARE("eq_f32", float, signs, a == b),
      XIO_COMPARE("neq_f32", float, signs, !(a == b)),
      XIO_COMPARE("lg_f32", float, signs, a<b || a> b),
      XIO_COMPARE("lt_f32", float, signs, a < b),
      XIO_COMPARE("le_f32", float, signs, a <= b),
      XIO_COMPARE("gt_f32", float, signs, a > b),
      XIO_COMPARE("ge_f32", float, signs, a >= b),
      XIO_COMPARE("nlt_f32", float, signs, !(a < b)),
      XIO_COMPARE("nle_f32", float, signs, !(a <= b)),
      XIO_COMPARE("ngt_f32", float, signs, !(a > b)),
      XIO_COMPARE("nge_f32", float, signs, !(a >= b)),
      XIO_COMPARE("o_f32", float, signs, a == a && b == b),
      XIO_COMPARE("u_f32", float, signs, a != a || b != b),
  });
}

#undef XIO_COMPARE
#undef XIO_COMPARES

}  // namespace machine::amdgcn
