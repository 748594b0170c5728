// SPDX-License-Identifier: MIT
/// @file
/// @brief 64-bit vector instructions.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

void write_lanes64(Wave& wave, uint32_t index, const u64* values, u64 lanes) {
  each_lane(lanes, [&](u32 lane) {
    wave.v[index][lane] = static_cast<u32>(values[lane]);
    wave.v[index + 1][lane] = static_cast<u32>(values[lane] >> 32);
  });
}

/// The shift amount is the first source.
template <class Function>
void shift(Wave& wave, const Instruction& i, Function function) {
  u64 result[64];
  const u64 lanes = wave.active();
  each_lane(lanes, [&](u32 lane) {
    result[lane] = function(lane_value64(wave, i.operand[2], lane), lane_value(wave, i.operand[1], lane) & 63);
  });
  write_lanes64(wave, i.operand[0].index, result, lanes);
}

void move64(Wave& wave, const Instruction& i) {
  u64 result[64];
  each_lane(wave.active(), [&](u32 lane) { result[lane] = lane_value64(wave, i.operand[1], lane); });
  write_lanes64(wave, i.operand[0].index, result, wave.active());
}

template <class Function>
void binary64(Wave& wave, const Instruction& i, Function function) {
  u64 result[64];
  each_lane(wave.active(), [&](u32 lane) {
    result[lane] = function(lane_value64(wave, i.operand[1], lane), lane_value64(wave, i.operand[2], lane));
  });
  write_lanes64(wave, i.operand[0].index, result, wave.active());
}

/// A product of 32 bits each, and a sum of 64; without a carry.
template <bool Signed>
void multiply_and_add64(Wave& wave, const Instruction& i) {
  u64 result[64];
  each_lane(wave.active(), [&](u32 lane) {
    const u32 a = lane_value(wave, i.operand[1], lane);
    const u32 b = lane_value(wave, i.operand[2], lane);
    result[lane] =
        (Signed ? static_cast<u64>(int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b)) : u64{a} * b) +
        lane_value64(wave, i.operand[3], lane);
  });
  write_lanes64(wave, i.operand[0].index, result, wave.active());
}

void shift_and_add(Wave& wave, const Instruction& i) {
  u64 result[64];
  each_lane(wave.active(), [&](u32 lane) {
    result[lane] = (lane_value64(wave, i.operand[1], lane) << (lane_value(wave, i.operand[2], lane) & 7)) +
                   lane_value64(wave, i.operand[3], lane);
  });
  write_lanes64(wave, i.operand[0].index, result, wave.active());
}

template <bool Signed>
void multiply_and_add(Wave& wave, const Instruction& i) {
  u64 result[64];
  u64 carry = 0;
  const u64 lanes = wave.active();
  each_lane(lanes, [&](u32 lane) {
    const u32 a = lane_value(wave, i.operand[2], lane);
    const u32 b = lane_value(wave, i.operand[3], lane);
    const u64 product =
        Signed ? static_cast<u64>(int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b)) : u64{a} * b;
    const u64 addend = lane_value64(wave, i.operand[4], lane);
    result[lane] = product + addend;
    // Bit 64 of the sum.
    const u64 top = Signed ? (product >> 63 ^ addend >> 63) & 1 : 0;
    carry |= (u64{result[lane] < product} ^ top) << lane;
  });
  write_lanes64(wave, i.operand[0].index, result, lanes);
  write_mask(wave, i.operand[1], carry);
}

/// Takes each half of the result from a half of a source.
void move_pair(Wave& wave, const Instruction& i) {
  u64 result[64];
  each_lane(wave.active(), [&](u32 lane) {
    result[lane] = lane_value(wave, i.operand[1], lane, i.op_select & 1) |
                   u64{lane_value(wave, i.operand[2], lane, i.op_select >> 1 & 1)} << 32;
  });
  write_lanes64(wave, i.operand[0].index, result, wave.active());
}

}  // namespace

void add_vector_wide(HandlerTable& table) {
  const HandlerEntry left{[](Wave& w, const Instruction& i) { shift(w, i, [](u64 x, u32 n) { return x << n; }); },
                          plain};
  const HandlerEntry right{[](Wave& w, const Instruction& i) { shift(w, i, [](u64 x, u32 n) { return x >> n; }); },
                           plain};
  const HandlerEntry arithmetic{[](Wave& w, const Instruction& i) {
                                  shift(w, i,
                                        [](u64 x, u32 n) { return static_cast<u64>(static_cast<int64_t>(x) >> n); });
                                },
                                plain};
  const auto of_two = [](Handler run) { return HandlerEntry{run, plain}; };
  table.insert({
      {"v_add_nc_u64",
       of_two([](Wave& w, const Instruction& i) { binary64(w, i, [](u64 a, u64 b) { return a + b; }); })},
      {"v_sub_nc_u64",
       of_two([](Wave& w, const Instruction& i) { binary64(w, i, [](u64 a, u64 b) { return a - b; }); })},
      {"v_mul_u64", of_two([](Wave& w, const Instruction& i) { binary64(w, i, [](u64 a, u64 b) { return a * b; }); })},
      {"v_min_u64",
       of_two([](Wave& w, const Instruction& i) { binary64(w, i, [](u64 a, u64 b) { return a < b ? a : b; }); })},
      {"v_max_u64",
       of_two([](Wave& w, const Instruction& i) { binary64(w, i, [](u64 a, u64 b) { return a > b ? a : b; }); })},
      {"v_min_i64", of_two([](Wave& w, const Instruction& i) {
         binary64(w, i, [](u64 a, u64 b) { return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? a : b; });
       })},
      {"v_max_i64", of_two([](Wave& w, const Instruction& i) {
         binary64(w, i, [](u64 a, u64 b) { return static_cast<int64_t>(a) > static_cast<int64_t>(b) ? a : b; });
       })},
      {"v_mad_nc_u64_u32", {multiply_and_add64<false>, plain}},
      {"v_mad_nc_i64_i32", {multiply_and_add64<true>, plain}},
      {"v_lshlrev_b64", left},
      {"v_lshrrev_b64", right},
      {"v_ashrrev_i64", arithmetic},
      {"v_mov_b64", {move64, plain}},
      {"v_lshl_add_u64", {shift_and_add, plain}},
      {"v_mad_u64_u32", {multiply_and_add<false>, plain}},
      {"v_mad_i64_i32", {multiply_and_add<true>, plain}},
      {"v_pk_mov_b32", {move_pair, halves}},
  });
}

}  // namespace machine::amdgcn
