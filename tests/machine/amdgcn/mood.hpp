// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How adversarial a run's scheduling and memory are.

#include <cstdint>

#include <machine/core/random.hpp>

namespace machine::amdgcn {

/// Frequencies: an event occurs once in n opportunities; 0: never.
struct Mood {
  bool calm = true;               ///< every access is performed when it is issued
  uint32_t perform = 1;           ///< performs an access that no wait requires
  uint32_t perform_register = 1;  ///< likewise, for stores to registers
  uint32_t evict_clean = 0;
  uint32_t evict_dirty = 0;
  uint32_t refetch = 0;  ///< another agent loads a previously used line
  uint32_t hold = 0;     ///< an access is delayed for long
  uint32_t burst = 64;   ///< longest run of one wave
  uint32_t stall = 0;    ///< a wave sleeps after its burst
  uint32_t linger = 0;   ///< a wave sleeps after a store, and others respond before it continues
  uint32_t device = 1;   ///< the devices advance after a burst
  uint32_t yield = 1;    ///< at a wait: the wave continues immediately
  uint32_t second_levels = 1;
  bool late_groups = false;  ///< workgroups start at random times
};

inline Mood draw_mood(uint64_t seed, bool several_second_levels, Random& random) {
  Mood mood;
  if (seed == 0) return mood;
  static const uint32_t rates[] = {2, 4, 16, 64, 256};
  static const uint32_t bursts[] = {1, 4, 16, 64, 256};
  static const uint32_t device_rates[] = {1, 2, 8, 32};
  mood.calm = false;
  mood.perform = random.pick(rates);
  mood.perform_register = random.one_in(3) ? mood.perform : 1 + random.below(2);
  mood.evict_clean = random.one_in(2) ? 0 : 4 + random.below(60);
  mood.evict_dirty = random.one_in(2) ? 0 : 4 + random.below(60);
  mood.refetch = random.one_in(3) ? 0 : 1 + random.below(8);
  mood.hold = random.one_in(2) ? 0 : 4 + random.below(60);
  mood.burst = random.pick(bursts);
  mood.stall = random.one_in(2) ? 0 : 8 + random.below(100);
  mood.linger = random.one_in(2) ? 0 : 2 + random.below(16);
  mood.device = random.pick(device_rates);
  mood.yield = random.one_in(4) ? 64 : 1 + random.below(8);
  mood.second_levels = several_second_levels && random.one_in(2) ? 2 : 1;
  mood.late_groups = random.one_in(4);
  return mood;
}

}  // namespace machine::amdgcn
