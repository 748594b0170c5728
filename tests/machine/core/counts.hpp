// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a run cost, in numbers that do not depend on the machine that ran it.

#include <cstdint>

namespace machine {

/// Sums over all waves of a run. An instruction of a wave (AMD) or of a thread (PTX) counts once.
struct Counts {
  uint64_t instructions = 0;
  uint64_t lane_instructions = 0;  ///< instructions, times the lanes that took part
  uint64_t loads = 0;              ///< vector loads; scalar_loads are not in it
  uint64_t stores = 0;
  uint64_t atomics = 0;
  uint64_t scalar_loads = 0;
  uint64_t waits = 0;          ///< for accesses in flight (AMD)
  uint64_t write_backs = 0;    ///< of a cache (AMD), fences and releases (PTX)
  uint64_t invalidations = 0;  ///< of a cache (AMD), acquires (PTX)
  uint64_t warp_barriers = 0;
  uint64_t doorbells = 0;         ///< stores to registers
  uint64_t merged_doorbells = 0;  ///< stores of one instruction to the same line of registers: one only arrives
  uint64_t host_loads = 0;        ///< loads that were served by host memory, in lines of 64 bytes
  uint64_t host_stores = 0;       ///< stores of lanes to host memory
  uint64_t host_writes = 0;       ///< writes that cross PCIe: runs of bytes of one line that leave together
  uint64_t host_bytes = 0;        ///< bytes in host_writes
  uint64_t stale_loads = 0;       ///< loads that got bytes which memory no longer held

  Counts& operator+=(const Counts& other) {
    const auto* const from = reinterpret_cast<const uint64_t*>(&other);
    auto* const to = reinterpret_cast<uint64_t*>(this);
    for (size_t i = 0; i < sizeof(Counts) / sizeof(uint64_t); ++i) to[i] += from[i];
    return *this;
  }
};

}  // namespace machine
