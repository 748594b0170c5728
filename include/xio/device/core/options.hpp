// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Optional last argument of queue calls: notification and measurement.

#include <xio/device/core/notification.hpp>
#include <xio/device/core/telemetry.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

namespace detail {

/// Destination of measurements: a reference, or nothing.
template <class Telemetry>
struct Meter {
  Telemetry* telemetry;
  XIO_HOST_DEVICE constexpr Telemetry& get() const { return *telemetry; }
};
template <>
struct Meter<telemetry::Off> {
  mutable telemetry::Off off;
  XIO_HOST_DEVICE constexpr telemetry::Off& get() const { return off; }
};

}  // namespace detail

/// Last argument of queue calls: `Options().notify(progress).measure(steps)`. What is not requested is not done and
/// costs nothing.
///
/// @tparam Notifies  whether notify() or keep() was called: for policies with notifications (Notify)
/// @tparam Telemetry telemetry::Off, or the argument type of measure()
///
/// @snippet options.cpp notify
template <bool Notifies = false, class Telemetry = telemetry::Off>
class Options {
 public:
  static constexpr bool notifies = Notifies;

  XIO_HOST_DEVICE constexpr Options() : notified_(nullptr), meter_{} {}
  XIO_HOST_DEVICE constexpr Options(Notification* to, detail::Meter<Telemetry> meter) : notified_(to), meter_(meter) {}

  /// Counts in `to` when the operation has ended; each part of a split command counts.
  /// @snippet options.cpp notify
  XIO_HOST_DEVICE constexpr Options<true, Telemetry> notify(Notification& to) const { return {&to, meter_}; }
  /// Counts in `*to` when the operation has ended; null: no notification.
  /// @snippet options.cpp notify
  XIO_HOST_DEVICE constexpr Options<true, Telemetry> notify(Notification* to) const { return {to, meter_}; }
  /// Stores the operation's status and result in `kept`, which the owner may read at any later time. It belongs to the
  /// queue until the operation has ended: a split command when all its parts have. It then has the status of the part
  /// that failed first, and the result of the one that ended last; if the queue refused some parts, it never ends.
  /// @snippet options.cpp keep
  XIO_HOST_DEVICE Options<true, Telemetry> keep(KeptResult& kept) const {
    const auto marked = reinterpret_cast<uint64_t>(&kept) | KeptResult::mark;
    return {reinterpret_cast<Notification*>(marked), meter_};
  }
  /// Adds the steps of the call to `steps`, a telemetry::Steps or similar.
  /// @snippet options.cpp measure
  template <class Steps>
  XIO_HOST_DEVICE constexpr Options<Notifies, Steps> measure(Steps& steps) const {
    return {notified_, detail::Meter<Steps>{&steps}};
  }
  /// Measures nothing: for callers whose telemetry is a template argument.
  /// @snippet options.cpp measure
  XIO_HOST_DEVICE constexpr Options<Notifies, telemetry::Off> measure(telemetry::Off&) const { return {notified_, {}}; }

  /// For the queues: the notification, with KeptResult::mark if a result is kept; null: none.
  XIO_HOST_DEVICE constexpr Notification* notified() const { return notified_; }
  /// For the queues: the telemetry.
  XIO_HOST_DEVICE constexpr Telemetry& telemetry() const { return meter_.get(); }

 private:
  Notification* notified_;
  detail::Meter<Telemetry> meter_;
};

/// What a call does that is given no Options. A name, since tools that index sources stumble over `Options<>>`.
using NoOptions = Options<>;

/// @}
XIO_NAMESPACE_END
