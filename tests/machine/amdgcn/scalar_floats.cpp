// SPDX-License-Identifier: MIT
#include <machine/amdgcn/floats.hpp>
#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

float float_value(const Wave& wave, const Operand& operand) {
  return to_float(changed_value(operand, scalar_value(wave, operand)));
}

}  // namespace

#define XIO_ENTRY(name, result)                                                                    \
  {                                                                                                \
    name, {                                                                                        \
      [](Wave& w, const Instruction& i) {                                                          \
        const auto a = [&] { return float_value(w, i.operand[1]); };                               \
        const auto b = [&] { return float_value(w, i.operand[2]); };                               \
        const auto c = [&] { return float_value(w, i.operand[3]); };                               \
        const auto bits = [&] { return scalar_value(w, i.operand[1]); };                           \
        static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(bits); \
        write_scalar(w, i.operand[0], result);                                                     \
      },                                                                                           \
          signs                                                                                    \
    }                                                                                              \
  }

#define XIO_COMPARISON(name, holds)                   \
  {                                                   \
    name, {                                           \
      [](Wave& w, const Instruction& i) {             \
        const float a = float_value(w, i.operand[0]); \
        const float b = float_value(w, i.operand[1]); \
        w.scc = holds;                                \
      },                                              \
          signs                                       \
    }                                                 \
  }

/// Floating point in scalar registers (gfx12).
void add_scalar_floats(HandlerTable& table) {
  table.insert({
      XIO_ENTRY("s_add_f32", to_bits(a() + b())),
      XIO_ENTRY("s_sub_f32", to_bits(a() - b())),
      XIO_ENTRY("s_mul_f32", to_bits(a() * b())),
      XIO_ENTRY("s_fmamk_f32", to_bits(std::fma(a(), b(), c()))),
      XIO_ENTRY("s_fmaak_f32", to_bits(std::fma(a(), b(), c()))),
      XIO_ENTRY("s_fmac_f32", to_bits(std::fma(a(), b(), float_value(w, i.operand[0])))),
      XIO_ENTRY("s_trunc_f32", to_bits(std::trunc(a()))),
      XIO_ENTRY("s_floor_f32", to_bits(std::floor(a()))),
      XIO_ENTRY("s_ceil_f32", to_bits(std::ceil(a()))),
      XIO_ENTRY("s_rndne_f32", to_bits(std::nearbyint(a()))),
      XIO_ENTRY("s_cvt_u32_f32", to_unsigned(a())),
      XIO_ENTRY("s_cvt_i32_f32", to_signed(a())),
      XIO_ENTRY("s_cvt_f32_u32", to_bits(static_cast<float>(bits()))),
      XIO_ENTRY("s_cvt_f32_i32", to_bits(static_cast<float>(static_cast<int32_t>(bits())))),
      XIO_COMPARISON("s_cmp_lt_f32", a < b),
      XIO_COMPARISON("s_cmp_le_f32", a <= b),
      XIO_COMPARISON("s_cmp_gt_f32", a > b),
      XIO_COMPARISON("s_cmp_ge_f32", a >= b),
      XIO_COMPARISON("s_cmp_eq_f32", a == b),
      XIO_COMPARISON("s_cmp_lg_f32", a < b || a > b),
      XIO_COMPARISON("s_cmp_nlt_f32", !(a < b)),
      XIO_COMPARISON("s_cmp_nle_f32", !(a <= b)),
      XIO_COMPARISON("s_cmp_ngt_f32", !(a > b)),
      XIO_COMPARISON("s_cmp_nge_f32", !(a >= b)),
      XIO_COMPARISON("s_cmp_neq_f32", !(a == b)),
      XIO_COMPARISON("s_cmp_nlg_f32", !(a < b || a > b)),
  });
}

#undef XIO_COMPARISON
#undef XIO_ENTRY

}  // namespace machine::amdgcn
