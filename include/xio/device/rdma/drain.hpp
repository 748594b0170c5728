// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Taking completions of an RDMA send queue. Functions of a SendEngine and of the group of lanes that call.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/rdma/bell.hpp>
#include <xio/device/rdma/collapsed.hpp>
#include <xio/device/rdma/completions.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

template <class Engine>
XIO_DEVICE_INLINE Progress known_now(const Engine& engine) {
  constexpr Sharing sharing = Engine::sharing;
  return {protocol::read<sharing>(engine.state().retired), protocol::read<sharing>(engine.send().operations)};
}

/// Records the first failure; all later operations were flushed.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE void record_failure(const Engine& engine, Group<S> group, uint64_t failures, uint64_t end,
                                        Status status) {
  SendState& send = engine.send();
  const uint32_t source = arch::first_lane(failures);
  const uint64_t failed_end = group.from_lane(end, source);
  const uint32_t packed = group.from_lane(protocol::pack(status), source);
  if (group.any(protocol::read<S>(send.failed_end) != 0)) return;
  protocol::write_by_leader(group, send.failed_status, packed);
  protocol::publish_by_leader(group, send.failed_end, failed_end);
  // A waiter that sees this then checks whether its operation is the failed one.
  if constexpr (!Engine::Vendor::has_flush_completions) protocol::publish_by_leader(group, send.ended, 1u);
}

/// Records that the device will write no more completions: what is posted was flushed.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE void record_end(const Engine& engine, Group<S> group, uint64_t end) {
  SendState& send = engine.send();
  if (!group.any(protocol::read<S>(send.failed_end) != 0)) {
    protocol::write_by_leader(group, send.failed_status, protocol::pack(Status::flushed));
    protocol::publish_by_leader(group, send.failed_end, end + 1);
  }
  protocol::publish_by_leader(group, send.ended, 1u);
}

/// The last lane with `hit`, which is set in the lowest lanes of the group.
template <Sharing S>
XIO_DEVICE_INLINE uint32_t last_lane(Group<S> group, bool hit) {
  if constexpr (S == Sharing::thread) {
    return 0;
  } else {
    return arch::last_lane(group.members(hit));
  }
}

/// Takes the consecutive new entries from `head` on; returns how many. `word` is of the calling lane's entry.
/// @tparam Errors whether all kinds of entries are handled; if not, it returns protocol::met_error, without effect, if
///                an entry reports anything but success.
template <bool Errors, class Engine, class Reader, Sharing S>
XIO_DEVICE_INLINE uint32_t file(const Engine& engine, const Reader& queue, Group<S> group, uint64_t head,
                                uint64_t word) {
  using Vendor = typename Engine::Vendor;
  const QueuePairHandle& q = engine.handle();
  const Progress known = known_now(engine);
  const int64_t reserved = protocol::claimed_or_broken(engine);
  Progress now = known;
  WorkCompletion completion;
  const uint32_t position = group.rank();
  const uint64_t mine = head + position;
  const bool fresh = S == Sharing::thread || queue.is_new(word, head, position);
  if (fresh) {
    completion = Errors ? queue.template read<false>(word, mine) : queue.read_success(word, mine);
    if constexpr (Engine::Policy::completion_checks) {
      const bool ours = queue.is_about(q.shape.qpn, completion, word, mine);
      if (completion.kind != CompletionKind::nothing && !ours) completion.kind = CompletionKind::unknown;
    }
    if (completion.kind == CompletionKind::send) {
      now = Vendor::progress(q.shape, known, completion, [&](uint64_t offset) {
        return arch::load<arch::Scope::system>(
            reinterpret_cast<const uint32_t*>(static_cast<const char*>(q.sq) + offset));
      });
    }
  }
  // A completion of an operation that is not in flight, or of another queue pair: the device and the library disagree
  // on the queue's state. Lanes without an entry may have read `reserved` before the progress was made.
  bool strange = static_cast<int64_t>(now.units) > reserved;
  // These two counters count on from `known` and never decrease.
  const bool adds = !Errors && (completion.counts == Counter::next_unit || completion.counts == Counter::next_message);
  if (!adds) strange |= static_cast<int64_t>(now.units) < static_cast<int64_t>(known.units);
  if constexpr (Errors) {
    strange |= completion.kind == CompletionKind::unknown;
    strange |= completion.kind == CompletionKind::receive;
    // A failure of an operation that has already ended.
    bool again = !completion.status.is_ok();
    again &= completion.kind == CompletionKind::send;
    again &= now.units == known.units;
    strange |= again;
  }
  strange &= fresh;
  uint32_t taken = 1;
  if constexpr (S != Sharing::thread) {
    taken = group.leading(fresh && !strange);
  } else if constexpr (Errors) {
    taken = static_cast<uint32_t>(!strange);
  }
  const bool hit = (S == Sharing::thread && !Errors) || position < taken;
  if constexpr (!Errors) {
    if (group.any(fresh && (completion.kind != CompletionKind::send || strange))) return protocol::met_error;
  } else if (XIO_UNLIKELY(group.any(strange && position == taken))) {
    // The head does not advance over it.
    protocol::break_queue(engine, group);
    if (taken == 0) return 0;
  }
  const uint32_t newest = last_lane(group, hit);
  const uint64_t last = group.from_lane(now.units, newest);
  if (Errors && XIO_UNLIKELY(group.any(hit && !completion.status.is_ok()))) {
    const uint64_t failures =
        group.members(hit && completion.kind == CompletionKind::send && !completion.status.is_ok());
    if (failures != 0) record_failure(engine, group, failures, now.units, completion.status);
    if (group.any(hit && completion.kind == CompletionKind::ended)) record_end(engine, group, last);
  }

  QueueState& state = engine.state();
  SendState& send = engine.send();
  head += taken;
  group.converge();
  const auto unacknowledged = static_cast<uint32_t>(head - protocol::read<S>(state.acknowledged));
  // While fewer are unacknowledged than the ring has spare entries, `depth` operations in flight cannot overrun it.
  if (group.any(unacknowledged + q.depth >= queue.size - 1)) {
    group.before_writing();
    if (group.leads()) queue.template acknowledge<S>(head);
    protocol::write_by_leader(group, state.acknowledged, head);
  }
  protocol::write_by_leader(group, send.cq_head, head);
  if constexpr (Vendor::counts_operations) {
    protocol::write_by_leader(group, send.operations, group.from_lane(now.operations, newest));
  }
  if constexpr (is_shared<S>) {
    protocol::publish_by_leader(group, state.retired, last);
  } else {
    state.retired = last;
  }
  return taken;
}

/// Takes the entries that begin_drain() found. Returns how many.
/// @tparam Errors whether all kinds of entries are handled; if not, on queues that are not shared, it returns
///                protocol::met_error if an entry reports anything but success.
template <bool Errors, class Engine, class Reader, Sharing S>
XIO_DEVICE_INLINE uint32_t drain_ring(const Engine& engine, const Reader& queue, Group<S> group,
                                      const protocol::Found& found) {
  const uint64_t head = found.head;
  // Without this order, the rest of an entry could be loaded before its valid bit, and be stale.
  const uint64_t word = is_shared<S> ? queue.observe(head + group.rank()) : found.word;
  if constexpr (!is_shared<S>) arch::order_loads<arch::Scope::system>();
  const uint32_t taken = file<Errors>(engine, queue, group, head, word);
  if constexpr (is_shared<S>) {
    if (group.leads()) arch::publish<state_scope<S>>(&engine.state().draining, 0u);
  }
  return taken;
}

/// Whether a completion is available and the group may take it.
template <class Engine, class Reader, Sharing S>
XIO_DEVICE_INLINE bool begin_drain(const Engine& engine, const Reader& queue, Group<S> group, protocol::Found& found) {
  QueueState& state = engine.state();
  if (is_shared<S> && !protocol::claim_drain(state, group)) return false;
  const uint32_t position = group.rank();
  const uint64_t head = group.agreed(protocol::read<S>(engine.send().cq_head));
  found = {head, 0, nullptr};
  if (!is_shared<S> || position == 0) found.word = queue.look(is_shared<S> ? head : head + position);
  if (XIO_LIKELY(group.any(position == 0 && queue.is_new(found.word, head, 0)))) return true;
  if constexpr (is_shared<S>) protocol::leave_drain(state, group);
  return false;
}

/// begin_drain() of a collapsed completion queue.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE bool begin_collapsed(const Engine& engine, Group<S> group) {
  if constexpr (is_shared<S>) {
    if (!protocol::claim_drain(engine.state(), group)) return false;
    const CollapsedReader<typename Engine::Vendor, S> entry(engine.handle(), group);
    const uint64_t word = entry.look();
    const Progress known = known_now(engine);
    const uint64_t in_flight = protocol::claimed(engine) - known.units;
    if (group.any(group.leads() && entry.is_new(word, known, in_flight))) return true;
    protocol::leave_drain(engine.state(), group);
    return false;
  }
  return true;
}

/// Takes what the entry of a collapsed completion queue reports; returns 1 if it reported anything.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint32_t drain_collapsed(const Engine& engine, Group<S> group) {
  using Vendor = typename Engine::Vendor;
  QueueState& state = engine.state();
  SendState& send = engine.send();
  const CollapsedReader<Vendor, S> entry(engine.handle(), group);
  const Progress known = known_now(engine);
  const uint64_t in_flight = group.from_leader(protocol::claimed(engine) - known.units);
  const uint64_t word = entry.look();
  CollapsedNews news;
  if (entry.is_new(word, known, in_flight) && !group.any(protocol::read<S>(send.ended) != 0)) {
    news = entry.read(word, known, in_flight, Engine::Policy::completion_checks);
  }
  // All lanes have read the send ring before it may be written again.
  group.converge();
  if (news.kind == CompletionKind::ended) record_end(engine, group, known.units);
  if (news.kind == CompletionKind::send) {
    if (XIO_UNLIKELY(!news.status.is_ok())) record_failure(engine, group, group.mask(), news.failed_end, news.status);
    if constexpr (Vendor::counts_operations) protocol::write_by_leader(group, send.operations, news.now.operations);
    protocol::publish_by_leader(group, state.retired, news.now.units);
  }
  if constexpr (is_shared<S>) {
    if (group.leads()) arch::publish<state_scope<S>>(&state.draining, 0u);
  }
  if (XIO_UNLIKELY(news.kind == CompletionKind::unknown)) protocol::break_queue(engine, group);
  return news.kind != CompletionKind::nothing;
}

template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint32_t drain_here(const Engine& engine, Group<S> group);

/// drain_here() as one copy per kernel. Its parameters are single words, since these are passed in registers.
/// @param seen the result of begin_drain(); empty: drain_once() calls it
template <class Engine, class... Seen>
XIO_LEAF XIO_DEVICE uint32_t drain_once(QueueState* state, SendState* send, void* sq, const void* entries,
                                        const uint32_t* producer, uint32_t* record, void* doorbell, uint64_t cookie,
                                        uint32_t size, uint32_t number, uint32_t qpn, uint32_t units, uint32_t depth,
                                        Seen... seen) {
  QueuePairHandle q{};
  q.state = state;
  q.send = send;
  q.sq = sq;
  q.shape.qpn = qpn;
  q.shape.entries = units;
  q.depth = depth;
  q.cq = {entries, producer, record, doorbell, size, number, cookie};
  const Engine engine(q, 0);
  const auto group = engine.all_callers();
  if constexpr (sizeof...(seen) == 0) {
    return drain_here(engine, group);
  } else {
    return drain_ring<true>(engine, engine.cq(), group, protocol::Found{seen..., nullptr});
  }
}

template <class Engine, class... Seen>
XIO_DEVICE_INLINE uint32_t drain_out_of_line(const Engine& engine, Seen... seen) {
  const QueuePairHandle& q = engine.handle();
  return drain_once<Engine>(q.state, q.send, q.sq, q.cq.entries, q.cq.producer, q.cq.record, q.cq.doorbell, q.cq.cookie,
                            q.cq.size, q.cq.number, q.shape.qpn, q.shape.entries, q.depth, seen...);
}

/// Takes what begin_drain() found, an entry that reports anything but success among it.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE uint32_t drain_any(const Engine& engine, Group<S> group, protocol::Found found) {
  if constexpr (arch::calls_save_registers && Engine::stored_each_time) {
    return drain_out_of_line(engine, found.head, found.word);
  } else {
    return drain_ring<true>(engine, engine.cq(), group, found);
  }
}

template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint32_t drain_here(const Engine& engine, Group<S> group) {
  if constexpr (Engine::Vendor::has_collapsed_cq) {
    return XIO_LIKELY(begin_collapsed(engine, group)) ? drain_collapsed(engine, group) : 0;
  } else {
    const auto queue = engine.cq();
    protocol::Found found{};
    if (XIO_UNLIKELY(!begin_drain(engine, queue, group, found))) return 0;
    if constexpr (is_shared<S>) {
      return drain_ring<true>(engine, queue, group, found);
    } else {
      const uint32_t taken = drain_ring<false>(engine, queue, group, found);
      return XIO_UNLIKELY(taken == protocol::met_error) ? drain_any(engine, group, found) : taken;
    }
  }
}

/// SendEngine::drain().
template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint32_t drain(const Engine& engine, Group<S> group) {
  if (!protocol::nobody_drains(engine.state(), group)) return 0;
  if constexpr (arch::calls_save_registers && is_shared<S> && !Engine::Vendor::has_collapsed_cq) {
    return drain_out_of_line(engine);
  } else {
    return drain_here(engine, group);
  }
}
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE_INLINE uint32_t drain(const Engine& engine, Group<S> group, Telemetry& telemetry) {
  if constexpr (IsSame<Telemetry, telemetry::Off>::value) {
    return drain(engine, group);
  } else {
    const uint64_t started = Telemetry::start();
    const uint32_t taken = protocol::nobody_drains(engine.state(), group) ? drain_here(engine, group) : 0;
    telemetry.stop(telemetry::Step::cq_poll, started);
    return taken;
  }
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
