// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The lanes of a wave that make one call of a queue together.

#include <xio/device/core/deadline.hpp>
#include <xio/device/queue/policy.hpp>

XIO_NAMESPACE_BEGIN

/// Lanes that act together in one call. All of them call each function, at the same place of the program.
///
/// With Sharing::thread it is the calling lane alone, and nothing here costs an instruction.
template <Sharing S>
class Group {
  static constexpr bool alone = S == Sharing::thread;

 public:
  XIO_HOST_DEVICE explicit constexpr Group(uint64_t mask) : mask_(mask) {}

  /// Those that call, each for itself: all of `lanes` (0: of the wave) where one wave owns the queue, and where queues
  /// are shared those that call at the same time, unless `lanes` names them. To be asked once in a call: the answer may
  /// differ the next time.
  XIO_DEVICE_ALWAYS_INLINE static Group of_callers(uint64_t lanes) {
    if constexpr (alone) {
      return Group(1);
    } else if constexpr (S == Sharing::wave) {
      return Group(arch::together(lanes));
    } else {
      return Group(lanes != 0 ? arch::together(lanes) : arch::active());
    }
  }

  /// The same for calls that mean one thing for all lanes, and would be made twice where a wave came in two parts.
  XIO_DEVICE_INLINE static Group of_all(uint64_t lanes) { return Group(alone ? 1 : arch::together(lanes)); }

  XIO_HOST_DEVICE constexpr uint64_t mask() const { return mask_; }
  XIO_DEVICE_INLINE uint32_t lanes() const { return alone ? 1 : arch::count_lanes(mask_); }

  /// The lanes for which `predicate` holds.
  XIO_DEVICE_INLINE uint64_t members(bool predicate) const {
    if constexpr (alone) {
      return predicate;
    } else {
      return arch::ballot(mask_, predicate);
    }
  }
  XIO_DEVICE_INLINE bool any(bool predicate) const { return members(predicate) != 0; }

  /// How many lanes of the group are before the first of `members`, of which there are some.
  XIO_DEVICE_INLINE uint32_t before(uint64_t members) const {
    return alone ? 0 : arch::count_lanes(mask_ & ((uint64_t{1} << arch::first_lane(members)) - 1));
  }

  /// How many lanes of the group, from its first on, have `predicate` without a gap.
  XIO_DEVICE_INLINE uint32_t leading(bool predicate) const {
    if constexpr (alone) {
      return predicate;
    } else {
      const uint64_t missing = arch::ballot(mask_, !predicate);
      return missing == 0 ? lanes() : before(missing);
    }
  }

  /// Whether the calling lane is one of `members`, and how many of them are before it.
  XIO_DEVICE_INLINE static bool has(uint64_t members) { return alone || arch::is_in(members); }
  XIO_DEVICE_INLINE static uint32_t rank_in(uint64_t members) { return alone ? 0 : arch::rank_in(members); }

  XIO_DEVICE_INLINE uint32_t rank() const { return rank_in(mask_); }
  /// Whether the calling lane is the first one.
  XIO_DEVICE_INLINE bool leads() const { return alone || arch::is_first(mask_); }

  /// Value of one lane of the wave, in all lanes of the group.
  template <class T>
  XIO_DEVICE_INLINE T from_lane(T value, uint32_t lane) const {
    if constexpr (alone) {
      return value;
    } else {
      return arch::broadcast(mask_, value, lane);
    }
  }
  template <class T>
  XIO_DEVICE_INLINE T from_leader(T value) const {
    if constexpr (alone) {
      return value;
    } else {
      return arch::broadcast(mask_, value, arch::first_lane(mask_));
    }
  }

  /// The leader's value where others than the group may write what it was read from. Else it is the same in all lanes.
  template <class T>
  XIO_DEVICE_INLINE T agreed(T value) const {
    return is_shared<S> ? from_leader(value) : value;
  }

  /// What the lanes stored before is ordered before what any of them does after.
  XIO_DEVICE_INLINE void converge() const {
    if constexpr (!alone) arch::converge(mask_);
  }

  /// To be called between reading a state word and writing it: the lanes of a wave that owns a queue all do both, and
  /// none may write before the others have read.
  XIO_DEVICE_INLINE void before_writing() const {
    if constexpr (S == Sharing::wave) converge();
  }

  /// poll_until() for lanes that stay together: they give up when the most patient of them does.
  template <class Look>
  XIO_DEVICE bool poll(Look look, Deadline until) const {
    for (uint32_t round = 0;; ++round) {
      const bool late = round % arch::looks_per_clock == arch::looks_per_clock - 1 && !any(!until.passed());
      if (look()) return true;
      if (late) return false;
      arch::pause(round);
    }
  }

 private:
  uint64_t mask_;
};

XIO_NAMESPACE_END
