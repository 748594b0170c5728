// SPDX-License-Identifier: MIT
/// @file
/// @brief Instructions between lanes.

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

using u32 = uint32_t;

/// Counts the mask bits of lower lanes, in one half of the wave.
template <u32 First>
void count_before(Wave& wave, const Instruction& i) {
  Source a(wave, i.operand[1]);
  Source b(wave, i.operand[2]);
  u32 result[64];
  every_lane(wave, [&](u32 lane) {
    const u32 before = lane < First ? 0 : lane - First >= 32 ? ~u32{0} : (1u << (lane - First)) - 1;
    result[lane] = b[lane] + count_bits(a[lane] & before);
  });
  write_lanes(wave, i.operand[0].index, result, wave.active());
}

/// Reads the first active lane; lane 0 if none is active.
void read_first_lane(Wave& wave, const Instruction& i) {
  const uint64_t active = wave.active();
  const u32 lane = active == 0 ? 0 : static_cast<u32>(__builtin_ctzll(active));
  write_scalar(wave, i.operand[0], lane_value(wave, i.operand[1], lane));
}

void read_lane(Wave& wave, const Instruction& i) {
  const u32 lane = scalar_value(wave, i.operand[2]) & (wave.lanes - 1);
  write_scalar(wave, i.operand[0], lane_value(wave, i.operand[1], lane));
}

void write_lane(Wave& wave, const Instruction& i) {
  const u32 lane = scalar_value(wave, i.operand[2]) & (wave.lanes - 1);
  wave.v[i.operand[0].index][lane] = scalar_value(wave, i.operand[1]);
}

/// Swaps two registers.
void swap(Wave& wave, const Instruction& i) {
  Lanes& a = wave.v[i.operand[0].index];
  Lanes& b = wave.v[i.operand[1].index];
  each_lane(wave.active(), [&](u32 lane) { std::swap(a[lane], b[lane]); });
}

/// Each lane reads a lane of its row of 16, or of the pair's other row; two scalar registers select it.
void permute_rows(Wave& wave, const Instruction& i, u32 other) {
  const uint64_t choices = scalar_value(wave, i.operand[2]) | uint64_t{scalar_value(wave, i.operand[3])} << 32;
  const Lanes from = wave.v[i.operand[1].index];
  const uint64_t active = wave.active();
  each_lane(active, [&](u32 lane) {
    const u32 source = ((lane ^ other) & ~15u) | static_cast<u32>(choices >> 4 * (lane & 15) & 15);
    if ((active >> source & 1) == 0) throw Fault("permutation reads a lane that is not active");
    wave.v[i.operand[0].index][lane] = from[source];
  });
}

}  // namespace

void add_vector_lanes(HandlerTable& table) {
  table.insert({
      {"v_mbcnt_lo_u32_b32", {count_before<0>, plain}},
      {"v_mbcnt_hi_u32_b32", {count_before<32>, plain}},
      {"v_readfirstlane_b32", {read_first_lane, plain}},
      {"v_readlane_b32", {read_lane, plain}},
      {"v_writelane_b32", {write_lane, plain}},
      {"v_permlane16_b32", {[](Wave& w, const Instruction& i) { permute_rows(w, i, 0); }, plain}},
      {"v_permlanex16_b32", {[](Wave& w, const Instruction& i) { permute_rows(w, i, 16); }, plain}},
      {"v_swap_b32", {swap, plain}},
      {"v_nop", {[](Wave&, const Instruction&) {}, plain}},
  });
}

}  // namespace machine::amdgcn
