// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The two rings of an NVMe queue pair: tickets, doorbells, completions and waits.

#include <xio/device/doorbell.hpp>
#include <xio/device/nvme_types.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// The protocol code on NVMe's rings: everything that does not depend on what a command is.
template <Sharing S, class Policy, class Doorbell, class Holder>
class QueueRings : public Holder {
 public:
  using Holder::handle;
  using Holder::Holder;
  static constexpr Sharing sharing = S;

 protected:
  using Holder::lanes_;
  using Holder::state;

  /// The lanes of this call, each of which calls for itself; asked once in a call.
  XIO_DEVICE_ALWAYS_INLINE uint64_t callers() const { return protocol::group_of_caller<S>(lanes_); }
  /// The lanes of this call, which they make together.
  XIO_DEVICE_INLINE uint64_t all_callers() const { return protocol::group_of_all<S>(lanes_); }

  XIO_DEVICE_INLINE uint64_t members(uint64_t group, bool member) const {
    if constexpr (S == Sharing::thread) {
      return member;
    } else {
      return arch::ballot(group, member);
    }
  }

  XIO_DEVICE_INLINE bool is_member(uint64_t lanes) const {
    if constexpr (S == Sharing::thread) {
      return true;
    } else {
      return (lanes >> arch::lane() & 1) != 0;
    }
  }

  /// Why there are no tickets.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal() {
    if (protocol::read<S>(state().broken) != 0) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }

  XIO_DEVICE_INLINE protocol::CompletionRing<CompletionFormat> completions() const {
    const QueueHandle& q = handle();
    return {q.cq, q.slots, q.notifications, q.cq_mask, q.slot_mask, q.depth};
  }

  template <class Telemetry>
  XIO_DEVICE uint32_t drain_group(uint64_t group, Telemetry& telemetry) {
    protocol::NoRecord none;
    return drain_recorded(group, telemetry, none);
  }

  template <class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t drain_recorded(uint64_t group, Telemetry& telemetry, Record& record) {
    const uint64_t started = Telemetry::start();
    uint32_t taken = 0;
    if constexpr (XIO_ARCH_HOST && !is_shared<S>) {
      taken = take_completions<false>(group, telemetry, record);
      if (XIO_UNLIKELY(taken == protocol::met_error)) {
        // Not `record` itself: what a function elsewhere may write to is not kept in registers.
        Record other;
        taken = take_errors(group, telemetry, other);
        record = other;
      }
    } else {
      taken = take_completions<true>(group, telemetry, record);
    }
    telemetry.stop(telemetry::Step::cq_poll, started);
    return taken;
  }

  /// Looks until `most` or more are taken, or none is there; each lane passes what it took to `each`.
  template <class Each, class Telemetry>
  XIO_DEVICE_INLINE uint32_t process_group(uint64_t group, Each& each, uint32_t most, Telemetry& telemetry) {
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
      if constexpr (S != Sharing::thread) arch::converge(group);
    }
    return all;
  }

  template <bool Errors, class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t take_completions(uint64_t group, Telemetry& telemetry, Record& record) {
    const QueueHandle& q = handle();
    return protocol::drain<CompletionFormat, S, Policy, Errors>(
        completions(), state(), group,
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

  /// Kept out of the way of a CPU; a GPU has registers enough, and no cheap calls.
  template <class Telemetry, class Record>
  XIO_COLD XIO_DEVICE uint32_t take_errors(uint64_t group, Telemetry& telemetry, Record& record) {
    return take_completions<true>(group, telemetry, record);
  }

  XIO_DEVICE_INLINE void ring_sq(uint64_t end) const {
    const QueueHandle& q = handle();
    const DoorbellTarget target{q.sq_doorbell, q.sq_shadow, q.sq_event_index};
    if constexpr (S == Sharing::thread) {
      Doorbell::ring_each(target, ring::slot(end, q.sq_mask));
    } else {
      Doorbell::ring(target, ring::slot(end, q.sq_mask));
    }
  }

  XIO_DEVICE_INLINE void flush_group(uint64_t group) {
    protocol::flush<S, Policy>(state(), group, [&](uint64_t end) { ring_sq(end); });
  }

  XIO_DEVICE_INLINE Status publish(uint64_t group, protocol::Claim claim) {
    return protocol::publish<S, Policy>(state(), group, claim, [&](uint64_t end) { ring_sq(end); });
  }

  /// Of the lanes' faults the first, in all of them.
  XIO_DEVICE_INLINE Status first_fault(uint64_t group, Status fault) const {
    const uint64_t faulty = members(group, !fault.is_ok());
    if (XIO_LIKELY(faulty == 0)) return Status::ok;
    return protocol::unpack(protocol::from_lane<S>(group, protocol::pack(fault), arch::first_lane(faulty)));
  }

  XIO_DEVICE_INLINE protocol::Claim claim_now(uint64_t group, uint32_t wanted, uint32_t least) {
    const QueueHandle& q = handle();
    return protocol::claim<S>(state(), group, wanted, least, q.depth, [&](uint64_t ticket) {
      if constexpr (Policy::slot_checks) {
        return protocol::slot_free<S>(q.slots, q.slot_mask, ticket);
      } else {
        return true;
      }
    });
  }

  /// Claims tickets; while there is no room, announces what waits to be announced and takes completions.
  template <class Until>
  XIO_DEVICE_INLINE protocol::Claim claim_until(uint64_t group, uint32_t wanted, uint32_t least, Until until) {
    protocol::Claim claim = claim_now(group, wanted, least);
    if constexpr (IsSame<Until, Now>::value) {
      // What fills the queue may be entries that the device does not know of yet.
      if (XIO_UNLIKELY(claim.count == 0)) flush_group(group);
    } else {
      telemetry::Off off;
      for (uint32_t round = 0; XIO_UNLIKELY(claim.count == 0); ++round) {
        flush_group(group);
        const bool look = round == 0 || round % arch::looks_per_clock == arch::looks_per_clock - 1;
        // The lanes stay together: they give up when the most patient of them does, or when the queue is broken.
        const bool last = look && (!protocol::any<S>(group, !until.passed()) ||
                                   protocol::any<S>(group, protocol::read<S>(state().broken) != 0));
        const uint32_t taken = drain_group(group, off);
        claim = claim_now(group, wanted, least);
        if (claim.count != 0 || last) break;
        if (taken == 0) arch::pause(round);
      }
    }
    return claim;
  }

  /// Announces what waits to be announced, then waits for each lane's token.
  template <class Telemetry>
  XIO_DEVICE Status wait_group(uint64_t group, const Token& token, Deadline until, Telemetry& telemetry) {
    flush_group(group);
    return protocol::wait<CompletionFormat, S>(completions(), state(), group, token, until,
                                               [&] { return drain_group(group, telemetry); });
  }

  XIO_DEVICE Status wait_parts(uint64_t group, const Token& parts, Deadline until) {
    telemetry::Off off;
    return wait_group(group, parts, until, off);
  }
  XIO_DEVICE Status wait_parts(uint64_t, const Token&, Now) { return Status::would_block; }

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

  /// Waits without taking note of errors; all lanes pass the same token.
  XIO_DEVICE Status wait_quietly(uint64_t group, const Token& token, Deadline until) {
    telemetry::Off off;
    bool broken = false;
    const bool done = protocol::poll<S>(
        group,
        [&] {
          if (!protocol::any<S>(group, !ended(token))) return true;
          // Again and again, since others may not have published theirs yet, nor announce them soon.
          flush_group(group);
          drain_group(group, off);
          broken = protocol::any<S>(group, protocol::read<S>(state().broken) != 0);
          return broken;
        },
        until);
    if (!done) return Status::timed_out;
    return broken && protocol::any<S>(group, !ended(token)) ? Status::broken : Status::ok;
  }

  /// The leader's token, in all lanes of the group.
  XIO_DEVICE_INLINE static Token from_leader(uint64_t group, Token token) {
    token.last = protocol::from_leader<S>(group, token.last);
    token.count = protocol::from_leader<S>(group, token.count);
    token.status = protocol::unpack(protocol::from_leader<S>(group, protocol::pack(token.status)));
    return token;
  }
};

}  // namespace nvme

XIO_NAMESPACE_END
