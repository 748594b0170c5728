// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The engine of an NVMe queue pair: its state, its rings and its completions. Independent of commands.

#include <xio/device/core/token.hpp>
#include <xio/device/nvme/transport.hpp>
#include <xio/device/queue/room.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Doorbell of a submission queue, used to publish entries and to ring for them (queue/claim.hpp): few words.
template <Sharing S, class QueuePolicy>
struct QueueBell {
  using Policy = QueuePolicy;
  using Transport = TransportOf<Policy>;
  static constexpr Sharing sharing = S;
  static constexpr bool has_heads = false;
  static constexpr bool checks_use = Policy::argument_checks;
  static constexpr uint32_t kind = Transport::kind;

  QueueState* state;
  DoorbellTarget target;
  uint32_t mask;
  uint32_t depth;

  XIO_DEVICE_INLINE uint64_t& link(uint64_t ticket) const {
    return ring::element(reinterpret_cast<uint64_t*>(state + 1), mask, ticket);
  }
  XIO_DEVICE_INLINE void ring(uint64_t end, uint64_t) const { Transport::template ring<S>(*this, end); }
  XIO_DEVICE_INLINE static uint64_t head(uint64_t) { return 0; }
};

/// State, rings and completions of a queue pair, of which Queue holds one; the `Engine` of the queue protocol
/// (queue/claim.hpp). Posting (post.hpp, batch.hpp) and waiting (waits.hpp) are functions of an engine and of the group
/// of lanes that call. Parameters as of Queue.
template <Sharing S, class QueuePolicy, class Holder>
class QueueEngine {
 public:
  using Policy = QueuePolicy;
  using Transport = TransportOf<Policy>;
  using Tickets = protocol::PlainTickets;
  static constexpr Sharing sharing = S;
  static constexpr bool reserves_room = true;
  static constexpr bool retires_entries = true;
  static constexpr bool stored_each_time = Holder::stored_each_time;

  /// @param lanes lanes that call together, as a mask; 0: see Group::of_callers()
  XIO_HOST_DEVICE QueueEngine(const QueueHandle& queue, uint64_t lanes)
      : holder_(is_shared<S> ? in_vector_registers(queue) : queue), lanes_(lanes) {}

  XIO_DEVICE_INLINE const QueueHandle& handle() const { return holder_.handle(); }
  XIO_DEVICE_INLINE uint64_t lanes() const { return lanes_; }
  /// Writes state that is kept in registers back to memory.
  XIO_HOST_DEVICE void end() const { holder_.end(); }

  /// Tells queues apart.
  XIO_DEVICE_INLINE const void* key() const { return handle().state; }
  /// The group of a call in which each lane acts for itself; determined once per call, in in_groups().
  XIO_DEVICE_ALWAYS_INLINE Callers<S> callers() const { return Callers<S>(Group<S>::of_callers(lanes_, key())); }
  /// The group of a call that acts once for all lanes.
  XIO_DEVICE_INLINE Callers<S> all_callers() const { return Callers<S>(Group<S>::of_all(lanes_, key())); }

  XIO_DEVICE_INLINE QueueState& state() const { return holder_.state(); }
  XIO_DEVICE_INLINE uint64_t& claims() const { return state().reserved; }
  XIO_DEVICE_INLINE uint32_t depth() const { return handle().depth; }
  XIO_DEVICE_INLINE bool is_free(uint64_t ticket) const {
    if constexpr (Policy::slot_checks) {
      return detail::slot_free<S>(handle().slots, handle().slot_mask, ticket);
    } else {
      return true;
    }
  }
  XIO_DEVICE_INLINE bool is_dead() const { return protocol::is_lost<S>(state()); }
  XIO_DEVICE_INLINE QueueBell<S, Policy> bell() const {
    const QueueHandle& q = handle();
    return {q.state, {q.sq_doorbell, q.sq_shadow, q.sq_event_index}, q.sq_mask, q.depth};
  }
  XIO_DEVICE_INLINE uint64_t cq_head() const { return protocol::read_retired<S>(state()); }
  XIO_DEVICE_INLINE detail::CompletionTable table() const {
    const QueueHandle& q = handle();
    return {q.slots, q.failures, q.notifications, q.slot_mask, q.failure_entries};
  }

  XIO_DEVICE_INLINE static int64_t reported_after() { return 1; }

  /// The reason why a claim got no tickets.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal(Group<S> group) const {
    if (group.any(is_dead())) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }
  /// Announces deferred entries.
  XIO_DEVICE_INLINE void ring(Group<S> group) const { protocol::ring_deferred(*this, group); }

  /// Whether every part of the operation has ended, as far as completions were taken.
  XIO_DEVICE_INLINE bool ended(const Token& token) const {
    uint64_t word = 0;
    for (uint32_t part = 0; part < token.count; ++part) {
      const auto outcome = detail::look_up<S>(handle().slots, handle().slot_mask, token.last - part, word);
      if (outcome == detail::Outcome::pending) return false;
    }
    return true;
  }

  /// Takes completions in the course of another call, at most one per lane. Out of line where the details of what is
  /// taken are not needed.
  template <class Telemetry>
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group, Telemetry& telemetry) const {
    detail::NoRecord none;
    return drain(group, telemetry, none, glimpse(group), 1);
  }
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const {
    telemetry::Off off;
    return drain(group, off);
  }
  /// What a drain() may load together with other words.
  XIO_DEVICE_INLINE protocol::Glimpse glimpse(Group<S> group) const {
    return protocol::glimpse_before_call(*this, group);
  }
  /// @param record detail::NoRecord, or detail::Awaited
  /// @param seen, looks as of protocol::begin_drain()
  template <class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group, Telemetry& telemetry, Record& record, protocol::Glimpse seen,
                                   uint32_t looks) const {
    Transport::prepare(*this, group);
    if constexpr (is_called<Telemetry>) {
      // Of one type, so that there is one copy.
      using Called = typename Choose<protocol::knows_drains<S>, detail::Awaited, detail::NoRecord>::type;
      Called called;
      if constexpr (Record::awaits) called.ticket = record.ticket;
      uint32_t taken = 0;
      if constexpr (!is_shared<S>) {
        protocol::Found found{};
        if (!protocol::begin_drain(*this, cq(group, telemetry), group, seen, looks, found)) return 0;
        taken = drain_out_of_line(group, called, found.head, found.word);
      } else {
        if (!protocol::nobody_drains(*this, group, seen)) return 0;
        taken = drain_out_of_line(group, called, seen.retired, looks);
      }
      if constexpr (Record::awaits) record.hit = record.hit || taken >= hit_bit;
      return taken & ~hit_bit;
    } else {
      return drain_here(group, telemetry, record, seen, looks);
    }
  }

  /// drain() without a call.
  /// @param record detail::NoRecord, or one of what the calling lane takes
  template <class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t drain_here(Group<S> group, Telemetry& telemetry, Record& record) const {
    Transport::prepare(*this, group);
    return drain_here(group, telemetry, record, glimpse(group), 1);
  }
  /// @param seen, looks as of protocol::begin_drain()
  template <class Telemetry, class Record>
  XIO_DEVICE_INLINE uint32_t drain_here(Group<S> group, Telemetry& telemetry, Record& record, protocol::Glimpse seen,
                                        uint32_t looks) const {
    const uint64_t started = Telemetry::start();
    uint32_t taken = 0;
    protocol::Found found{};
    const auto source = cq(group, telemetry);
    if (protocol::nobody_drains(*this, group, seen) &&
        protocol::begin_drain(*this, source, group, seen, looks, found)) {
      if constexpr (!is_shared<S> && !arch::calls_save_registers) {
        taken = take_completions<false>(source, group, found, record);
        if (XIO_UNLIKELY(taken == protocol::met_error)) {
          // Not `record` itself: an object whose address is passed to a call is not kept in registers.
          Record other = record;
          taken = take_errors(group, telemetry, other);
          record = other;
        }
      } else {
        taken = take_completions<true>(source, group, found, record);
      }
    }
    telemetry.stop(telemetry::Step::cq_poll, started);
    return taken;
  }

 private:
  /// Whether drains that are not measured, in the course of other calls, are called.
  template <class Telemetry>
  static constexpr bool is_called =
      protocol::calls_drains<S> && IsSame<Telemetry, telemetry::Off>::value && stored_each_time;

  /// Drains of a shared queue, one after the other, before another group's turn comes.
  static constexpr uint32_t most_drains = 8;

  /// In the result of drain_once(): the calling lane's Awaited was taken.
  static constexpr uint32_t hit_bit = 0x80000000;

  /// drain() as one copy per kernel. Its parameters are single words, since these are passed in registers.
  /// @param seen the members of the result of begin_drain(); of a shared queue the word of a glimpse, and the looks
  template <class Record, class... Seen>
  XIO_LEAF XIO_DEVICE static uint32_t drain_once(QueueState* state, const Cqe* cq, CompletionSlot* slots,
                                                 FailureLog* failures, Notification** notifications, uint32_t* doorbell,
                                                 uint32_t* shadow, const uint32_t* event, uint32_t cq_mask,
                                                 uint32_t slot_mask, uint32_t depth, uint32_t failure_entries,
                                                 uint64_t lanes, Record record, Seen... seen) {
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
    const Group<S> group(arch::branches_separate_lanes ? arch::active() : lanes);
    const QueueEngine engine(q, arch::branches_separate_lanes ? 0 : lanes);
    protocol::Found found{};
    const auto source = engine.cq(group, off);
    if constexpr (is_shared<S>) {
      if (!engine.begin_here(source, group, found, seen...)) return 0;
    } else {
      found = {seen...};
    }
    const uint32_t taken = engine.template take_completions<true>(source, group, found, record);
    if constexpr (Record::awaits) return taken | (record.hit ? hit_bit : 0);
    return taken;
  }

  template <class Source>
  XIO_DEVICE_INLINE bool begin_here(const Source& source, Group<S> group, protocol::Found& found, uint64_t retired,
                                    uint32_t looks) const {
    return protocol::begin_drain(*this, source, group, {retired}, looks, found);
  }

  template <class Record, class... Seen>
  XIO_DEVICE_INLINE uint32_t drain_out_of_line(Group<S> group, const Record& record, Seen... seen) const {
    const QueueHandle& q = handle();
    return drain_once(q.state, q.cq, q.slots, q.failures, q.notifications, q.cq_doorbell, q.cq_shadow, q.cq_event_index,
                      q.cq_mask, q.slot_mask, q.depth, q.failure_entries,
                      arch::branches_separate_lanes ? 0 : group.mask(), record, seen...);
  }

  template <bool Errors, class Source, class Record>
  XIO_DEVICE_INLINE uint32_t take_completions(const Source& source, Group<S> group, const protocol::Found& found,
                                              Record& record) const {
    using Sink = detail::TableSink<QueueEngine, Record>;
    if constexpr (Sink::looks_ahead) {
      uint32_t all = 0;
      protocol::Found next = found;
      for (uint32_t left = most_drains; left != 0;) {
        Sink sink(*this, table(), record, --left != 0);
        all += protocol::drain<Errors>(*this, source, sink, group, next);
        if (!sink.goes_on()) break;
        next = sink.next();
      }
      return all;
    } else {
      Sink sink(*this, table(), record);
      return protocol::drain<Errors>(*this, source, sink, group, found);
    }
  }

  /// Drain with error handling: out of line on a CPU only, since a GPU has enough registers, and no cheap calls.
  template <class Telemetry, class Record>
  XIO_COLD XIO_DEVICE uint32_t take_errors(Group<S> group, Telemetry& telemetry, Record& record) const {
    protocol::Found found{};
    const auto source = cq(group, telemetry);
    if (!protocol::begin_drain(*this, source, group, found)) return 0;
    return take_completions<true>(source, group, found, record);
  }

  template <class Telemetry>
  XIO_DEVICE_INLINE auto cq(Group<S> group, Telemetry& telemetry) const {
    return Transport::source(*this, group, telemetry);
  }

  Holder holder_;
  uint64_t lanes_;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
