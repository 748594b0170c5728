// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Storage of a queue's handle and mutable state while a kernel uses it: in the memory that all users share, or
/// in registers.
///
/// For a type of handle, the namespace of that type provides:
///
/// | function                                   | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `Handle in_global_memory(Handle)`          | marks pointers used for plain accesses: arch::in_global()          |
/// | `Extra* extra_state(const Handle&)`        | state beside QueueState; not if `Extra` is NoState                 |

#include <xio/device/queue/state.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Extra state of queues whose whole state is their QueueState.
struct NoState {};

namespace detail {
/// Copies word by word: of a larger copy the compiler would keep in scratch memory what is not used in between.
template <class State>
XIO_DEVICE_INLINE void copy_words(State& to, const State& from) {
  for (uint32_t i = 0; i < sizeof(State) / sizeof(StateWord); ++i) {
    reinterpret_cast<StateWord*>(&to)[i] = reinterpret_cast<const StateWord*>(&from)[i];
  }
}
}  // namespace detail

/// Holder that keeps the state in memory, accessible to all users of the queue.
/// @tparam Handle handle of the queue, whose member `state` points to its QueueState
/// @tparam Extra  further state of the queue
template <class Handle, class Extra = NoState>
class StateInMemory {
 public:
  static constexpr bool stored_each_time = true;
  XIO_HOST_DEVICE explicit StateInMemory(const Handle& handle) : handle_(in_global_memory(handle)) {}
  XIO_DEVICE_INLINE const Handle& handle() const { return handle_; }
  XIO_DEVICE_INLINE QueueState& state() const { return *handle_.state; }
  XIO_DEVICE_INLINE Extra& extra() const { return *extra_state(handle_); }

 private:
  Handle handle_;
};

/// Holder that keeps the state in registers, for a loop of one user; parameters as of StateInMemory.
template <class Handle, class Extra = NoState>
class StateInRegisters {
 public:
  static constexpr bool stored_each_time = false;
  XIO_HOST_DEVICE explicit StateInRegisters(const Handle& handle) : handle_(in_global_memory(handle)) {
    detail::copy_words(state_, *handle.state);
    if constexpr (has_extra) detail::copy_words(extra_, *extra_state(handle));
  }
  XIO_DEVICE_INLINE const Handle& handle() const { return handle_; }
  XIO_DEVICE_INLINE QueueState& state() const { return state_; }
  XIO_DEVICE_INLINE Extra& extra() const { return extra_; }

  /// Writes the state back to memory.
  XIO_HOST_DEVICE void end() const {
    detail::copy_words(*handle_.state, state_);
    if constexpr (has_extra) detail::copy_words(*extra_state(handle_), extra_);
  }

 private:
  static constexpr bool has_extra = !IsSame<Extra, NoState>::value;

  Handle handle_;
  // A queue object is a view: calls on a constant one change the queue.
  mutable QueueState state_;
  mutable Extra extra_;
};

/// @}
XIO_NAMESPACE_END
