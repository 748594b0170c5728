// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Taking completions from a ring: poll, judge, record, acknowledge, advance. Independent of vendors.
///
/// One drain serves all completion rings. A *source* reads one kind of ring, a *sink* keeps what its entries report,
/// and an engine (claim.hpp) holds the counters. All lanes of a group drain together, each one entry.
///
/// | member of a source                         | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `uint64_t look(uint64_t index)`            | loads the word that shows whether the entry is new                 |
/// | `uint64_t observe(uint64_t index)`         | look(), which later loads of the entry follow                      |
/// | `bool is_new(word, head, position)`        | whether the entry `position` entries after the first unread one is |
/// | `uint32_t mask`                            | entries of the ring - 1                                            |
/// | `acknowledge(group, uint64_t head)`        | reports to the device how far its ring was read                    |
///
/// | member of a sink                           | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `judge<Errors>(source, group, word, …)`    | decodes the lane's entry; whether it is of no operation in flight  |
/// | `bool is_special(bool present)`            | whether the lane's entry, if present, needs a drain with `Errors`  |
/// | `record<Errors>(source, group, hit)`       | stores the results of the lanes whose entries are taken            |
/// | `look_ahead(source, group, head, taken)`   | if `looks_ahead`: finds out whether it goes on with those at `head` |
/// | `advance(group, uint64_t head)`            | counts entries before `head` as taken, after everything else, and  |
/// |                                            | lets other groups drain unless it goes on                          |
///
/// A sink lives for one drain. An engine has, in addition, `uint64_t cq_head()`, the index of the first unread entry,
/// and `retires_entries`: whether this is QueueState::retired.

#include <xio/device/queue/claim.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Whether a wait learns from its own drains what has ended: where each look acquires, a load takes long and registers
/// do not. On CPUs waits of shared queues do so too, so that searches of all schedules meet it; alone, a thread loads
/// faster than it remembers.
template <Sharing S>
constexpr bool knows_drains = arch::looks_acquire || (is_shared<S> && arch::loads_ahead);

/// Whether drains in the course of other calls are called. Where lanes come apart, one after the other would call.
template <Sharing S>
constexpr bool calls_drains = arch::calls_save_registers && (S != Sharing::thread || !arch::lanes_stay_together);

/// Result of a drain() without error handling that met an error and had no effect.
constexpr uint32_t met_error = ~0u;

/// Makes the group the only one that polls a shared queue for completions and takes them, if there is none yet and none
/// has taken any since the leader loaded `retired`, until it stores QueueState::retired without the bit or calls
/// leave_drain(). All lanes see what the previous group stored. Never waits.
/// @param retired QueueState::retired, without the bit; the leader's counts
template <Sharing S>
XIO_DEVICE_INLINE bool claim_drain(QueueState& state, Group<S> group, uint64_t retired) {
  const uint64_t taken = retired | draining_bit;
  bool claimed = false;
  // check: one group drains
  if (group.leads()) claimed = arch::compare_exchange_acquire<state_scope<S>>(&state.retired, retired, taken);
  if (!group.any(claimed)) return false;
  // Only the leader has acquired, and a vote orders nothing.
  group.converge();
  return true;
}

/// Releases what claim_drain() took, without another count.
template <Sharing S>
XIO_DEVICE_INLINE void leave_drain(QueueState& state, Group<S> group) {
  // The sum has no bit 64. A change of the word passes on what the previous group released; a store would not.
  if (group.leads()) arch::fetch_add<state_scope<S>>(&state.retired, draining_bit);
}

/// Result of begin_drain().
struct Found {
  uint64_t head;  ///< index of the first unread entry
  uint64_t word;  ///< word of the lane's entry
};

/// What a group saw of a queue before it drains: of a shared one the leader alone.
struct Glimpse {
  uint64_t retired = 0;  ///< shared queues: QueueState::retired
  uint64_t head = 0;     ///< first unread entry; of shared queues with arch::loads_ahead only, if not `retired`
};

/// Loads what begin_drain() needs first, so that it is under way together with other loads of the caller.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Glimpse glimpse(const Engine& engine, Group<S> group) {
  Glimpse seen;
  if constexpr (is_shared<S>) {
    if (group.leads()) {
      seen.retired = arch::load<state_scope<S>>(&engine.state().retired);
      if constexpr (arch::loads_ahead && !Engine::retires_entries) seen.head = engine.cq_head();
    }
  } else {
    seen.head = engine.cq_head();
  }
  return seen;
}

/// glimpse() where loads are made ahead; else of a shared queue nothing, and nobody_drains() loads it.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Glimpse glimpse_before_call(const Engine& engine, Group<S> group) {
  if constexpr (is_shared<S> && !arch::loads_ahead) {
    return {};
  } else {
    return glimpse(engine, group);
  }
}

/// Whether no group drains a shared queue, so that a claim_drain() is worthwhile. True for queues that are not shared.
/// @param seen glimpse_before_call(), which it completes
template <class Engine, Sharing S>
XIO_DEVICE_INLINE bool nobody_drains(const Engine& engine, Group<S> group, Glimpse& seen) {
  if constexpr (is_shared<S>) {
    if constexpr (!arch::loads_ahead) seen = glimpse(engine, group);
    const bool idle = (seen.retired & draining_bit) == 0;  // check: nobody drains
    return group.any(group.leads() && idle);
  }
  return true;
}

/// begin_drain() of a shared queue.
template <class Engine, class Source, Sharing S>
XIO_DEVICE_INLINE bool begin_shared_drain(const Engine& engine, const Source& source, Group<S> group,
                                          const Glimpse& seen, uint32_t looks, Found& found) {
  if (!claim_drain(engine.state(), group, seen.retired)) return false;
  if constexpr (Engine::retires_entries || !arch::loads_ahead) {
    // The claim found the count as it was seen; other heads may be older.
    const uint64_t head = group.from_leader(Engine::retires_entries ? seen.retired : engine.cq_head());
    do {
      found = {head, source.observe(head + group.rank())};  // order: valid bit before rest
      if (XIO_LIKELY(group.any(group.leads() && source.is_new(found.word, head, 0)))) return true;
    } while (--looks != 0);
  } else {
    for (uint64_t head = group.from_leader(seen.head);;) {
      // Under way with the looks, which are at the wrong place if another group drained between the glimpse and the
      // claim.
      const uint64_t now = engine.cq_head();
      found = {head, source.observe(head + group.rank())};  // order: valid bit before rest
      const bool current = now == head;                     // check: the head as the claim found it
      if (XIO_LIKELY(group.any(group.leads() && current && source.is_new(found.word, head, 0)))) return true;
      if (group.any(group.leads() && current) && --looks == 0) break;
      head = group.from_leader(now);
    }
  }
  leave_drain(engine.state(), group);
  return false;
}

/// Whether a completion is available and the group may take it. Only one group at a time polls a shared queue, since
/// its completions may be in distant memory.
/// @param seen a glimpse() of the group, after which it has not drained; of a shared queue, nobody_drains()
/// @param looks how often the group may look; at least once
template <class Engine, class Source, Sharing S>
XIO_DEVICE_INLINE bool begin_drain(const Engine& engine, const Source& source, Group<S> group, const Glimpse& seen,
                                   uint32_t looks, Found& found) {
  if constexpr (is_shared<S>) {
    return begin_shared_drain(engine, source, group, seen, looks, found);
  } else {
    const uint64_t index = seen.head + group.rank();
    do {
      // order: valid bit before rest
      found = {seen.head, arch::looks_acquire ? source.observe(index) : source.look(index)};
      if (XIO_LIKELY(group.any(group.rank() == 0 && source.is_new(found.word, seen.head, 0)))) return true;
    } while (--looks != 0);
    return false;
  }
}
template <class Engine, class Source, Sharing S>
XIO_DEVICE_INLINE bool begin_drain(const Engine& engine, const Source& source, Group<S> group, Found& found) {
  return begin_drain(engine, source, group, glimpse(engine, group), 1, found);
}

/// Takes the available completions, at most one per lane of `group`; after begin_drain(). Returns how many were taken.
/// @tparam Errors whether failed operations are handled; if not, on queues that are not shared, it returns met_error.
template <bool Errors, class Engine, class Source, class Sink, Sharing S>
XIO_DEVICE_INLINE uint32_t drain(const Engine& engine, const Source& source, Sink& sink, Group<S> group,
                                 const Found& found) {
  static_assert(Errors || !is_shared<S>, "a shared queue must have been claimed");
  // 1. Read. Without this order, the rest of an entry could be loaded before its valid bit, and be stale.
  const uint32_t position = group.rank();
  const uint64_t mine = found.head + position;
  const uint64_t word = found.word;
  // order: valid bit before rest
  if constexpr (!is_shared<S> && !arch::looks_acquire) arch::order_loads<arch::Scope::system>();
  const bool fresh = S == Sharing::thread || source.is_new(word, found.head, position);

  QueueState& state = engine.state();
  // Under way with what judge() loads, where a register is not worth more. Only a drain changes it.
  constexpr bool early = S != Sharing::thread || !arch::branches_are_cheap;
  const uint64_t acknowledged = early ? read<S>(state.acknowledged) : 0;
  // In a scalar register: clang 19 restores a vector register in some lanes only, and the others go on with 0.
  const uint32_t depth = S != Sharing::thread ? arch::uniform(engine.depth()) : 0;

  // 2. Judge. Only consecutive entries from the head are taken: a device may write entries of one lap in any order.
  const bool stray = sink.template judge<Errors>(source, group, word, mine, fresh);
  uint32_t taken = 1;
  if constexpr (S != Sharing::thread) {
    taken = group.leading(fresh && !stray);  // bound: completions in a row
  } else if constexpr (Errors) {
    taken = static_cast<uint32_t>(!stray);  // check: not a stray one
  }
  const bool hit = (S == Sharing::thread && !Errors) || position < taken;
  if constexpr (!Errors) {
    if (XIO_UNLIKELY(group.any(stray || sink.is_special(fresh)))) return met_error;
  } else if (XIO_UNLIKELY(group.any(stray && position == taken))) {
    // A completion of no operation in flight: the device and the library disagree on the queue's state. The head does
    // not advance over it.
    break_queue(engine, group);
  }

  const uint64_t head = found.head + taken;
  if (!Errors || taken != 0) {
    // 3. Record. All entries are read and all results stored before any of them is counted.
    sink.template record<Errors>(source, group, hit);
    group.converge();

    // 4. Acknowledge. While fewer entries are unacknowledged than the ring has to spare, `depth` operations in flight
    // cannot overrun it.
    const auto unacknowledged = static_cast<uint32_t>(head - (early ? acknowledged : read<S>(state.acknowledged)));
    // bound: unacknowledged completions
    if (group.any(unacknowledged + (S != Sharing::thread ? depth : engine.depth()) >= source.mask)) {
      group.before_writing();
      source.acknowledge(group, head);
      if constexpr (is_shared<S>) {
        // order: head before count
        if (group.leads()) arch::store<state_scope<S>>(&state.acknowledged, head);
      } else {
        state.acknowledged = head;
      }
    }

    if constexpr (Sink::looks_ahead) sink.look_ahead(source, group, head, taken);
  }

  // 5. Advance, and let other groups drain.
  sink.advance(group, head);
  return taken;
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
