// SPDX-License-Identifier: MIT
#include <machine/amdgcn/floats.hpp>
#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

/// The result is also the last source.
template <class Function>
void accumulate(Wave& wave, const Instruction& i, Function function) {
  if (i.lanes) throw Fault("DPP of this instruction is not known");
  Lanes& to = wave.v[i.operand[0].index];
  each_lane(wave.active(), [&](uint32_t lane) {
    to[lane] = to_bits(function(to_float(lane_value(wave, i.operand[1], lane)),
                                to_float(lane_value(wave, i.operand[2], lane)), to_float(to[lane])));
  });
}

/// Multiplied and rounded, then added and rounded.
float multiplied_and_added(float a, float b, float c) {
  const volatile float product = a * b;
  return product + c;
}

}  // namespace

#define XIO_UNARY(name, result)                     \
  {                                                 \
    name, {                                         \
      [](Wave& w, const Instruction& i) {           \
        unary(w, i, [](uint32_t bits) -> uint32_t { \
          const float a = to_float(bits);           \
          return result;                            \
        });                                         \
      },                                            \
          signs                                     \
    }                                               \
  }
#define XIO_BINARY(name, result)                                       \
  {                                                                    \
    name, {                                                            \
      [](Wave& w, const Instruction& i) {                              \
        binary(w, i, [](uint32_t first, uint32_t second) -> uint32_t { \
          const float a = to_float(first), b = to_float(second);       \
          return to_bits(result);                                      \
        });                                                            \
      },                                                               \
          signs                                                        \
    }                                                                  \
  }
#define XIO_TERNARY(name, result)                                                       \
  {                                                                                     \
    name, {                                                                             \
      [](Wave& w, const Instruction& i) {                                               \
        ternary(w, i, [](uint32_t first, uint32_t second, uint32_t third) -> uint32_t { \
          const float a = to_float(first), b = to_float(second), c = to_float(third);   \
          return to_bits(result);                                                       \
        });                                                                             \
      },                                                                                \
          signs                                                                         \
    }                                                                                   \
  }
#define XIO_INTEGER(name, result)                                                                                 \
  {                                                                                                               \
    name, {                                                                                                       \
      [](Wave& w, const Instruction& i) { unary(w, i, [](uint32_t a) -> uint32_t { return to_bits(result); }); }, \
          plain                                                                                                   \
    }                                                                                                             \
  }

void add_vector_floats(HandlerTable& table) {
  table.insert({
      XIO_UNARY("v_cvt_u32_f32", to_unsigned(a)),
      XIO_UNARY("v_cvt_i32_f32", to_signed(a)),
      XIO_UNARY("v_rcp_f32", to_bits(1.0f / a)),
      XIO_UNARY("v_rcp_iflag_f32", to_bits(1.0f / a)),
      XIO_UNARY("v_trunc_f32", to_bits(std::trunc(a))),
      XIO_UNARY("v_floor_f32", to_bits(std::floor(a))),
      XIO_UNARY("v_ceil_f32", to_bits(std::ceil(a))),
      XIO_UNARY("v_rndne_f32", to_bits(std::nearbyint(a))),
      XIO_INTEGER("v_cvt_f32_u32", static_cast<float>(a)),
      XIO_INTEGER("v_cvt_f32_i32", static_cast<float>(static_cast<int32_t>(a))),
      XIO_INTEGER("v_cvt_f32_ubyte0", static_cast<float>(a & 255)),
      XIO_INTEGER("v_cvt_f32_ubyte1", static_cast<float>(a >> 8 & 255)),
      XIO_INTEGER("v_cvt_f32_ubyte2", static_cast<float>(a >> 16 & 255)),
      XIO_INTEGER("v_cvt_f32_ubyte3", static_cast<float>(a >> 24)),
      XIO_BINARY("v_add_f32", a + b),
      XIO_BINARY("v_sub_f32", a - b),
      XIO_BINARY("v_subrev_f32", b - a),
      XIO_BINARY("v_mul_f32", a * b),
      {"v_ldexp_f32",
       {[](Wave& w, const Instruction& i) {
          binary(w, i,
                 [](uint32_t a, uint32_t b) { return to_bits(std::ldexp(to_float(a), static_cast<int32_t>(b))); });
        },
        signs}},
      XIO_TERNARY("v_fma_f32", std::fma(a, b, c)),
      XIO_TERNARY("v_fmaak_f32", std::fma(a, b, c)),
      // The constant is the second operand, which is multiplied.
      XIO_TERNARY("v_fmamk_f32", std::fma(a, b, c)),
      XIO_TERNARY("v_mad_f32", multiplied_and_added(a, b, c)),
      XIO_TERNARY("v_madak_f32", multiplied_and_added(a, b, c)),
      XIO_TERNARY("v_madmk_f32", multiplied_and_added(a, b, c)),
      {"v_fmac_f32",
       {[](Wave& w, const Instruction& i) {
          accumulate(w, i, [](float a, float b, float c) { return std::fma(a, b, c); });
        },
        signs}},
      {"v_mac_f32", {[](Wave& w, const Instruction& i) { accumulate(w, i, multiplied_and_added); }, signs}},
      // A scalar result, computed by the vector unit.
      {"v_s_rcp_f32",
       {[](Wave& w, const Instruction& i) {
          write_scalar(w, i.operand[0],
                       to_bits(1.0f / to_float(changed_value(i.operand[1], scalar_value(w, i.operand[1])))));
        },
        signs}},
  });
}

#undef XIO_UNARY
#undef XIO_BINARY
#undef XIO_TERNARY
#undef XIO_INTEGER

}  // namespace machine::amdgcn
