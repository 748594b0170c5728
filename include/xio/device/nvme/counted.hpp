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
template <class Engine, Sharing S>
XIO_DEVICE Status wait_count(const Engine& engine, Group<S> group, const Notification& counted, uint64_t count,
                             Deadline until) {
  const auto is_short = [&] { return arch::load<arch::Scope::system>(&counted.done) < count; };
  engine.ring(group);
  uint32_t looks = 0;
  const bool over = group.poll(
      [&] {
        if (!group.any(is_short())) return true;
        // check: a stopped wave announced
        if (++looks % arch::looks_per_clock == 0) protocol::help(engine, group);
        engine.drain(group);
        return group.any(engine.is_dead());
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
