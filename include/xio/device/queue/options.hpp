// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a call of a queue may be given behind its deadline: who is told of the end, and what is measured.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/queue/notification.hpp>

XIO_NAMESPACE_BEGIN

namespace detail {

/// Where steps are measured: a reference, or nothing at all.
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

/// The last argument of calls: `Options().notify(progress).measure(steps)`. What is not named is not done, and costs
/// nothing.
///
/// @tparam Notifies  whether notify() or keep() was called: for policies with notifications (Notify)
/// @tparam Telemetry telemetry::Off, or what measure() was given
template <bool Notifies = false, class Telemetry = telemetry::Off>
class Options {
 public:
  static constexpr bool notifies = Notifies;

  XIO_HOST_DEVICE constexpr Options() : told_(nullptr), meter_{} {}
  XIO_HOST_DEVICE constexpr Options(Notification* told, detail::Meter<Telemetry> meter) : told_(told), meter_(meter) {}

  /// `told` is added to when the operation has ended; a command that is split counts each of its parts.
  XIO_HOST_DEVICE constexpr Options<true, Telemetry> notify(Notification& told) const { return {&told, meter_}; }
  /// As above; null: nobody is told.
  XIO_HOST_DEVICE constexpr Options<true, Telemetry> notify(Notification* told) const { return {told, meter_}; }
  /// `kept` gets the operation's end and its result, however late its owner looks. It belongs to the queue until the
  /// operation has ended. Of a command that is split it gets the last part's to end.
  XIO_HOST_DEVICE Options<true, Telemetry> keep(KeptResult& kept) const {
    const auto marked = reinterpret_cast<uint64_t>(&kept) | KeptResult::mark;
    return {reinterpret_cast<Notification*>(marked), meter_};
  }
  /// The steps of the call are added to `steps`, a telemetry::Steps or its like.
  template <class Steps>
  XIO_HOST_DEVICE constexpr Options<Notifies, Steps> measure(Steps& steps) const {
    return {told_, detail::Meter<Steps>{&steps}};
  }
  XIO_HOST_DEVICE constexpr Options<Notifies, telemetry::Off> measure(telemetry::Off&) const { return {told_, {}}; }

  /// For the queues: whom to tell, with KeptResult::mark where a result is kept; null: nobody.
  XIO_HOST_DEVICE constexpr Notification* told() const { return told_; }
  /// For the queues.
  XIO_HOST_DEVICE constexpr Telemetry& telemetry() const { return meter_.get(); }

 private:
  Notification* told_;
  detail::Meter<Telemetry> meter_;
};

XIO_NAMESPACE_END
