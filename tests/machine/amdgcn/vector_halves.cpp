// SPDX-License-Identifier: MIT
/// @file
/// @brief Vector instructions with results of 16 bits. gfx9 clears the upper half of the register; the others keep the
/// half that they do not name.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

int16_t signed16(u32 value) { return static_cast<int16_t>(value); }

u32 with_half(const Operand& to, u32 old, u32 value) {
  value &= 0xffffu;
  return to.half == 2 ? (old & 0xffffu) | value << 16 : (old & 0xffff0000u) | value;
}

template <class Function>
void each_half(Wave& wave, const Instruction& i, Function value) {
  if (i.lanes) throw Fault("DPP of 16 bits is not known");
  Lanes& to = wave.v[i.operand[0].index];
  each_lane(wave.active(), [&](u32 lane) { to[lane] = with_half(i.operand[0], to[lane], value(lane)); });
}

template <class Function>
void unary16(Wave& wave, const Instruction& i, Function function) {
  if (wave.processor->model().generation == 9)
    return unary(wave, i, [&](u32 a) { return static_cast<u32>(static_cast<uint16_t>(function(a))); });
  each_half(wave, i, [&](u32 lane) { return static_cast<u32>(function(lane_value(wave, i.operand[1], lane))); });
}

template <class Function>
void binary16(Wave& wave, const Instruction& i, Function function) {
  if (wave.processor->model().generation == 9)
    return binary(wave, i, [&](u32 a, u32 b) { return static_cast<u32>(static_cast<uint16_t>(function(a, b))); });
  each_half(wave, i, [&](u32 lane) {
    return static_cast<u32>(function(lane_value(wave, i.operand[1], lane), lane_value(wave, i.operand[2], lane)));
  });
}

template <class Function>
void ternary16(Wave& wave, const Instruction& i, Function function) {
  if (wave.processor->model().generation == 9)
    return ternary(wave, i,
                   [&](u32 a, u32 b, u32 c) { return static_cast<u32>(static_cast<uint16_t>(function(a, b, c))); });
  each_half(wave, i, [&](u32 lane) {
    return static_cast<u32>(function(lane_value(wave, i.operand[1], lane), lane_value(wave, i.operand[2], lane),
                                     lane_value(wave, i.operand[3], lane)));
  });
}

void logical16(Wave& wave, const Instruction& i) {
  ternary16(wave, i, [&](u32 a, u32 b, u32 c) { return by_truth_table(i, a, b, c); });
}

void conditional16(Wave& wave, const Instruction& i) {
  const u64 mask = i.operands > 3 ? mask_value(wave, i.operand[3]) : vcc_mask(wave);
  each_half(wave, i, [&](u32 lane) { return lane_value(wave, i.operand[mask >> lane & 1 ? 2 : 1], lane); });
}

/// Two 16-bit results: op_sel and op_sel_hi select the halves of the sources.
template <class Function>
void packed(Wave& wave, const Instruction& i, Function function) {
  const auto half = [&](u32 operand, u32 lane, u32 which) {
    const uint8_t select = which == 0 ? i.op_select : i.op_select_high;
    // A constant has its value in the lower half.
    return lane_value(wave, i.operand[operand], lane) >> (select >> (operand - 1) & 1 ? 16 : 0) & 0xffffu;
  };
  u32 result[64];
  each_lane(wave.active(), [&](u32 lane) {
    const u32 low = static_cast<u32>(function(half(1, lane, 0), half(2, lane, 0))) & 0xffffu;
    const u32 high = static_cast<u32>(function(half(1, lane, 1), half(2, lane, 1)));
    result[lane] = low | high << 16;
  });
  write_lanes(wave, i.operand[0].index, result, wave.active());
}

constexpr uint8_t of_halves = lane_changes | halves;

}  // namespace

#define XIO_UNARY(name, result)                                                                            \
  {                                                                                                        \
    name, {                                                                                                \
      [](Wave& w, const Instruction& i) { unary16(w, i, [](u32 a) -> u32 { return result; }); }, of_halves \
    }                                                                                                      \
  }
#define XIO_BINARY(name, result)                                                                            \
  {                                                                                                         \
    name, {                                                                                                 \
      [](Wave& w, const Instruction& i) { binary16(w, i, [](u32 a, u32 b) { return result; }); }, of_halves \
    }                                                                                                       \
  }
#define XIO_TERNARY(name, result)                                                                                \
  {                                                                                                              \
    name, {                                                                                                      \
      [](Wave& w, const Instruction& i) { ternary16(w, i, [](u32 a, u32 b, u32 c) { return result; }); }, halves \
    }                                                                                                            \
  }
#define XIO_PACKED(name, result)                                                                       \
  {                                                                                                    \
    name, {                                                                                            \
      [](Wave& w, const Instruction& i) { packed(w, i, [](u32 a, u32 b) { return result; }); }, halves \
    }                                                                                                  \
  }
// Results of 32 bits.
#define XIO_WIDENED(name, result)                                                                        \
  {                                                                                                      \
    name, {                                                                                              \
      [](Wave& w, const Instruction& i) { unary(w, i, [](u32 a) -> u32 { return result; }); }, of_halves \
    }                                                                                                    \
  }

void add_vector_halves(HandlerTable& table) {
  table.insert({
      XIO_UNARY("v_mov_b16", a),
      XIO_UNARY("v_not_b16", ~a),
      XIO_BINARY("v_and_b16", a & b),
      XIO_BINARY("v_or_b16", a | b),
      XIO_BINARY("v_xor_b16", a ^ b),
      XIO_BINARY("v_lshlrev_b16", b << (a & 15)),
      XIO_BINARY("v_lshrrev_b16", (b & 0xffff) >> (a & 15)),
      XIO_BINARY("v_ashrrev_i16", signed16(b) >> (a & 15)),
      XIO_BINARY("v_add_u16", a + b),
      XIO_BINARY("v_sub_u16", a - b),
      XIO_BINARY("v_subrev_u16", b - a),
      XIO_BINARY("v_mul_lo_u16", (a & 0xffff) * (b & 0xffff)),
      XIO_BINARY("v_min_u16", (a & 0xffff) < (b & 0xffff) ? a : b),
      XIO_BINARY("v_max_u16", (a & 0xffff) > (b & 0xffff) ? a : b),
      XIO_BINARY("v_min_i16", signed16(a) < signed16(b) ? a : b),
      XIO_BINARY("v_max_i16", signed16(a) > signed16(b) ? a : b),
      XIO_TERNARY("v_mad_u16", (a & 0xffff) * (b & 0xffff) + c),
      {"v_cndmask_b16", {conditional16, halves}},
      {"v_bitop3_b16", {logical16, halves}},
      XIO_WIDENED("v_cvt_u32_u16", a & 0xffff),
      XIO_WIDENED("v_cvt_i32_i16", static_cast<u32>(i32{signed16(a)})),
      XIO_PACKED("v_pk_add_u16", a + b),
      XIO_PACKED("v_pk_sub_u16", a - b),
      XIO_PACKED("v_pk_mul_lo_u16", a * b),
      XIO_PACKED("v_pk_lshlrev_b16", b << (a & 15)),
      XIO_PACKED("v_pk_lshrrev_b16", b >> (a & 15)),
      XIO_PACKED("v_pk_min_u16", a < b ? a : b),
      XIO_PACKED("v_pk_max_u16", a > b ? a : b),
  });
}

#undef XIO_UNARY
#undef XIO_BINARY
#undef XIO_TERNARY
#undef XIO_PACKED
#undef XIO_WIDENED

}  // namespace machine::amdgcn
