// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waves of one lane: a thread runs the kernel directly, without fibres.

#include <xio/device/arch/host/give_way.hpp>
#include <xio/host/error.hpp>
#include <xio/host/simt/jitter.hpp>
#include <xio/host/simt/launch_state.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// Wave operations of a single-lane wave.
class ThreadWave final : public arch::WaveOps {
 public:
  ThreadWave(LaunchState& launch, BlockSlot& slot, uint32_t number) : launch_(launch), slot_(slot) {
    thread_index = number;
    block_size = launch.grid.threads_per_block;
    grid_size = launch.grid.blocks;
  }

  void run(uint32_t block) {
    block_index = block;
    jitter_ = Jitter::of_wave(launch_.grid.jitter_seed, uint64_t{block} * block_size + thread_index);
    launch_.run_lane();
  }

  uint64_t active(const arch::CallSite&) override {
    interleave();
    launch_.leave();
    return 1;
  }

  uint64_t ballot(uint64_t mask, bool predicate) override {
    interleave();
    if (!launch_.leave()) check(mask == 1);
    return predicate;
  }

  uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) override {
    interleave();
    if (!launch_.leave()) check(mask == 1 && source == 0);
    return value;
  }

  void block_barrier() override {
    interleave();
    if (launch_.leave()) return;
    slot_.barrier();
    launch_.leave();
  }

  void yield(uint32_t round) override {
    if (launch_.leave()) return;
    // Before that, poll again immediately: a pause takes long compared with a poll, and can cause an exit in a guest.
    if (round > launch_.grid.spin) arch::give_way();
  }

  void interleave() override {
    if (XIO_UNLIKELY(static_cast<bool>(jitter_))) jitter_.disturb_thread();
  }

 private:
  static void check(bool only_lane_0) {
    if (!only_lane_0) throw host::Error("a wave of one lane has lane 0 only; pass what active() returned as the mask");
  }

  LaunchState& launch_;
  BlockSlot& slot_;
  Jitter jitter_;
};

}  // namespace simt::detail

XIO_NAMESPACE_END
