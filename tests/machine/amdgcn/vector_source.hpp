// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Operands of vector instructions per lane, and the writing of results.

#include <cstring>

#include <machine/amdgcn/wave.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {

inline uint32_t scalar_value(const Wave& wave, const Operand& operand, uint32_t part = 0) {
  switch (operand.kind) {
    case Operand::Kind::scalar:
      return operand.index == null_register || part >= operand.width ? 0 : wave.s[operand.index + part];
    case Operand::Kind::condition: return part == 0 && wave.scc ? 1 : 0;
    default: return static_cast<uint32_t>(operand.value >> 32 * part);
  }
}
inline uint64_t scalar_value64(const Wave& wave, const Operand& operand) {
  return scalar_value(wave, operand, 0) | uint64_t{scalar_value(wave, operand, 1)} << 32;
}

/// The part of a value that the operand selects, with its sign.
inline uint32_t changed_value(const Operand& operand, uint32_t value) {
  if (operand.half != 0) value = operand.half == 2 ? value >> 16 : value & 0xffffu;
  if (operand.absolute) value &= 0x7fffffffu;
  if (operand.negate) value ^= 0x80000000u;
  return value;
}

/// One lane's value of an operand without DPP or SDWA.
inline uint32_t lane_value(const Wave& wave, const Operand& operand, uint32_t lane, uint32_t part = 0) {
  const uint32_t value =
      operand.kind == Operand::Kind::vector ? wave.v[operand.index + part][lane] : scalar_value(wave, operand, part);
  return operand.is_changed() ? changed_value(operand, value) : value;
}
inline uint64_t lane_value64(const Wave& wave, const Operand& operand, uint32_t lane) {
  return lane_value(wave, operand, lane) | uint64_t{lane_value(wave, operand, lane, 1)} << 32;
}

/// Calls a function for every lane, active or not: loops of constant length, which the compiler vectorises.
template <class Function>
void every_lane(const Wave& wave, Function function) {
  for (uint32_t lane = 0; lane < 32; ++lane) function(lane);
  if (wave.lanes == 64)
    for (uint32_t lane = 32; lane < 64; ++lane) function(lane);
}

/// All lanes of an operand; a plain vector register is used without a copy.
class Source {
 public:
  Source(const Wave& wave, const Operand& operand, uint32_t part = 0) {
    if (operand.kind == Operand::Kind::vector) {
      lanes_ = wave.v[operand.index + part].data();
      if (!operand.is_changed()) return;
      for (uint32_t lane = 0; lane < 64; ++lane) own_[lane] = changed_value(operand, lanes_[lane]);
    } else {
      const uint32_t value = changed_value(operand, scalar_value(wave, operand, part));
      for (uint32_t& one : own_) one = value;
    }
    lanes_ = own_;
  }
  Source(const Source&) = delete;
  uint32_t operator[](size_t lane) const { return lanes_[lane]; }

  /// Applies DPP; returns the lanes that have a source.
  uint64_t permute(const LaneChange& change, uint64_t active) {
    uint32_t moved[64];
    uint64_t with_source = 0;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const int from = change.from[lane];
      const bool there = from >= 0 && (change.fetch_inactive || (active >> from & 1) != 0);
      moved[lane] = there ? lanes_[from] : 0;
      with_source |= uint64_t{there || change.zero_bound} << lane;
    }
    std::memcpy(own_, moved, sizeof own_);
    lanes_ = own_;
    return with_source;
  }
  /// Applies SDWA.
  void select(uint8_t selection, bool sign_extend) {
    if (selection == 6) return;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const uint32_t value = lanes_[lane];
      if (selection >= 4) {
        const uint32_t half = value >> 16 * (selection - 4u) & 0xffffu;
        own_[lane] = sign_extend ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(half)}) : half;
      } else {
        const uint32_t byte = value >> 8 * selection & 0xffu;
        own_[lane] = sign_extend ? static_cast<uint32_t>(int32_t{static_cast<int8_t>(byte)}) : byte;
      }
    }
    lanes_ = own_;
  }

 private:
  const uint32_t* lanes_;
  uint32_t own_[64];
};

/// Applies DPP or SDWA to the first source, and to the second if there is one. Returns the lanes that may be written.
inline uint64_t change_lanes(const Wave& wave, const Instruction& instruction, Source& first,
                             Source* second = nullptr) {
  const uint64_t active = wave.active();
  if (!instruction.lanes) return active;
  const LaneChange& change = *instruction.lanes;
  if (change.sdwa) {
    first.select(change.source[0], change.sign_extend[0]);
    if (second != nullptr) second->select(change.source[1], change.sign_extend[1]);
    return active;
  }
  return active & change.written & first.permute(change, active);
}

inline void write_lanes(Wave& wave, uint32_t index, const uint32_t* values, uint64_t lanes) {
  uint32_t* const to = wave.v[index].data();
  if (lanes == ~uint64_t{0}) {
    std::memcpy(to, values, sizeof(Lanes));
    return;
  }
  if (lanes == 0xffffffffu) {
    std::memcpy(to, values, sizeof(Lanes) / 2);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctzll(lanes);
    to[lane] = values[lane];
  }
}

/// write_lanes() into the part of the register that SDWA selects.
inline void write_result(Wave& wave, const Instruction& instruction, uint32_t* values, uint64_t lanes) {
  const uint32_t index = instruction.operand[0].index;
  const LaneChange* const change = instruction.lanes.get();
  if (change != nullptr && change->sdwa && change->destination != 6) {
    const bool byte = change->destination < 4;
    const uint32_t shift = byte ? 8u * change->destination : 16u * (change->destination - 4u);
    const uint32_t mask = byte ? 0xffu : 0xffffu;
    if (change->unused == LaneChange::Unused::sign) throw Fault("UNUSED_SEXT is not known");
    const bool preserve = change->unused == LaneChange::Unused::preserve;
    for (uint32_t lane = 0; lane < 64; ++lane)
      values[lane] = (values[lane] & mask) << shift | (preserve ? wave.v[index][lane] & ~(mask << shift) : 0);
  }
  write_lanes(wave, index, values, lanes);
}

/// Bit by bit, what the instruction's truth table says of three operands.
inline uint32_t by_truth_table(const Instruction& instruction, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (uint32_t k = 0; k < 8; ++k)
    if (instruction.truth_table >> k & 1) result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return result;
}

/// A mask of lanes: two scalar registers, or one in waves of 32.
inline uint64_t mask_value(const Wave& wave, const Operand& operand) {
  return wave.lanes == 64 ? scalar_value64(wave, operand) : scalar_value(wave, operand);
}
inline void write_scalar(Wave& wave, const Operand& operand, uint32_t value) {
  if (operand.index != null_register) wave.s[operand.index] = value;
}
inline void write_scalar64(Wave& wave, const Operand& operand, uint64_t value) {
  if (operand.index != null_register) wave.set_pair(operand.index, value);
}
inline void write_mask(Wave& wave, const Operand& operand, uint64_t mask) {
  if (wave.lanes == 64) {
    write_scalar64(wave, operand, mask);
  } else {
    write_scalar(wave, operand, static_cast<uint32_t>(mask));
  }
}
inline uint64_t vcc_mask(const Wave& wave) { return wave.lanes == 64 ? wave.pair(vcc) : wave.s[vcc]; }

/// Whether only few lanes are active, as when one lane leads: then only these are processed.
inline bool is_sparse(const Instruction& instruction, uint64_t active) {
  if (instruction.lanes) return false;
  for (uint32_t i = 0; i < 6; ++i) active &= active - 1;
  return active == 0;
}

template <class Function>
void each_lane(uint64_t lanes, Function function) {
  for (; lanes != 0; lanes &= lanes - 1) function(static_cast<uint32_t>(__builtin_ctzll(lanes)));
}

template <class Function>
void unary(Wave& wave, const Instruction& i, Function function) {
  const uint64_t active = wave.active();
  if (is_sparse(i, active)) {
    uint32_t* const to = wave.v[i.operand[0].index].data();
    each_lane(active, [&](uint32_t lane) { to[lane] = function(lane_value(wave, i.operand[1], lane)); });
    return;
  }
  Source a(wave, i.operand[1]);
  const uint64_t lanes = change_lanes(wave, i, a);
  uint32_t result[64];
  every_lane(wave, [&](uint32_t lane) { result[lane] = function(a[lane]); });
  write_result(wave, i, result, lanes);
}

template <class Function>
void binary(Wave& wave, const Instruction& i, Function function) {
  const uint64_t active = wave.active();
  if (is_sparse(i, active)) {
    uint32_t* const to = wave.v[i.operand[0].index].data();
    each_lane(active, [&](uint32_t lane) {
      to[lane] = function(lane_value(wave, i.operand[1], lane), lane_value(wave, i.operand[2], lane));
    });
    return;
  }
  Source a(wave, i.operand[1]);
  Source b(wave, i.operand[2]);
  const uint64_t lanes = change_lanes(wave, i, a, &b);
  uint32_t result[64];
  every_lane(wave, [&](uint32_t lane) { result[lane] = function(a[lane], b[lane]); });
  write_result(wave, i, result, lanes);
}

template <class Function>
void ternary(Wave& wave, const Instruction& i, Function function) {
  const uint64_t active = wave.active();
  if (is_sparse(i, active)) {
    uint32_t* const to = wave.v[i.operand[0].index].data();
    each_lane(active, [&](uint32_t lane) {
      to[lane] = function(lane_value(wave, i.operand[1], lane), lane_value(wave, i.operand[2], lane),
                          lane_value(wave, i.operand[3], lane));
    });
    return;
  }
  Source a(wave, i.operand[1]);
  Source b(wave, i.operand[2]);
  Source c(wave, i.operand[3]);
  const uint64_t lanes = change_lanes(wave, i, a, &b);
  uint32_t result[64];
  every_lane(wave, [&](uint32_t lane) { result[lane] = function(a[lane], b[lane], c[lane]); });
  write_result(wave, i, result, lanes);
}

}  // namespace machine::amdgcn
