// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The send queue of an RDMA queue pair and its completions: draining and polling.
///
/// Operations of a queue pair end in the order in which they were posted, so one counter shows which have ended, and
/// another the position of the first failure.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/rdma/bell.hpp>
#include <xio/device/rdma/collapsed.hpp>
#include <xio/device/rdma/completions.hpp>
#include <xio/device/rdma/holder.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rdma/require_vendor.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// The queue protocol on a send ring: everything that is independent of the operations.
template <class Vendor, Sharing S, class QueuePolicy, class Holder>
class SendRings : public Holder {
  static_assert(require_vendor<Vendor>(), "incomplete Vendor; requirements: xio/vendors/rdma/require_vendor.hpp");

 public:
  using Holder::handle;
  using Holder::Holder;
  static constexpr Sharing sharing = S;

 protected:
  using Holder::handle_;
  using Holder::lanes_;
  using Holder::send;
  using Holder::state;

  /// Whether a claim also takes packet and message numbers.
  static constexpr bool sequenced = Vendor::has_side_table && is_shared<S>;

  /// The group of a call in which each lane acts for itself; determined once per call.
  XIO_DEVICE_ALWAYS_INLINE Group<S> callers() const { return Group<S>::of_callers(lanes_); }
  /// The group of a call that acts once for all lanes.
  XIO_DEVICE_INLINE Group<S> all_callers() const { return Group<S>::of_all(lanes_); }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>(handle_.cq); }

  /// Interface of the queue to its protocol (queue/claim.hpp).
  struct Device {
    using Policy = QueuePolicy;
    using Tickets = typename Choose<sequenced, SequencedTickets, protocol::PlainTickets>::type;
    static constexpr Sharing sharing = S;
    SendRings& rings;

    XIO_DEVICE_INLINE QueueState& state() const { return rings.state(); }
    XIO_DEVICE_INLINE uint64_t& claims() const {
      if constexpr (sequenced) {
        return rings.send().claims;
      } else {
        return rings.state().reserved;
      }
    }
    XIO_DEVICE_INLINE uint32_t depth() const { return rings.handle().depth; }
    XIO_DEVICE_INLINE static bool is_free(uint64_t) { return true; }
    XIO_DEVICE_INLINE SendBell<Vendor, S, Policy> bell() const {
      return SendBell<Vendor, S, Policy>(rings.handle(), &rings.state(), &rings.send());
    }
    XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const { return rings.drain_group(group); }
    XIO_DEVICE_INLINE bool is_dead() const {
      return protocol::read<S>(state().broken) != 0 || protocol::read<S>(rings.send().ended) != 0;
    }
  };
  XIO_DEVICE_INLINE Device device() { return {*this}; }

  template <class T>
  XIO_DEVICE_INLINE void write_by_leader(Group<S> group, T& word, T value) const {
    if constexpr (is_shared<S>) {
      if (group.leads()) arch::store<state_scope<S>>(&word, value);
    } else {
      group.before_writing();
      word = value;
    }
  }

  /// Writes like write_by_leader(), ordered after the leader's earlier writes.
  template <class T>
  XIO_DEVICE_INLINE void publish_by_leader(Group<S> group, T& word, T value) const {
    if constexpr (is_shared<S>) {
      if (group.leads()) arch::publish<state_scope<S>>(&word, value);
    } else {
      write_by_leader(group, word, value);
    }
  }

  /// The reason why a claim failed.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal(Group<S> group) {
    if (group.any(device().is_dead() || protocol::read<S>(send().failed_end) != 0)) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }

  XIO_DEVICE_INLINE void flush_group(Group<S> group) { protocol::flush(device(), group); }

  /// Takes the available completions, at most one per lane. Returns how many. Never waits: returns 0 while another wave
  /// takes them.
  XIO_DEVICE_INLINE uint32_t drain_group(Group<S> group) {
    if (!protocol::nobody_drains(state(), group)) return 0;
    if constexpr (arch::calls_save_registers && is_shared<S> && !Vendor::has_collapsed_cq) {
      const QueuePairHandle& q = handle_;
      return drain_once(q.state, q.send, q.sq, q.cq.entries, q.cq.producer, q.cq.record, q.cq.doorbell, q.cq.cookie,
                        q.cq.size, q.cq.number, q.shape.qpn, q.shape.entries, q.depth, group.mask());
    } else {
      return drain_here(group);
    }
  }

  template <class Telemetry>
  XIO_DEVICE_INLINE uint32_t drain_group(Group<S> group, Telemetry& telemetry) {
    if constexpr (IsSame<Telemetry, telemetry::Off>::value) {
      return drain_group(group);
    } else {
      const uint64_t started = Telemetry::start();
      const uint32_t taken = protocol::nobody_drains(state(), group) ? drain_here(group) : 0;
      telemetry.stop(telemetry::Step::cq_poll, started);
      return taken;
    }
  }

  /// drain_group() as one copy per kernel. Its parameters are single words, since these are passed in registers.
  XIO_LEAF XIO_DEVICE static uint32_t drain_once(QueueState* state, SendState* send, void* sq, const void* entries,
                                                 const uint32_t* producer, uint32_t* record, void* doorbell,
                                                 uint64_t cookie, uint32_t size, uint32_t number, uint32_t qpn,
                                                 uint32_t units, uint32_t depth, uint64_t lanes) {
    QueuePairHandle q{};
    q.state = state;
    q.send = send;
    q.sq = sq;
    q.shape.qpn = qpn;
    q.shape.entries = units;
    q.depth = depth;
    q.cq = {entries, producer, record, doorbell, size, number, cookie};
    return SendRings(q, lanes).drain_here(Group<S>(lanes));
  }

  XIO_DEVICE_INLINE uint32_t drain_here(Group<S> group) {
    const CompletionReader<Vendor> queue = cq();
    protocol::Found found{};
    if (XIO_UNLIKELY(!begin_drain(queue, group, found))) return 0;
    if constexpr (Vendor::has_collapsed_cq) {
      return drain_collapsed(group);
    } else {
      return drain_ring(queue, group, found);
    }
  }

  /// Whether a completion is available and the group may take it.
  XIO_DEVICE_INLINE bool begin_drain(const CompletionReader<Vendor>& queue, Group<S> group, protocol::Found& found) {
    if constexpr (Vendor::has_collapsed_cq) return begin_collapsed(group);
    if (is_shared<S> && !protocol::claim_drain(state(), group)) return false;
    const uint32_t position = group.rank();
    const uint64_t head = group.agreed(protocol::read<S>(send().cq_head));
    found = {head, 0, nullptr};
    if (!is_shared<S> || position == 0) found.word = queue.look(is_shared<S> ? head : head + position);
    if (group.any(position == 0 && queue.is_new(found.word, head, 0))) return true;
    if constexpr (is_shared<S>) protocol::leave_drain(state(), group);
    return false;
  }

  /// @tparam Errors false: entries that report anything but success are handled by a separate function
  template <bool Errors = is_shared<S>>
  XIO_DEVICE_INLINE uint32_t drain_ring(const CompletionReader<Vendor>& queue, Group<S> group,
                                        const protocol::Found& found) {
    const uint32_t position = group.rank();
    const uint64_t head = found.head;
    const uint64_t word = is_shared<S> ? queue.look(head + position) : found.word;
    const bool fresh = queue.is_new(word, head, position);
    uint32_t taken = S == Sharing::thread ? 1 : group.leading(fresh);
    const bool hit = S == Sharing::thread || position < taken;
    if constexpr (is_shared<S>) {
      file<Errors>(queue, group, head, head + position, word, hit, taken);
      if (group.leads()) arch::publish<state_scope<S>>(&state().draining, 0u);
    } else if (XIO_UNLIKELY(!file<Errors>(queue, group, head, head + position, word, hit, taken))) {
      return drain_any(group, found);
    }
    return taken;
  }

  XIO_COLD XIO_DEVICE uint32_t drain_any(Group<S> group, protocol::Found found) {
    return drain_ring<true>(cq(), group, found);
  }

  /// Progress of a lane's wait.
  struct Waiting {
    uint32_t round = 0;  ///< polls
    bool late = false;
    bool broken = false;
    XIO_HOST_DEVICE bool has_given_up() const { return late || broken; }
  };

  /// Takes completions until the waits of all lanes are over, and returns true. On shared queues it returns false from
  /// time to time, so that the caller can check what other waves have posted.
  template <class Telemetry>
  XIO_DEVICE_INLINE bool look_group(Group<S> group, const Token& token, Deadline until, Waiting& waiting,
                                    Telemetry& telemetry) {
    while (group.any(!has_ended(token) && !waiting.has_given_up())) {
      const bool seldom = waiting.round % arch::looks_per_clock == arch::looks_per_clock - 1;
      if (seldom) {
        waiting.late = until.passed();
        waiting.broken = protocol::read<S>(state().broken) != 0;
        protocol::help(device(), group);
      }
      if (drain_group(group, telemetry) == 0) arch::pause(waiting.round);
      ++waiting.round;
      if (is_shared<S> && seldom && group.any(!waiting.has_given_up())) return false;
    }
    return true;
  }

  /// Whether the token's operation has ended, as far as completions were taken.
  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    if (token.count == 0 || protocol::read<S>(state().retired) > token.last) return true;
    return protocol::read<S>(send().ended) != 0;
  }

  /// Status of an operation that has ended; after an acquire that followed has_ended().
  XIO_DEVICE_INLINE Status outcome(const Token& token) const {
    if (!token.status.is_ok() || token.count == 0) return token.status;
    const uint64_t failed_end = protocol::read<S>(send().failed_end);
    if (XIO_LIKELY(failed_end == 0 || token.last + 1 < failed_end)) return Status::ok;
    if (failed_end > token.last + 1 - token.count) return protocol::unpack(protocol::read<S>(send().failed_status));
    return Status::flushed;
  }

  /// Status of the first failed operation; Status::ok: none failed.
  XIO_DEVICE_INLINE Status first_failure() const {
    if (protocol::read<S>(send().failed_end) == 0) return Status::ok;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    return protocol::unpack(protocol::read<S>(send().failed_status));
  }

 private:
  /// Takes `taken` entries starting at `head`; if `hit`, the calling lane holds entry number `mine`.
  /// @tparam Errors whether all kinds of entries are handled; if not, it returns false, without effect, if an entry
  ///                reports anything but success.
  template <bool Errors>
  XIO_DEVICE_INLINE bool file(const CompletionReader<Vendor>& queue, Group<S> group, uint64_t head, uint64_t mine,
                              uint64_t word, bool hit, uint32_t& taken) {
    // Without this order, the rest of an entry could be loaded before its valid bit, and be stale.
    arch::order_loads<arch::Scope::system>();
    const Progress known{protocol::read<S>(state().retired), protocol::read<S>(send().operations)};
    const int64_t reserved = protocol::claimed_or_broken(device());
    Progress now = known;
    WorkCompletion completion;
    if (hit) {
      completion = Errors ? queue.read(word, mine) : queue.read_success(word, mine);
      if constexpr (QueuePolicy::completion_checks) {
        const bool ours = queue.is_about(handle_.shape.qpn, completion, word, mine);
        if (completion.kind != CompletionKind::nothing && !ours) completion.kind = CompletionKind::unknown;
      }
      if (completion.kind == CompletionKind::send) {
        now = Vendor::progress(handle_.shape, known, completion, [&](uint64_t offset) {
          return arch::load<arch::Scope::system>(
              reinterpret_cast<const uint32_t*>(static_cast<const char*>(handle_.sq) + offset));
        });
      }
    }
    // A completion of an operation that is not in flight, or of another queue pair: the device and the library disagree
    // on the queue's state. These two counters count on from `known` and never decrease: no comparison is needed.
    const bool adds =
        !Errors && (completion.counts == Counter::next_unit || completion.counts == Counter::next_message);
    // Lanes without an entry may have read `reserved` before the progress was made.
    const bool strange =
        hit && (static_cast<int64_t>(now.units) > reserved ||
                (!adds && static_cast<int64_t>(now.units) < static_cast<int64_t>(known.units)) ||
                (Errors && (completion.kind == CompletionKind::unknown || completion.kind == CompletionKind::receive ||
                            // A failure of an operation that has already ended.
                            (!completion.status.is_ok() && completion.kind == CompletionKind::send &&
                             now.units == known.units))));
    if constexpr (!Errors) {
      if (group.any(hit && (completion.kind != CompletionKind::send || strange))) return false;
    }
    if (Errors && XIO_UNLIKELY(group.any(strange))) {
      // The head does not advance over it.
      protocol::break_queue(device(), group);
      taken = group.leading(hit && !strange);
      hit = group.rank() < taken;
      if (taken == 0) return true;
    }
    const uint32_t newest = last_lane(group, hit);
    const uint64_t last = group.from_lane(now.units, newest);
    if (Errors && XIO_UNLIKELY(group.any(hit && !completion.status.is_ok()))) {
      const uint64_t failures =
          group.members(hit && completion.kind == CompletionKind::send && !completion.status.is_ok());
      if (failures != 0) record_failure(group, failures, now.units, completion.status);
      if (group.any(hit && completion.kind == CompletionKind::ended)) record_end(group, last);
    }

    head += taken;
    group.converge();
    const auto unacknowledged = static_cast<uint32_t>(head - protocol::read<S>(state().acknowledged));
    // While fewer are unacknowledged than the ring has spare entries, `depth` operations in flight cannot overrun it.
    if (group.any(unacknowledged + handle_.depth >= queue.size - 1)) {
      group.before_writing();
      if (group.leads()) queue.template acknowledge<S>(head);
      write_by_leader(group, state().acknowledged, head);
    }
    write_by_leader(group, send().cq_head, head);
    if constexpr (Vendor::counts_operations) {
      write_by_leader(group, send().operations, group.from_lane(now.operations, newest));
    }
    if constexpr (is_shared<S>) {
      publish_by_leader(group, state().retired, last);
    } else {
      state().retired = last;
    }
    return true;
  }

  /// The last lane with `hit`, which is set in the lowest lanes of the group.
  XIO_DEVICE_INLINE uint32_t last_lane(Group<S> group, bool hit) const {
    if constexpr (S == Sharing::thread) {
      return 0;
    } else {
      return 63 - static_cast<uint32_t>(__builtin_clzll(group.members(hit)));
    }
  }

  /// Records the first failure; all later operations were flushed.
  XIO_COLD XIO_DEVICE void record_failure(Group<S> group, uint64_t failures, uint64_t end, Status status) {
    const uint32_t source = arch::first_lane(failures);
    const uint64_t failed_end = group.from_lane(end, source);
    const uint32_t packed = group.from_lane(protocol::pack(status), source);
    if (group.any(protocol::read<S>(send().failed_end) != 0)) return;
    write_by_leader(group, send().failed_status, packed);
    publish_by_leader(group, send().failed_end, failed_end);
    // A waiter that sees this then checks whether its operation is the failed one.
    if constexpr (!Vendor::has_flush_completions) publish_by_leader(group, send().ended, 1u);
  }

  /// Records that the device will write no more completions: what is posted was flushed.
  XIO_COLD XIO_DEVICE void record_end(Group<S> group, uint64_t end) {
    if (!group.any(protocol::read<S>(send().failed_end) != 0)) {
      write_by_leader(group, send().failed_status, protocol::pack(Status::flushed));
      publish_by_leader(group, send().failed_end, end + 1);
    }
    publish_by_leader(group, send().ended, 1u);
  }

  XIO_DEVICE_INLINE Progress known_now() const {
    return {protocol::read<S>(state().retired), protocol::read<S>(send().operations)};
  }

  /// begin_drain() of a collapsed completion queue.
  XIO_DEVICE_INLINE bool begin_collapsed(Group<S> group) {
    if constexpr (is_shared<S> && Vendor::has_collapsed_cq) {
      if (!protocol::claim_drain(state(), group)) return false;
      const CollapsedReader<Vendor, S> entry(handle_, group);
      const uint64_t word = entry.look();
      const Progress known = known_now();
      const uint64_t in_flight = protocol::claimed(device()) - known.units;
      if (group.any(group.leads() && entry.is_new(word, known, in_flight))) return true;
      protocol::leave_drain(state(), group);
      return false;
    }
    return true;
  }

  /// drain_group() of a collapsed completion queue; returns 1 if the entry reported anything.
  XIO_DEVICE_INLINE uint32_t drain_collapsed(Group<S> group) {
    constexpr arch::Scope scope = state_scope<S>;
    const CollapsedReader<Vendor, S> entry(handle_, group);
    const Progress known = known_now();
    const uint64_t in_flight = group.from_leader(protocol::claimed(device()) - known.units);
    const uint64_t word = entry.look();
    CollapsedNews news;
    if (entry.is_new(word, known, in_flight) && !group.any(protocol::read<S>(send().ended) != 0)) {
      news = entry.read(word, known, in_flight, QueuePolicy::completion_checks);
    }
    // All lanes have read the send ring before it may be written again.
    group.converge();
    if (news.kind == CompletionKind::ended) record_end(group, known.units);
    if (news.kind == CompletionKind::send) {
      if (XIO_UNLIKELY(!news.status.is_ok())) record_failure(group, group.mask(), news.failed_end, news.status);
      if constexpr (Vendor::counts_operations) write_by_leader(group, send().operations, news.now.operations);
      publish_by_leader(group, state().retired, news.now.units);
    }
    if constexpr (is_shared<S>) {
      if (group.leads()) arch::publish<scope>(&state().draining, 0u);
    }
    if (XIO_UNLIKELY(news.kind == CompletionKind::unknown)) protocol::break_queue(device(), group);
    return news.kind != CompletionKind::nothing;
  }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
