// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The lanes of a wave that make one call of a queue together.

#include <xio/device/core/deadline.hpp>
#include <xio/device/core/policy.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Lanes that act together in one call. All of them call each function, at the same program location.
///
/// With Sharing::thread the group is the calling lane alone, and nothing here costs an instruction.
template <Sharing S>
class Group {
  static constexpr bool alone = S == Sharing::thread;

 public:
  XIO_HOST_DEVICE explicit constexpr Group(uint64_t mask) : mask_(static_cast<arch::LaneMask>(mask)) {}

  /// The group of a call in which each lane acts for itself: if one wave owns the queue, all of `lanes` (0: of the
  /// wave); if the queue is shared, the lanes that call at the same time, unless `lanes` names them. Of these, the
  /// lanes that use the same queue: in_groups(). Evaluate once per call: the result may differ the next time.
  /// @param queue tells queues apart
  XIO_DEVICE_ALWAYS_INLINE static Group of_callers(uint64_t lanes, const void* queue) {
    if constexpr (alone) {
      return Group(1);
    } else if constexpr (S == Sharing::wave) {
      return of_all(lanes, queue);
    } else {
      return Group(arch::alike(lanes != 0 ? arch::together(lanes) : arch::active(), queue));
    }
  }

  /// The group of a call that acts once for all lanes, and would act twice if a wave arrived in two parts; parameters
  /// as of of_callers().
  XIO_DEVICE_INLINE static Group of_all(uint64_t lanes, const void* queue) {
    return Group(alone ? 1 : arch::alike(arch::together(lanes), queue));
  }

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
  XIO_DEVICE_INLINE bool any(bool predicate) const {
    if constexpr (alone) {
      return predicate;
    } else {
      return arch::any(mask_, predicate);
    }
  }

  /// Number of lanes of the group before the first of `members`; all, if there are none.
  XIO_DEVICE_INLINE uint32_t before(uint64_t members) const {
    return alone ? 0 : arch::count_lanes(mask_ & ((members & (0 - members)) - 1));
  }

  /// Number of consecutive lanes, from the group's first, that have `predicate`.
  XIO_DEVICE_INLINE uint32_t leading(bool predicate) const {
    if constexpr (alone) {
      return predicate;
    } else {
      return before(arch::ballot(mask_, !predicate));  // all, if it is empty
    }
  }

  /// Whether the calling lane is in `members`; and the number of members before it.
  XIO_DEVICE_INLINE static bool has(uint64_t members) { return alone || arch::is_in(members); }
  XIO_DEVICE_INLINE static uint32_t rank_in(uint64_t members) { return alone ? 0 : arch::rank_in(members); }

  XIO_DEVICE_INLINE uint32_t rank() const { return rank_in(mask_); }
  /// Whether the calling lane is the group's first.
  XIO_DEVICE_INLINE bool leads() const { return alone || arch::is_first(mask_); }

  /// Broadcasts the value of one lane of the wave to all lanes of the group.
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
      return arch::from_first(mask_, value);
    }
  }

  /// The leader's value if lanes outside the group may write the word that it was read from; otherwise it is the same
  /// in all lanes.
  template <class T>
  XIO_DEVICE_INLINE T agreed(T value) const {
    return is_shared<S> ? from_leader(value) : value;
  }

  /// Orders earlier stores of all lanes before later accesses of any of them.
  XIO_DEVICE_INLINE void converge() const {
    if constexpr (!alone) arch::converge(mask_);
  }

  /// Call between reading and writing a state word: all lanes of a wave that owns a queue do both, and none may write
  /// before the others have read.
  XIO_DEVICE_INLINE void before_writing() const {
    if constexpr (S == Sharing::wave) converge();
  }

  /// Returns the condition, which is the same in all lanes; the compiler then knows that.
  XIO_DEVICE_INLINE bool same(bool condition) const {
    if constexpr (alone || !arch::lanes_stay_together) {
      return condition;
    } else {
      return any(condition);
    }
  }

  /// poll_until() for lanes that stay together: it ends with the latest of their deadlines.
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
  arch::LaneMask mask_;
};

/// The lanes of a group that act each for itself: in a loop of its own, or one for all. Where lanes stay together
/// (arch::lanes_stay_together) all of them are there, and acts() tells which ones have something to do; elsewhere only
/// these are there, and this is empty.
template <Sharing S, bool Together = arch::lanes_stay_together && S != Sharing::thread>
class Actors {
 public:
  XIO_HOST_DEVICE constexpr Actors(Group<S>, bool) {}
  /// The calling lane.
  XIO_DEVICE_INLINE static Actors alone() { return Actors(Group<S>(1), true); }
  XIO_HOST_DEVICE static constexpr bool acts() { return true; }
  /// Whether a loop goes on: for the calling lane, or for any of those that stay together. A lane without the condition
  /// must do nothing in it, nor may one that does not act have it.
  XIO_HOST_DEVICE static constexpr bool go_on(bool condition) { return condition; }
};
/// All lanes of the group, which stay together, and whether the calling one acts.
template <Sharing S>
class Actors<S, true> {
 public:
  XIO_HOST_DEVICE constexpr Actors(Group<S> group, bool acts)
      : mask_(static_cast<uint32_t>(group.mask())), acts_(acts) {}
  XIO_DEVICE_INLINE static Actors alone() { return Actors(Group<S>(uint64_t{1} << arch::lane()), true); }
  XIO_HOST_DEVICE constexpr bool acts() const { return acts_ != 0; }
  XIO_DEVICE_INLINE bool go_on(bool condition) const { return group().any(condition); }
  XIO_HOST_DEVICE constexpr Group<S> group() const { return Group<S>(mask_); }

 private:
  // Passed in registers.
  uint32_t mask_;
  uint32_t acts_;
};

/// Calls `act(Actors<S>)` for the lanes of the group that have `acts`.
template <Sharing S, class Act>
XIO_DEVICE_ALWAYS_INLINE void let_act(Group<S> group, bool acts, Act act) {
  if constexpr (arch::lanes_stay_together && S != Sharing::thread) {
    act(Actors<S>(group, acts));
  } else if (acts) {
    act(Actors<S>(group, acts));
  }
}

/// The same for some of these lanes.
template <Sharing S, class Act>
XIO_DEVICE_ALWAYS_INLINE void let_act(Actors<S> some, bool acts, Act act) {
  if constexpr (arch::lanes_stay_together && S != Sharing::thread) {
    act(Actors<S>(some.group(), acts));
  } else if (acts) {
    act(some);
  }
}

/// The group of one call of a queue that a wave owns. The lanes wait for each other where the call ends: a part of them
/// may use the queue next, and what the others have written must come first.
template <Sharing S>
class WaveCall : public Group<S> {
 public:
  XIO_DEVICE_INLINE explicit WaveCall(Group<S> group) : Group<S>(group) {}
  WaveCall(const WaveCall&) = delete;
  XIO_DEVICE_INLINE ~WaveCall() { arch::converge(this->mask()); }
};

/// The group of one call, held by the function that a kernel calls until it returns. All lanes leave that function by
/// the same return statement.
template <Sharing S>
using Callers = typename Choose<S == Sharing::wave && !arch::lanes_in_step, WaveCall<S>, Group<S>>::type;

/// Returns `act()` of each calling lane; lanes that use different queues act one queue after the other.
/// @param queue tells queues apart
template <Sharing S, class Act>
XIO_DEVICE_ALWAYS_INLINE auto by_queue([[maybe_unused]] const void* queue, Act act) {
  if constexpr (S == Sharing::thread) {
    return act();
  } else {
    return arch::apart(queue, act);
  }
}

/// Returns `call(group)`, where `group` are the lanes of a call in which each acts for itself, and which use the same
/// queue.
template <class Engine, class Call>
XIO_DEVICE_ALWAYS_INLINE auto in_groups(const Engine& engine, Call call) {
  return by_queue<Engine::sharing>(engine.key(), [&]() XIO_INLINE_LAMBDA { return call(engine.callers()); });
}

/// in_groups() for a call that acts once for all lanes.
template <class Engine, class Call>
XIO_DEVICE_ALWAYS_INLINE auto in_whole_groups(const Engine& engine, Call call) {
  return by_queue<Engine::sharing>(engine.key(), [&]() XIO_INLINE_LAMBDA { return call(engine.all_callers()); });
}

/// @}
XIO_NAMESPACE_END
