// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Posting of NVMe commands: check, claim, build, store, publish, ring. Functions of a QueueEngine and of the
/// group of lanes that call.

#include <xio/device/core/com.hpp>
#include <xio/device/nvme/check.hpp>
#include <xio/device/nvme/engine.hpp>
#include <xio/device/nvme/outcome.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// One call of Queue::submit().
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

/// The command, for the queue's namespace unless it names one.
XIO_DEVICE_INLINE Command of_queue(Command command, const QueueHandle& q) {
  return command.nsid(command.namespace_id ? command.namespace_id : q.nsid);
}

/// Command identifier of an operation. Sets its notification before the device can know of the operation.
template <class Engine>
XIO_DEVICE_INLINE uint32_t identify(const Engine& engine, uint64_t ticket, [[maybe_unused]] Notification* notified) {
  const QueueHandle& q = engine.handle();
  const uint32_t slot = ring::slot(ticket, q.slot_mask);
  if constexpr (Engine::Policy::notifications) {
    if (notified != nullptr) {
      auto& target = reinterpret_cast<uint64_t&>(q.notifications[slot]);
      protocol::write<Engine::sharing>(target, reinterpret_cast<uint64_t>(notified));
      return slot | notified_bit;
    }
  }
  return slot;
}

/// The entry of a command; of a split command, entry number `part`.
template <class Engine, class Pages>
XIO_DEVICE_INLINE Sqe build_entry(const Engine& engine, const Command& command, const Pages& pages, bool split,
                                  uint32_t part, uint64_t ticket, Notification* notified) {
  const QueueHandle& q = engine.handle();
  Command piece = command;
  uint64_t offset = 0;
  if (XIO_UNLIKELY(split)) {
    const uint32_t longest = most_blocks(command, q);
    const uint32_t first = part * longest;
    const uint32_t rest = command.blocks() - first;
    piece = command.piece(first, rest < longest ? rest : longest);
    offset = uint64_t{first} << q.block_shift;
    if constexpr (Engine::Policy::notifications) notified = of_part(notified, rest <= longest ? part + 1 : 0);
  }
  DataPointer data = Engine::Transport::no_data();
  if (has_data<Pages>(piece)) {
    (void)point(pages, offset, static_cast<uint32_t>(data_bytes(piece, q.block_shift)), q.page_shift,
                Engine::Transport::template list<Engine::Policy::argument_checks>(engine, ticket, true), data);
  }
  return encode(of_queue(piece, q), identify(engine, ticket, notified), data);
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
  Engine::Transport::store(engine, group, storing, ticket);
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
    // order: loads as written. The leader has seen that they ended, but not with which status.
    arch::order_loads<state_scope<S>>();
    group.converge();
  }
  const Status status = outcome(engine, engine.table(), group, before, before.count);
  if (ended) token.status = status;
  return token;
}

/// Builds an entry and stores it.
/// @param split, part as of build_entry()
template <class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE void post_entry(const Engine& engine, Group<S> group, bool served, uint64_t storing, const Call& call,
                                  bool split, uint32_t part, uint64_t ticket) {
  // 3. Build.
  uint64_t started = Call::Meter::start();
  Sqe entry;  // lanes that store none need no value
  if (served) entry = build_entry(engine, call.command, call.pages, split, part, ticket, call.notification);
  call.telemetry.stop(telemetry::Step::build, started);
  // 4. Store.
  started = Call::Meter::start();
  store_entries(engine, group, storing, entry, ticket);
  call.telemetry.stop(telemetry::Step::enqueue, started);
}

/// Publishes and rings.
template <class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE void publish_measured(const Engine& engine, Group<S> group, const protocol::Claim& claim,
                                        const Call& call) {
  // 5. Publish. 6. Ring.
  const uint64_t started = Call::Meter::start();
  protocol::publish(engine, group, claim);
  call.telemetry.stop(telemetry::Step::sq_doorbell, started);
}

/// Posts the checked command of each lane as `left` entries and returns a new token; lanes with none assist and keep
/// `token`. All lanes stay until the last one is served, since a queue of one wave is used by all its lanes together.
/// @tparam Split whether commands of several entries are possible, and `split` whether there are any: these are served
///               one after the other, before all others together.
template <bool Split, class Engine, Sharing S, class Call>
XIO_DEVICE_INLINE Token post(const Engine& engine, Group<S> group, uint32_t left, bool split, const Call& call,
                             Token token) {
  uint32_t done = 0;
  for (uint64_t pending = group.members(left != 0); pending != 0; pending = group.members(left != 0)) {
    Round round{pending, 1, arch::count_lanes(pending), 1};
    if (Split && XIO_UNLIKELY(split)) split = serve_split(engine, group, left, done, round);
    // 2. Claim.
    const protocol::Claim claim =
        protocol::claim_until(engine, group, protocol::begin_claim(engine), round.wanted, round.least, call.until);
    if (XIO_UNLIKELY(claim.count == 0)) {
      const Status why = engine.template refusal<typename Call::Until>(group);
      if (Group<S>::has(round.lanes)) {
        token.status = why;
        left = 0;
      }
      continue;
    }
    const uint32_t position = Group<S>::rank_in(round.lanes);
    const uint64_t ticket = claim.first + position;
    const bool served = Group<S>::has(round.lanes) && position < claim.count;
    const uint64_t storing = group.members(served);
    // check: first parts of a long command
    if (Split && XIO_UNLIKELY(split)) token = with_status(engine, group, served && done != 0, token);
    uint32_t i = 0;
    do {
      post_entry(engine, group, served, storing, call, Split && split, done + i, ticket + i);
    } while (Split && XIO_UNLIKELY(++i < round.each));
    publish_measured(engine, group, claim, call);
    if (served) {
      token.last = ticket;
      token.count = round.each;
      left -= round.each;
      if (Split && XIO_UNLIKELY(split)) {
        token.last += round.each - 1;
        done += round.each;
      }
    }
  }
  group.converge();
  return token;
}

/// post() of a lane that has the queue for itself.
/// @tparam Split whether a command of several `entries` is possible
template <bool Split, class Engine, class Call>
XIO_DEVICE_INLINE Token post_alone(const Engine& engine, Group<Sharing::thread> group, uint32_t entries,
                                   const Call& call, Token token) {
  const uint32_t depth = engine.depth();
  uint32_t left = entries;
  do {
    const bool again = Split && left != entries;
    const uint32_t row = !Split ? 1 : left < depth ? left : depth;
    // 2. Claim. If the whole depth is free, everything submitted before has ended.
    protocol::Claim claim = protocol::claim_until<Split>(engine, group, protocol::begin_claim(engine), row,
                                                         again ? depth : row, call.until);
    if (XIO_UNLIKELY(claim.count == 0)) {
      token.status = engine.template refusal<typename Call::Until>(group);
      break;
    }
    if (XIO_UNLIKELY(again)) token = with_status(engine, group, true, token);
    uint64_t ticket = arch::per_lane(claim.first);
    const uint32_t rest = left - row;
    do {
      post_entry(engine, group, true, 1, call, Split && entries != 1, entries - left, ticket);
      ++ticket;
      --left;
    } while (Split && XIO_UNLIKELY(left != rest));
    if constexpr (Engine::stored_each_time) claim.first = ticket - row;
    claim.count = row;
    publish_measured(engine, group, claim, call);
    token.last = ticket - 1;
    token.count = row;
  } while (Split && XIO_UNLIKELY(left != 0));
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
    token.status = check(q, command, call.pages, Engine::Transport::rehearsed(q, q.lists ? q.list_bytes : 0));
    // check: data in GPU memory, of commands
    if (!is_placed<typename Engine::Policy>(call.pages)) token.status = Status::unsupported;
    if (!Engine::Transport::admits(command)) token.status = Status::unsupported;
    // check: command set
    if (!is_offered<typename Engine::Policy>(command, q)) token.status = Status::unsupported;
    entries = token.status.is_ok() ? 1 : 0;
    const bool split = group.any(token.status.is_ok() && is_long(q, command));
    if (XIO_UNLIKELY(split)) {
      if (token.status.is_ok() && is_long(q, command)) {
        // A division takes more code, and no entry fewer instructions to be posted than here.
        const uint32_t longest = most_blocks(command, q);
        for (uint32_t blocks = command.blocks(); blocks > longest; blocks -= longest) ++entries;
      }
      // Without a deadline there is no wait between entries: all of them are submitted together, or none.
      if (IsSame<typename Call::Until, Now>::value && entries > q.depth) {
        token = Token::refused(Status::invalid_argument);
        entries = 0;
      }
    }
    if constexpr (S == Sharing::thread) {
      return entries == 0 ? token : post_alone<true>(engine, group, entries, call, token);
    } else {
      return post<true>(engine, group, entries, split, call, token);
    }
  } else if (!knows_size<typename Call::Data>(q, command)) {
    // Without checks too, the data size must be known.
    token = Token::refused(Status::invalid_argument);
    entries = 0;
  }
  if constexpr (S == Sharing::thread) {
    return entries == 0 ? token : post_alone<false>(engine, group, entries, call, token);
  } else {
    return post<false>(engine, group, entries, false, call, token);
  }
}

/// submit_any() for commands that post_plain() does not post.
template <class Engine, class Call>
XIO_COLD XIO_DEVICE Token submit_elsewhere(const Engine& engine, const Call& call) {
  return submit_any(engine, Group<Engine::sharing>(1), call);
}

/// Posts a plain command, unless there is no room for it now or its data needs a list: then it returns false. One
/// straight path, of a lane that has the queue for itself.
template <class Engine, class Call>
XIO_DEVICE_INLINE bool post_plain(const Engine& engine, Group<Sharing::thread> group, const Call& call, Token& token) {
  const QueueHandle& q = engine.handle();
  const Command& command = call.command;
  // 1. Check.
  if (!is_plain(q, command, call.pages) || !is_placed<typename Engine::Policy>(call.pages)) return false;
  if (!Engine::Transport::admits(command)) return false;
  DataPointer data = Engine::Transport::no_data();
  if (has_data<typename Call::Data>(command)) {
    const auto bytes = static_cast<uint32_t>(data_bytes(command, q.block_shift));
    // check: no list
    if (!point(call.pages, 0, bytes, q.page_shift, Engine::Transport::short_list(q), data).is_ok()) return false;
  }
  // 2. Claim.
  protocol::Claim claim = protocol::claim_now(engine, group, protocol::begin_claim(engine), 1, 1);
  if (claim.count == 0) return false;
  const uint64_t ticket = arch::per_lane(claim.first);
  claim.count = 1;
  if constexpr (Engine::stored_each_time) claim.first = ticket;
  // 3. Build.
  uint64_t started = Call::Meter::start();
  const Sqe entry = encode(of_queue(command, q), identify(engine, ticket, call.notification), data);
  call.telemetry.stop(telemetry::Step::build, started);
  // 4. Store.
  started = Call::Meter::start();
  store_entries(engine, group, 1, entry, ticket);
  call.telemetry.stop(telemetry::Step::enqueue, started);
  publish_measured(engine, group, claim, call);
  token.last = ticket;
  token.count = 1;
  return true;
}

/// Queue::submit(): checks and posts the command of each lane of `group`.
template <class Engine, Sharing S, class Pages, class Until, class Telemetry>
XIO_DEVICE_INLINE Token submit(const Engine& engine, Group<S> group, const Command& command, const Pages& pages,
                               Until until, Notification* notification, Telemetry& telemetry) {
  using Call = Submission<Pages, Until, Telemetry>;
  // check: queue in GPU memory, of commands
  if (!is_placed_for<typename Engine::Policy>(engine.handle().gpu_memory)) return Token::refused(Status::unsupported);
  // Commands without blocks are not plain.
  if constexpr (Engine::Policy::argument_checks && S == Sharing::thread && !Engine::Policy::key_values) {
    Token token;
    if (XIO_LIKELY(post_plain(engine, group, Call{command, pages, until, notification, telemetry}, token)))
      return token;
    // A copy: an object whose address is passed to a call is not kept in registers.
    const Command other = command;
    return submit_elsewhere(engine, Call{other, pages, until, notification, telemetry});
  } else {
    return submit_any(engine, group, Call{command, pages, until, notification, telemetry});
  }
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
