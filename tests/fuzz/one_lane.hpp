// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A wave of one lane that never gives way: who fuzzes has nobody to wait for.

#include <xio/device/arch/arch.hpp>

namespace fuzz {

/// The calling thread's, as long as it lives.
class OneLane final : public xio::arch::WaveOps {
 public:
  OneLane() { xio::arch::current_wave = this; }
  ~OneLane() override { xio::arch::current_wave = nullptr; }
  OneLane(const OneLane&) = delete;
  OneLane& operator=(const OneLane&) = delete;

  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate ? 1 : 0; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override {}
};

}  // namespace fuzz
