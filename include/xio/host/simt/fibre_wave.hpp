// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waves of several lanes: each lane is a fibre; a lane that waits switches to the next one.
///
/// A lane runs until it waits in a wave operation, so lanes are not in lockstep between two such operations. There is
/// no separate scheduler: the lane that stops selects the next one. When no lane is runnable,
///  1. a group that has waited in active() for longer than Grid::patience allows resumes, the oldest group first;
///  2. else the spinning lanes poll again, after other threads had a chance to run;
///  3. else one group that waits in active() resumes, in the order of SiteOrder;
///  4. else the wave is deadlocked, and the launch fails.

#include <array>
#include <exception>
#include <string>
#include <utility>

#include <xio/device/arch/host/give_way.hpp>
#include <xio/host/error.hpp>
#include <xio/host/simt/fibre_pool.hpp>
#include <xio/host/simt/jitter.hpp>
#include <xio/host/simt/launch_state.hpp>
#include <xio/host/simt/site_order.hpp>
#include <xio/host/simt/wave_report.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// Wave operations of a wave of up to 64 lanes that share the calling thread.
class FibreWave final : public arch::WaveOps {
 public:
  /// @param number  index of this wave in its block
  FibreWave(LaunchState& launch, BlockSlot& slot, uint32_t number)
      : launch_(launch), slot_(slot), number_(number), stack_bytes_(stack_bytes(launch.grid)) {
    const Grid& grid = launch.grid;
    wave_size = grid.wave_size;
    block_size = grid.threads_per_block;
    grid_size = grid.blocks;
    first_thread_ = number * wave_size;
    lanes_ = block_size - first_thread_ < wave_size ? block_size - first_thread_ : wave_size;
    fibres_ = FibrePool::instance().take(lanes_, stack_bytes_);
  }
  ~FibreWave() override { FibrePool::instance().give(std::move(fibres_), stack_bytes_); }
  FibreWave(const FibreWave&) = delete;
  FibreWave& operator=(const FibreWave&) = delete;

  /// Runs the kernel for all lanes of one block's wave; returns when they have ended.
  void run(uint32_t block) {
    block_index = block;
    jitter_ = Jitter::of_wave(launch_.grid.jitter_seed, uint64_t{block} * launch_.grid.waves_per_block() + number_);
    live_ = lanes_ == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes_) - 1;
    runnable_ = live_;
    spinning_ = at_barrier_ = open_ = 0;
    sites_.clear();
    for (uint32_t i = 0; i < lanes_; ++i) fibres_[i]->assign(&FibreWave::run_lane, this);
    lane = wave_size - 1;
    lane = next_of(runnable_);
    Strand::transfer(thread_, *fibres_[lane]);
  }

  uint64_t active(const arch::CallSite& call) override {
    const uint32_t self = lane;
    if (enter()) return bit(self);
    Group& group = join(WaitKind::active, 0, {call, fibres_[self]->depth(call.frame)});
    group.arrived |= bit(self);
    if (wait()) return bit(self);
    return result_[self];
  }

  uint64_t ballot(uint64_t mask, bool predicate) override {
    const uint32_t self = lane;
    if (enter()) return predicate ? bit(self) : 0;
    check(mask, self, "ballot");
    Group& group = join(WaitKind::ballot, mask);
    group.arrived |= bit(self);
    if (predicate) group.votes |= bit(self);
    if (group.arrived == mask) {
      for_each(mask, [&](uint32_t each) { result_[each] = group.votes; });
      release(group, mask);
    } else if (wait()) {
      return predicate ? bit(self) : 0;
    }
    return result_[self];
  }

  uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) override {
    const uint32_t self = lane;
    if (enter()) return value;
    check(mask, self, "shuffle");
    if (source >= wave_size || !(mask & bit(source))) {
      throw host::Error(where() + ": lane " + std::to_string(self) + " shuffles from lane " + std::to_string(source) +
                        ", which is not in the mask " + hexadecimal(mask) + "; use lanes of the mask only");
    }
    Group& group = join(WaitKind::shuffle, mask);
    group.arrived |= bit(self);
    value_[self] = value;
    source_[self] = source;
    if (group.arrived == mask) {
      for_each(mask, [&](uint32_t each) { result_[each] = value_[source_[each]]; });
      release(group, mask);
    } else if (wait()) {
      return value;
    }
    return result_[self];
  }

  uint64_t alike(uint64_t mask, uint64_t value) override {
    const uint32_t self = lane;
    if (enter()) return bit(self);
    check(mask & live_, self, "a function of a queue");
    Group& group = join(WaitKind::alike, mask);
    group.arrived |= bit(self);
    value_[self] = value;
    if (!release_alike(group) && wait()) return bit(self);
    return result_[self];
  }

  void block_barrier() override {
    if (enter()) return;
    at_barrier_ |= bit(lane);
    wait();
  }

  void yield(uint32_t) override {
    if (launch_.leave()) return;
    spinning_ |= bit(lane);
    wait();
  }

  void interleave() override {
    if (XIO_LIKELY(!jitter_)) return;
    jitter_.disturb_thread();
    // The lane stays runnable; it only yields.
    if (jitter_.one_in(4)) hand_over(lane, jitter_.lane_of(runnable_));
  }

 private:
  /// Lanes that wait for each other.
  struct Group {
    WaitKind kind;
    uint64_t mask;  ///< of a masked collective
    Site site;      ///< of active()
    uint64_t arrived;
    uint64_t votes;
    uint64_t born;  ///< value of rounds_ when the first lane arrived
  };

  static constexpr uint64_t bit(uint32_t number) { return uint64_t{1} << number; }

  template <class Function>
  static void for_each(uint64_t mask, Function function) {
    for (; mask != 0; mask &= mask - 1) function(arch::first_lane(mask));
  }

  static size_t stack_bytes(const Grid& grid) {
    if (grid.stack_bytes != 0) return grid.stack_bytes;
    return XIO_ASAN || XIO_TSAN ? 512 * 1024 : 128 * 1024;
  }

  static Strand& run_lane(void* wave) { return static_cast<FibreWave*>(wave)->run_lane(); }

  Strand& run_lane() {
    const uint32_t self = lane;
    thread_index = first_thread_ + self;
    launch_.run_lane();
    live_ &= ~bit(self);
    runnable_ &= ~bit(self);
    fail_those_that_wait_for(self);
    if (!choose()) return thread_;
    return *fibres_[lane];
  }

  /// To be called first by every operation; returns true if the operation must return immediately.
  bool enter() {
    if (launch_.leave()) return true;
    if (XIO_UNLIKELY(static_cast<bool>(jitter_))) {
      interleave();
      return launch_.leave();
    }
    return false;
  }

  /// Blocks the calling lane until it is runnable. Returns true if the launch has failed meanwhile.
  bool wait() {
    const uint32_t self = lane;
    runnable_ &= ~bit(self);
    choose();
    hand_over(self, lane);
    return launch_.leave();
  }

  /// Switches from lane `self` to lane `next`; returns when `self` runs again.
  void hand_over(uint32_t self, uint32_t next) {
    if (next == self) return;
    lane = next;
    Strand::transfer(*fibres_[self], *fibres_[next]);
    lane = self;
    thread_index = first_thread_ + self;
  }

  /// Selects the next lane of `mask`, round-robin or at random.
  uint32_t next_of(uint64_t mask) {
    if (XIO_UNLIKELY(static_cast<bool>(jitter_))) return jitter_.lane_of(mask);
    const uint64_t later = mask & ~((uint64_t{2} << lane) - 1);
    return arch::first_lane(later ? later : mask);
  }

  /// Sets `lane` to a runnable lane, waking lanes if none is runnable. Returns false if all lanes have ended.
  bool choose() {
    while (runnable_ == 0) {
      if (live_ == 0) return false;
      if (launch_.cancelled()) {
        runnable_ = live_;
        spinning_ = at_barrier_ = open_ = 0;
      } else if (at_barrier_ == live_) {
        slot_.barrier();
        runnable_ = std::exchange(at_barrier_, 0);
      } else {
        wake_some();
      }
    }
    lane = next_of(runnable_);
    return true;
  }

  void wake_some() {
    Group* oldest = nullptr;
    Group* first = nullptr;
    for_each(open_, [&](uint32_t number) {
      Group& group = groups_[number];
      if (group.kind != WaitKind::active) return;
      if (!oldest || group.born < oldest->born) oldest = &group;
      if (!first || sites_.goes_before(group.site, first->site)) first = &group;
    });
    if (oldest && rounds_ - oldest->born >= launch_.grid.patience && launch_.grid.patience != UINT32_MAX) {
      release_active(*oldest);
    } else if (spinning_ != 0) {
      ++rounds_;
      arch::give_way();
      runnable_ = std::exchange(spinning_, 0);
    } else if (first) {
      release_active(*first);
    } else {
      fail("deadlock: " + waiting());
    }
  }

  void release_active(Group& group) {
    uint64_t chosen = group.arrived;
    if (XIO_UNLIKELY(jitter_ && launch_.grid.split_groups)) chosen &= jitter_.next() | bit(jitter_.lane_of(chosen));
    for_each(chosen, [&](uint32_t each) { result_[each] = chosen; });
    release(group, chosen);
    sites_.next_step();
  }

  /// Releases a group of alike() if no lane is missing.
  bool release_alike(Group& group) {
    if ((group.mask & live_ & ~group.arrived) != 0) return false;
    for_each(group.arrived, [&](uint32_t each) {
      result_[each] = 0;
      for_each(group.arrived, [&](uint32_t other) {
        if (value_[other] == value_[each]) result_[each] |= bit(other);
      });
    });
    release(group, group.arrived);
    return true;
  }

  /// Makes lanes of a group runnable; closes the group when it is empty.
  void release(Group& group, uint64_t lanes) {
    runnable_ |= lanes;
    group.arrived &= ~lanes;
    if (group.arrived == 0) open_ &= ~bit(static_cast<uint32_t>(&group - groups_.data()));
  }

  /// Finds the open group with this kind, mask and site, or opens one. There are never more groups than waiting lanes.
  Group& join(WaitKind kind, uint64_t mask, const Site& site = {}) {
    for (uint64_t left = open_; left != 0; left &= left - 1) {
      Group& group = groups_[arch::first_lane(left)];
      if (group.kind == kind && group.mask == mask && group.site == site) return group;
    }
    const uint32_t number = arch::first_lane(~open_);
    open_ |= bit(number);
    if (kind == WaitKind::active) sites_.note(site);
    groups_[number] = {kind, mask, site, 0, 0, rounds_};
    return groups_[number];
  }

  void check(uint64_t mask, uint32_t self, const char* operation) const {
    if ((mask & bit(self)) && !(mask & ~live_)) return;
    std::string text = where() + ": lane " + std::to_string(self) + " calls " + operation + " with the mask " +
                       hexadecimal(mask) + ", ";
    if (mask & bit(self)) {
      text += "but " + lane_list(mask & ~live_) + " ended before or never existed";
    } else {
      text += "which it is not in";
    }
    throw host::Error(text + "; pass what active() returned, or a part of it");
  }

  void fail_those_that_wait_for(uint32_t ended) {
    if (launch_.cancelled()) return;
    for_each(open_, [&](uint32_t number) {
      Group& group = groups_[number];
      if (group.kind == WaitKind::alike) {
        release_alike(group);
      } else if (group.mask & bit(ended)) {
        fail("lane " + std::to_string(ended) + " has ended, but " + waiting());
      }
    });
  }

  /// Records a failure that no lane throws itself; all lanes then end.
  void fail(const std::string& what) {
    launch_.fail(std::make_exception_ptr(host::Error(
        where() + ": " + what + "; all lanes of a mask must reach the collective, all live lanes the barrier")));
  }

  std::string where() const { return "block " + std::to_string(block_index) + ", wave " + std::to_string(number_); }

  std::string waiting() const {
    std::string text;
    const auto add = [&text](uint64_t lanes, const std::string& what) {
      if (lanes == 0) return;
      if (!text.empty()) text += ", ";
      text += lane_list(lanes) + (arch::count_lanes(lanes) == 1 ? " waits in " : " wait in ") + what;
    };
    for_each(open_, [&](uint32_t number) {
      const Group& group = groups_[number];
      add(group.arrived, wait_text(group.kind, group.mask));
    });
    add(at_barrier_, wait_text(WaitKind::barrier, 0));
    add(spinning_, wait_text(WaitKind::spin, 0));
    return text;
  }

  LaunchState& launch_;
  BlockSlot& slot_;
  const uint32_t number_;
  const size_t stack_bytes_;
  uint32_t first_thread_ = 0;
  uint32_t lanes_ = 0;
  Fibres fibres_;
  Strand thread_;
  Jitter jitter_;
  SiteOrder sites_;

  uint64_t live_ = 0;
  uint64_t runnable_ = 0;
  uint64_t spinning_ = 0;
  uint64_t at_barrier_ = 0;
  uint64_t open_ = 0;    ///< which of groups_ are in use
  uint64_t rounds_ = 0;  ///< number of times that the spinning lanes were resumed
  std::array<Group, 64> groups_{};
  std::array<uint64_t, 64> result_{};
  std::array<uint64_t, 64> value_{};
  std::array<uint32_t, 64> source_{};
};

}  // namespace simt::detail

XIO_NAMESPACE_END
