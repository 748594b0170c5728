// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Costs of a run, in numbers independent of the host machine.

#include <cstdint>

namespace machine {

/// Sums over all waves of a run. An instruction of a wave (AMD) or of a thread (PTX) counts once.
struct Counts {
  uint64_t instructions = 0;
  uint64_t lane_instructions = 0;  ///< instructions times active lanes
  uint64_t loads = 0;              ///< vector loads, without scalar_loads
  uint64_t stores = 0;
  uint64_t atomics = 0;
  uint64_t scalar_loads = 0;
  uint64_t waits = 0;          ///< for accesses in flight (AMD)
  uint64_t write_backs = 0;    ///< of a cache (AMD), fences and releases (PTX)
  uint64_t invalidations = 0;  ///< of a cache (AMD), acquires (PTX)
  uint64_t warp_barriers = 0;
  uint64_t doorbells = 0;         ///< stores to registers
  uint64_t merged_doorbells = 0;  ///< stores of one instruction to one register line: only one arrives
  uint64_t host_loads = 0;        ///< loads that were served by host memory, in lines of 64 bytes
  uint64_t host_stores = 0;       ///< stores of lanes to host memory
  uint64_t host_writes = 0;       ///< writes that cross PCIe: contiguous bytes of one line, written together
  uint64_t host_bytes = 0;        ///< bytes in host_writes
  uint64_t stale_loads = 0;       ///< loads that returned bytes no longer in memory

  Counts& operator+=(const Counts& other) {
    const auto* const from = reinterpret_cast<const uint64_t*>(&other);
    auto* const to = reinterpret_cast<uint64_t*>(this);
    for (size_t i = 0; i < sizeof(Counts) / sizeof(uint64_t); ++i) to[i] += from[i];
    return *this;
  }
};

}  // namespace machine
