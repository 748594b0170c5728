// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bytes of private memory that a lane loads although it has never stored them: followed through registers, and
/// reported where the value is used.

#include <machine/amdgcn/wave.hpp>

namespace machine::amdgcn {

void set_unstored(Wave& wave, uint32_t index, uint64_t lanes, uint64_t unstored, uint32_t at);

/// A register gets a result in `lanes`; those in `unstored` come from private memory at `at` that was never stored.
inline void note_unstored(Wave& wave, uint32_t index, uint64_t lanes, uint64_t unstored, uint32_t at) {
  if (wave.any_unstored || unstored != 0) set_unstored(wave, index, lanes, unstored & lanes, at);
}

/// Part `part` of an access's data is stored from a register.
void take_unstored(const Wave& wave, uint32_t index, uint32_t part, Access& access);

/// @throws Fault if the access stores such a value for one of `lanes` to where others may load it
void check_stored(const Access& access, uint64_t lanes);

/// Before an instruction: results of such values are such values. Only while `wave.any_unstored`.
/// @throws Fault if the instruction makes an address, a condition or a value for other lanes of one
void track_unstored(Wave& wave, const Instruction& instruction);

}  // namespace machine::amdgcn
