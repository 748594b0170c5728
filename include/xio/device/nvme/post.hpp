// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Posting of NVMe commands: check, claim, build, store, publish, ring. Functions of a QueueEngine and of the
/// group of lanes that call.

#include <xio/device/core/com.hpp>
#include <xio/device/nvme/check.hpp>
#include <xio/device/nvme/engine.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// One call of BasicQueue::submit().
template <class Pages, class UntilType, class Telemetry>
struct Submission {
  using Data = Pages;
  using Until = UntilType;
  using Meter = Telemetry;
  const Command& command;
  const Pages& pages;
  Until until;
  Notification* notification;
  Telemetry& telemetry;
};

/// List memory of a ticket's slot; empty unless `usable`.
/// @tparam Fits whether the list is known to fit
template <bool Fits, class Engine>
XIO_DEVICE_INLINE PublishedList<typename Engine::Policy, Engine::sharing != Sharing::thread, Fits> list_of(
    const Engine& engine, uint64_t ticket, bool usable) {
  const QueueHandle& q = engine.handle();
  const uint64_t at = uint64_t{ring::slot(ticket, q.slot_mask)} * q.list_bytes;  // 0 without lists
  return {q.lists + at / sizeof(uint64_t), q.lists_bus + at, usable ? q.list_bytes : 0};
}

/// The entry of a command; of a split command, entry number `part`.
template <class Engine, class Pages>
XIO_DEVICE_INLINE Sqe build_entry(const Engine& engine, const Command& command, const Pages& pages, bool split,
                                  uint32_t part, uint64_t ticket) {
  const QueueHandle& q = engine.handle();
  Command piece = command;
  uint64_t offset = 0;
  if (XIO_UNLIKELY(split)) {
    const uint32_t longest = most_blocks(command, q);
    const uint32_t first = part * longest;
    const uint32_t rest = command.blocks() - first;
    piece = command.piece(first, rest < longest ? rest : longest);
    offset = uint64_t{first} << q.block_shift;
  }
  DataPointer data;
  if (has_data<Pages>(piece)) {
    (void)point(pages, offset, static_cast<uint32_t>(data_bytes(piece, q.block_shift)), q.page_shift,
                list_of<Engine::Policy::argument_checks>(engine, ticket, true), data);
  }
  return encode(piece.nsid(piece.namespace_id ? piece.namespace_id : q.nsid), ring::slot(ticket, q.slot_mask), data);
}

/// Sets the notification of an operation before the device can know of the operation.
template <class Engine>
XIO_DEVICE_INLINE void set_notification(const Engine& engine, uint64_t ticket, Notification* notification) {
  if constexpr (Engine::Policy::notifications) {
    auto& target = reinterpret_cast<uint64_t&>(engine.handle().notifications[ticket & engine.handle().slot_mask]);
    protocol::write<Engine::sharing>(target, reinterpret_cast<uint64_t>(notification));
  }
}

/// Stores the entries of the lanes `storing`; the other lanes assist.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void store_entries(const Engine& engine, Group<S> group, uint64_t storing, const Sqe& entry,
                                     uint64_t ticket) {
  using Policy = typename Engine::Policy;
  constexpr bool through = Policy::publication == Publication::write_through;
  using Wide = typename Choose<through, store::Through, store::Stream>::type;
  // Narrow stores are always written through.
  using How = typename Choose<Policy::narrow_slots, store::Narrow, Wide>::type;
  const QueueHandle& q = engine.handle();
  if constexpr (S == Sharing::thread) {
    XioComEnqueue<How>(entry, q.sq, ring::slot(ticket, q.sq_mask));
  } else {
    enqueue_wave<How>(group.mask(), storing, entry, q.sq, ring::slot(ticket, q.sq_mask));
  }
}

/// What a group posts with one claim: one entry per lane, or the next entries of one lane's split command.
struct Round {
  uint64_t lanes;   ///< lanes with entries in it
  uint32_t each;    ///< entries of each of these lanes
  uint32_t wanted;  ///< entries of all of them
  uint32_t least;   ///< number of entries that must fit in the queue
};

/// Makes the round serve the first lane whose command is split. Returns false if there is none.
/// @param left,done entries of the calling lane's command: not yet posted, and posted
template <class Engine, Sharing S>
XIO_DEVICE_INLINE bool serve_split(const Engine& engine, Group<S> group, uint32_t left, uint32_t done, Round& round) {
  const uint64_t owners = group.members(left > 1 || (left != 0 && done != 0));
  if (owners == 0) return false;
  const uint32_t depth = engine.depth();
  const uint32_t owner = arch::first_lane(owners);
  const uint32_t all = group.from_lane(left, owner);
  round.lanes = owners & (0 - owners);
  round.wanted = round.each = all < depth ? all : depth;
  // If the whole depth is free, everything submitted before has ended.
  round.least = group.from_lane(done, owner) != 0 ? depth : round.wanted;
  return true;
}

/// The tokens of lanes that have `ended`, with the status of their operations: the first error wins.
template <class Engine, Sharing S>
XIO_DEVICE Token with_status(const Engine& engine, Group<S> group, bool ended, Token token) {
  Token before = token;
  if (!ended) before.count = 0;
  if constexpr (is_shared<S>) {
    // The leader has seen that they ended, but not with which status.
    arch::order_loads<state_scope<S>>();
    group.converge();
  }
  const Status status =
      protocol::outcome<CompletionFormat>(engine.state(), engine.completions(), group, before, before.count);
  if (ended) token.status = status;
  return token;
}

/// Posts the checked command of each lane as `left` entries and returns a new token; lanes with none assist and keep
/// `token`. All lanes stay until the last one is served, since a queue of one wave is used by all its lanes together.
/// @tparam Split whether commands of several entries are possible, and `split` whether there are any: these are served
///               one after the other, before all others together.
template <bool Split, class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE Token post(const Engine& engine, Group<S> group, uint32_t left, bool split, const Call& call,
                             Token token) {
  constexpr bool single = S == Sharing::thread && !Split;
  uint32_t done = 0;
  for (uint64_t pending = group.members(left != 0); pending != 0; pending = group.members(left != 0)) {
    Round round{pending, 1, S == Sharing::thread ? 1 : arch::count_lanes(pending), 1};
    if (Split && XIO_UNLIKELY(split)) split = serve_split(engine, group, left, done, round);
    // 2. Claim.
    protocol::Claim claim = protocol::claim_until(engine, group, round.wanted, round.least, call.until);
    if (XIO_UNLIKELY(claim.count == 0)) {
      const Status why = engine.template refusal<typename Call::Until>(group);
      if (Group<S>::has(round.lanes)) {
        token.status = why;
        left = 0;
      }
      if constexpr (single) return token;
      continue;
    }
    const uint32_t position = Group<S>::rank_in(round.lanes);
    uint64_t ticket = claim.first + position;
    if constexpr (S == Sharing::thread) ticket = arch::per_lane(ticket);
    if constexpr (single) claim.count = 1;
    if constexpr (S == Sharing::thread && Engine::stored_each_time) claim.first = ticket;
    const bool served = Group<S>::has(round.lanes) && position < claim.count;
    const uint64_t storing = group.members(served);
    if (Split && XIO_UNLIKELY(split)) token = with_status(engine, group, served && done != 0, token);
    uint32_t i = 0;
    do {
      // 3. Build.
      uint64_t started = Call::Meter::start();
      Sqe entry;  // lanes that store none need no value
      if (served) {
        entry = build_entry(engine, call.command, call.pages, Split && split, done + i, ticket + i);
        set_notification(engine, ticket + i, call.notification);
      }
      call.telemetry.stop(telemetry::Step::build, started);
      // 4. Store.
      started = Call::Meter::start();
      store_entries(engine, group, storing, entry, ticket + i);
      call.telemetry.stop(telemetry::Step::enqueue, started);
    } while (Split && XIO_UNLIKELY(++i < round.each));
    // 5. Publish. 6. Ring.
    const uint64_t started = Call::Meter::start();
    protocol::publish(engine, group, claim);
    call.telemetry.stop(telemetry::Step::sq_doorbell, started);
    if (served) {
      token.last = ticket;
      token.count = round.each;
      left -= round.each;
      if (Split && XIO_UNLIKELY(split)) {
        token.last += round.each - 1;
        done += round.each;
      }
    }
    if constexpr (single) return token;
  }
  group.converge();
  return token;
}

/// Checks and posts any command.
template <class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE Token submit_any(const Engine& engine, Group<S> group, const Call& call) {
  const QueueHandle& q = engine.handle();
  const Command& command = call.command;
  Token token;
  uint32_t entries = 1;
  if constexpr (Engine::Policy::argument_checks) {
    // 1. Check. The other steps follow in post().
    token.status = check<(S == Sharing::thread)>(q, command, call.pages);
    entries = token.status.is_ok() ? 1 : 0;
    const bool split = group.any(token.status.is_ok() && is_long(q, command));
    if (XIO_UNLIKELY(split)) {
      if (token.status.is_ok() && is_long(q, command)) {
        entries = (command.blocks() - 1) / most_blocks(command, q) + 1;
      }
      // Without a deadline there is no wait between entries: all of them are submitted together, or none.
      if (IsSame<typename Call::Until, Now>::value && entries > q.depth) {
        token = Token::refused(Status::invalid_argument);
        entries = 0;
      }
    }
    if constexpr (S == Sharing::thread) {
      // Lanes that each execute the loop alone pay for every branch in it.
      if (XIO_LIKELY(!split)) return post<false>(engine, group, entries, false, call, token);
    }
    return post<true>(engine, group, entries, split, call, token);
  } else if (!is_told<typename Call::Data>(q, command)) {
    // Without checks too, the data size must be known.
    token = Token::refused(Status::invalid_argument);
    entries = 0;
  }
  return post<false>(engine, group, entries, false, call, token);
}

/// submit_any() without forced inlining, for commands that are refused or split.
template <class Engine, class Call>
XIO_DEVICE Token submit_elsewhere(const Engine& engine, const Call& call) {
  return submit_any(engine, Group<Engine::sharing>(1), call);
}

/// submit() where calls are cheap and branches are not divergent: plain commands take a path of their own.
template <class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE Token submit_plain(const Engine& engine, Group<S> group, const Call& call) {
  using Pages = typename Call::Data;
  const QueueHandle& q = engine.handle();
  const Command& command = call.command;
  if (XIO_UNLIKELY(!is_plain(q, command, call.pages))) {
    // A copy: an object whose address is passed to a call is not kept in registers.
    const Command other = command;
    return submit_elsewhere(engine, Call{other, call.pages, call.until, call.notification, call.telemetry});
  }
  const auto bytes = static_cast<uint32_t>(data_bytes(command, q.block_shift));
  Prepared<Pages> prepared{call.pages, {}, false};
  if (has_data<Pages>(command) &&
      XIO_UNLIKELY(!point(call.pages, 0, bytes, q.page_shift, NoList{}, prepared.data).is_ok())) {
    prepared.needs_list = true;
    DataPointer ignored;
    const RehearsedList list{q.lists_bus, q.lists ? q.list_bytes : 0};
    const Status fault = point(call.pages, 0, bytes, q.page_shift, list, ignored);
    if (XIO_UNLIKELY(!fault.is_ok())) return Token::refused(fault);
  }
  using Ready = Submission<Prepared<Pages>, typename Call::Until, typename Call::Meter>;
  return post<false>(engine, group, 1, false, Ready{command, prepared, call.until, call.notification, call.telemetry},
                     Token());
}

/// BasicQueue::submit(): checks and posts the command of each lane of `group`.
template <class Engine, Sharing S, class Pages, class Until, class Telemetry>
XIO_DEVICE_INLINE Token submit(const Engine& engine, Group<S> group, const Command& command, const Pages& pages,
                               Until until, Notification* notification, Telemetry& telemetry) {
  const Submission<Pages, Until, Telemetry> call{command, pages, until, notification, telemetry};
  if constexpr (arch::calls_are_cheap && Engine::Policy::argument_checks && S == Sharing::thread) {
    return submit_plain(engine, group, call);
  } else {
    return submit_any(engine, group, call);
  }
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
