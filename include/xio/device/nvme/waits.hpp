// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waits of an NVMe queue pair: for one token, for everything, for remaining errors, and for data that arrives
/// after its completion.

#include <xio/device/nvme/core.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// The waits of an NVMe queue pair for a known group of lanes; base class of BasicQueue.
template <Sharing S, class Policy, class Doorbell, class Holder>
class QueueWaits : public QueueCore<S, Policy, Doorbell, Holder> {
  using Core = QueueCore<S, Policy, Doorbell, Holder>;

 public:
  using Core::Core;
  using Core::ended;
  using Core::handle;

 protected:
  using Core::completions;
  using Core::device;
  using Core::drain_group;
  using Core::state;
  using Core::submit_short;
  using Core::wait_group;
  using Core::wait_quietly;

  XIO_DEVICE Status fence_in(Group<S> group, Deadline until) {
    const uint64_t end = protocol::claimed_by_all(device(), group);
    const uint64_t window = uint64_t{handle().slot_mask} + 1;
    const uint32_t lanes = group.lanes();
    uint32_t looks = 0;
    // Each lane checks one ticket. Older ones have ended, or their slots could not be in use again.
    for (uint64_t base = end > window ? end - window : 0; base < end; base += lanes) {
      uint64_t retired = 0;
      if constexpr (is_shared<S>) {
        // The drain that advanced `retired` had seen the tickets, so the claims read next are not older.
        retired = arch::observe<state_scope<S>>(&state().retired);
      } else {
        retired = state().retired;
      }
      if (!group.any(retired < protocol::claimed(device()))) break;
      if (++looks % arch::looks_per_clock == 0 && !group.any(!until.passed())) return Status::timed_out;
      Token mine;
      mine.last = base + group.rank();
      mine.count = mine.last < end;
      if (!group.any(!ended(mine))) continue;
      const Status status = wait_quietly(group, mine, until);
      if (!status.is_ok()) return status;
    }
    arch::acquire_system();
    // Each lane has checked operations of other lanes.
    group.converge();
    return inbound(group, until);
  }

  /// Replaces a deadline: never passes.
  struct Always {
    XIO_HOST_DEVICE static constexpr bool passed() { return false; }
  };
  XIO_DEVICE ErrorSummary errors_in(Group<S> group) {
    ErrorSummary summary;
    find_errors(group, false, Always{}, summary);
    return summary;
  }

  /// Returns false if `until` passed; see protocol::find_errors().
  template <class Until>
  XIO_DEVICE bool find_errors(Group<S> group, bool take, Until until, ErrorSummary& summary) {
    protocol::UnseenErrors found;
    if (!protocol::find_errors<CompletionFormat, S>(completions(), state(), group, take, until, found)) return false;
    summary = {found.count, found.first_ticket, CompletionFormat::decode(static_cast<uint16_t>(found.first_status))};
    return true;
  }

  /// After a wait for everything: flush_inbound() if the policy requires it.
  XIO_DEVICE Status inbound(Group<S> group, Deadline until) {
    if constexpr (Policy::inbound_in_order) {
      return Status::ok;
    } else {
      return flush_inbound_group(group, until);
    }
  }

  XIO_DEVICE Status flush_inbound_group(Group<S> group, Deadline until) {
    if (handle().flush_bus == 0) return Status::unsupported;
    telemetry::Off off;
    const Token own = submit_short(group, group.leads(), compare(0, 1), ContiguousPages{handle().flush_bus}, until,
                                   nullptr, off, Token());
    const Token flushing = Core::from_leader(group, own);
    const Status status = wait_group(group, flushing, until, off);
    // Any completion, a media error included, follows the drive's read of the data's memory.
    const bool unanswered = status == Status::timed_out || status == Status::broken;
    return flushing.submitted() && !unanswered ? Status(Status::ok) : status;
  }

  template <class Telemetry>
  XIO_DEVICE_INLINE Status wait_in(Group<S> group, const Token& token, Deadline until, Telemetry& telemetry) {
    Status status = wait_group(group, token, until, telemetry);
    if constexpr (!Policy::inbound_in_order) {
      const bool moved = status.is_ok() && token.count != 0;
      if (group.any(moved)) {
        const Status flushed = flush_inbound_group(group, until);
        if (moved) status = flushed;
      }
    }
    return status;
  }

  XIO_DEVICE Status test_group(Group<S> group, const Token& token) {
    telemetry::Off off;
    if (group.any(!ended(token))) drain_group(group, off);
    const bool over = ended(token);
    const Status status = wait_group(group, over ? token : Token(), Deadline{0}, off);
    return over ? status : Status(Status::would_block);
  }
};

}  // namespace nvme

XIO_NAMESPACE_END
