// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The rings of an NVMe queue pair: tickets, doorbells, completions and waits.

#include <xio/device/nvme/types.hpp>
#include <xio/device/queue/doorbell.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// The queue protocol on NVMe's rings: everything that is independent of the commands.
template <Sharing S, class QueuePolicy, class Doorbell, class Holder>
class QueueRings : public Holder {
 public:
  using Holder::handle;
  using Holder::Holder;
  static constexpr Sharing sharing = S;

 protected:
  using Holder::lanes_;
  using Holder::state;

  /// The group of a call in which each lane acts for itself; determined once per call.
  XIO_DEVICE_ALWAYS_INLINE Group<S> callers() const { return Group<S>::of_callers(lanes_); }
  /// The group of a call that acts once for all lanes.
  XIO_DEVICE_INLINE Group<S> all_callers() const { return Group<S>::of_all(lanes_); }

  /// The reason why a claim got no tickets.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal(Group<S> group) {
    if (group.any(protocol::read<S>(state().broken) != 0)) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }

  XIO_DEVICE_INLINE protocol::CompletionRing<CompletionFormat> completions() const {
    const QueueHandle& q = handle();
    return {q.cq, q.slots, q.failures, q.notifications, q.cq_mask, q.slot_mask, q.depth, q.failure_entries};
  }

  /// Takes completions in the course of another call. Out of line where the details of what is taken are not needed.
  template <class Telemetry>
  XIO_DEVICE_INLINE uint32_t drain_group(Group<S> group, Telemetry& telemetry) {
    if constexpr (arch::calls_save_registers && IsSame<Telemetry, telemetry::Off>::value && Holder::stored_each_time) {
      const QueueHandle& q = handle();
      const auto drain_with = [&](auto... found) {
        return drain_once(q.state, q.cq, q.slots, q.failures, q.notifications, q.cq_doorbell, q.cq_shadow,
                          q.cq_event_index, q.cq_mask, q.slot_mask, q.depth, q.failure_entries, group.mask(), found...);
      };
      if constexpr (is_shared<S>) {
        return protocol::nobody_drains(state(), group) ? drain_with() : 0;
      } else {
        protocol::Found found{};
        if (!protocol::begin_drain(device(), completions(), group, found)) return 0;
        return drain_with(found.head, found.word, found.entry);
      }
    } else {
      return drain_here(group, telemetry);
    }
  }

  /// drain_group() as one copy per kernel. Its parameters are single words, since these are passed in registers.
  /// @param seen the result of begin_drain(); empty: drain_once() calls it
  template <class... Seen>
  XIO_LEAF XIO_DEVICE static uint32_t drain_once(QueueState* state, const Cqe* cq, CompletionSlot* slots,
                                                 FailureLog* failures, Notification** notifications, uint32_t* doorbell,
                                                 uint32_t* shadow, const uint32_t* event, uint32_t cq_mask,
                                                 uint32_t slot_mask, uint32_t depth, uint32_t failure_entries,
                                                 uint64_t lanes, Seen... seen) {
    QueueHandle q{};
    q.state = state;
    q.cq = cq;
    q.slots = slots;
    q.failures = failures;
    q.notifications = notifications;
    q.cq_doorbell = doorbell;
    q.cq_shadow = shadow;
    q.cq_event_index = event;
    q.cq_mask = cq_mask;
    q.slot_mask = slot_mask;
    q.depth = depth;
    q.failure_entries = failure_entries;
    telemetry::Off off;
    protocol::NoRecord none;
    const Group<S> group(lanes);
    QueueRings rings(q, lanes);
    protocol::Found found{seen...};
    if constexpr (sizeof...(seen) == 0) {
      if (!protocol::begin_drain(rings.device(), rings.completions(), group, found)) return 0;
    }
    return rings.template take_completions<true>(rings.completions(), group, found, off, none);
  }

  template <class Telemetry>
  XIO_DEVICE_INLINE uint32_t drain_here(Group<S> group, Telemetry& telemetry) {
    protocol::NoRecord none;
    return drain_recorded(group, telemetry, none);
  }

  template <class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t drain_recorded(Group<S> group, Telemetry& telemetry, Record& record) {
    const uint64_t started = Telemetry::start();
    uint32_t taken = 0;
    protocol::Found found{};
    const protocol::CompletionRing<CompletionFormat> ring = completions();
    if (protocol::nobody_drains(state(), group) && protocol::begin_drain(device(), ring, group, found)) {
      if constexpr (!is_shared<S> && !arch::calls_save_registers) {
        taken = take_completions<false>(ring, group, found, telemetry, record);
        if (XIO_UNLIKELY(taken == protocol::met_error)) {
          // Not `record` itself: an object whose address is passed to a call is not kept in registers.
          Record other;
          taken = take_errors(group, telemetry, other);
          record = other;
        }
      } else {
        taken = take_completions<true>(ring, group, found, telemetry, record);
      }
    }
    telemetry.stop(telemetry::Step::cq_poll, started);
    return taken;
  }

  /// Takes completions until `most` or more are taken, or none is available; each lane passes what it took to `each`.
  template <class Each, class Telemetry>
  XIO_DEVICE_INLINE uint32_t process_group(Group<S> group, Each& each, uint32_t most, Telemetry& telemetry) {
    uint32_t all = 0;
    while (all < most) {
      protocol::Taken mine;
      const uint32_t taken = drain_recorded(group, telemetry, mine);
      if (taken == 0) break;
      all += taken;
      arch::acquire_system();
      if (mine.hit) {
        each(Completion{mine.ticket, mine.result, ring::slot(mine.ticket, handle().slot_mask),
                        static_cast<uint16_t>(mine.status)});
      }
      group.converge();
    }
    return all;
  }

  template <bool Errors, class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t take_completions(const protocol::CompletionRing<CompletionFormat>& ring, Group<S> group,
                                              const protocol::Found& found, Telemetry& telemetry, Record& record) {
    const QueueHandle& q = handle();
    return protocol::drain<CompletionFormat, Errors>(
        device(), ring, group, found,
        [&](uint64_t head) {
          const DoorbellTarget target{q.cq_doorbell, q.cq_shadow, q.cq_event_index};
          if constexpr (S == Sharing::thread) {
            Doorbell::ring_each(target, ring::slot(head, q.cq_mask));
          } else {
            Doorbell::ring(target, ring::slot(head, q.cq_mask));
          }
        },
        telemetry, record);
  }

  /// Drain with error handling: out of line on a CPU only, since a GPU has enough registers, and no cheap calls.
  template <class Telemetry, class Record>
  XIO_COLD XIO_DEVICE uint32_t take_errors(Group<S> group, Telemetry& telemetry, Record& record) {
    protocol::Found found{};
    const protocol::CompletionRing<CompletionFormat> ring = completions();
    if (!protocol::begin_drain(device(), ring, group, found)) return 0;
    return take_completions<true>(ring, group, found, telemetry, record);
  }

  /// Doorbell of the submission queue (queue/claim.hpp).
  struct Bell {
    using Policy = QueuePolicy;
    static constexpr Sharing sharing = S;
    static constexpr bool has_notes = false;
    QueueState* state;
    DoorbellTarget target;
    uint32_t mask;
    uint32_t depth;

    XIO_DEVICE_INLINE uint64_t& link(uint64_t ticket) const {
      return protocol::slot_of(reinterpret_cast<uint64_t*>(state + 1), mask, ticket);
    }
    XIO_DEVICE_INLINE void ring(uint64_t end, uint64_t) const {
      if constexpr (S == Sharing::thread) {
        Doorbell::ring_each(target, ring::slot(end, mask));
      } else {
        Doorbell::ring(target, ring::slot(end, mask));
      }
    }
    XIO_DEVICE_INLINE static uint64_t note(uint64_t) { return 0; }
  };

  /// Interface of the queue to its protocol (queue/claim.hpp).
  struct Device {
    using Policy = QueuePolicy;
    using Tickets = protocol::PlainTickets;
    static constexpr Sharing sharing = S;
    QueueRings& rings;

    XIO_DEVICE_INLINE QueueState& state() const { return rings.state(); }
    XIO_DEVICE_INLINE uint64_t& claims() const { return rings.state().reserved; }
    XIO_DEVICE_INLINE uint32_t depth() const { return rings.handle().depth; }
    XIO_DEVICE_INLINE bool is_free(uint64_t ticket) const {
      if constexpr (Policy::slot_checks) {
        return protocol::slot_free<S>(rings.handle().slots, rings.handle().slot_mask, ticket);
      } else {
        return true;
      }
    }
    XIO_DEVICE_INLINE Bell bell() const {
      const QueueHandle& q = rings.handle();
      return {q.state, {q.sq_doorbell, q.sq_shadow, q.sq_event_index}, q.sq_mask, q.depth};
    }
    XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const {
      telemetry::Off off;
      return rings.drain_group(group, off);
    }
    XIO_DEVICE_INLINE bool is_dead() const { return protocol::read<S>(rings.state().broken) != 0; }
  };
  XIO_DEVICE_INLINE Device device() { return {*this}; }

  XIO_DEVICE_INLINE void flush_group(Group<S> group) { protocol::flush(device(), group); }

  /// The first of the lanes' faults, returned in all lanes.
  XIO_DEVICE_INLINE Status first_fault(Group<S> group, Status fault) const {
    const uint64_t faulty = group.members(!fault.is_ok());
    if (XIO_LIKELY(faulty == 0)) return Status::ok;
    return protocol::unpack(group.from_lane(protocol::pack(fault), arch::first_lane(faulty)));
  }

  template <class Until>
  XIO_DEVICE_INLINE protocol::Claim claim_until(Group<S> group, uint32_t wanted, uint32_t least, Until until) {
    return protocol::claim_until(device(), group, wanted, least, until);
  }
  XIO_DEVICE_INLINE void publish(Group<S> group, const protocol::Claim& claim) {
    protocol::publish(device(), group, claim);
  }

  /// Announces deferred entries, then waits for each lane's token.
  template <class Telemetry>
  XIO_DEVICE Status wait_group(Group<S> group, const Token& token, Deadline until, Telemetry& telemetry) {
    flush_group(group);
    return protocol::wait<CompletionFormat>(device(), completions(), group, token, until,
                                            [&] { return drain_group(group, telemetry); });
  }

  /// Whether every part of the operation has ended, as far as completions were taken.
  XIO_DEVICE_INLINE bool ended(const Token& token) const {
    uint64_t word = 0;
    for (uint32_t part = 0; part < token.count; ++part) {
      if (protocol::look_up<S>(handle().slots, handle().slot_mask, token.last - part, word) ==
          protocol::Outcome::pending)
        return false;
    }
    return true;
  }

  /// Waits for each lane's token without marking errors as waited for.
  XIO_DEVICE Status wait_quietly(Group<S> group, const Token& token, Deadline until) {
    telemetry::Off off;
    bool broken = false;
    uint32_t looks = 0;
    const bool done = group.poll(
        [&] {
          if (!group.any(!ended(token))) return true;
          // In every round, since other waves may not have published their entries yet, nor announce them soon.
          flush_group(group);
          if (++looks % arch::looks_per_clock == 0) protocol::help(device(), group);
          drain_group(group, off);
          broken = group.any(protocol::read<S>(state().broken) != 0);
          return broken;
        },
        until);
    if (!done) return Status::timed_out;
    return broken && group.any(!ended(token)) ? Status::broken : Status::ok;
  }

  /// The leader's token, in all lanes of the group.
  XIO_DEVICE_INLINE static Token from_leader(Group<S> group, Token token) {
    token.last = group.from_leader(token.last);
    token.count = group.from_leader(token.count);
    token.status = protocol::unpack(group.from_leader(protocol::pack(token.status)));
    return token;
  }
};

}  // namespace nvme

XIO_NAMESPACE_END
