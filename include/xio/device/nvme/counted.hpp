// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waiting for a Notification to have counted operations, whoever submitted them.

#include <xio/device/nvme/waits.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Queue::wait_count(). Each lane of `group` has its own arguments.
/// @param on_each calls its argument with each engine whose operations count
template <class OnEach, Sharing S>
XIO_DEVICE Status wait_count(const OnEach& on_each, Group<S> group, const Notification& counted, uint64_t count,
                             Deadline until) {
  const auto is_short = [&] { return arch::load<arch::Scope::system>(&counted.done) < count; };
  on_each([&](const auto& engine) XIO_INLINE_LAMBDA { engine.ring(group); });
  uint32_t looks = 0;
  const bool over = group.poll(
      [&] {
        if (!group.any(is_short())) return true;
        bool dead = false;
        const bool helps = ++looks % arch::looks_per_clock == 0;
        on_each([&](const auto& engine) XIO_INLINE_LAMBDA {
          // check: a stopped wave announced
          if (helps) protocol::help(engine, group);
          engine.drain(group);
          dead = dead || engine.is_dead();
        });
        return group.any(dead);
      },
      until);
  Status status;
  if (is_short()) status = over ? Status::broken : Status::timed_out;
  arch::acquire_system();  // order: completion before data
  // A drain counts a failure before it counts the end, which was read above.
  const uint32_t failure = arch::load<arch::Scope::system>(&counted.status) & Notification::device_status;
  if (XIO_UNLIKELY(group.any(failure != 0)))
    if (status.is_ok()) status = CompletionFormat::decode(static_cast<uint16_t>(failure));
  group.converge();
  return status;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
