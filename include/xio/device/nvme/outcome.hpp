// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waiting until operations have ended, and their statuses.

#include <xio/device/nvme/completion_table.hpp>
#include <xio/device/queue/agree.hpp>
#include <xio/device/queue/drain.hpp>
#include <xio/device/queue/tail.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Result of operations that have ended, of which some need more than a check of their slots: they failed, or ended
/// long ago.
struct Collected {
  uint32_t first;  ///< first status that is not success, packed; 0: none
  uint32_t seen;   ///< errors that no caller had waited for before
};

/// Collects the results of `count` tickets, at least one, starting at `ticket`, all of which have ended. Each lane that
/// acts does so for itself.
/// @param state if not null, its count of errors is reduced; otherwise the caller does that
/// @tparam Counts whether `state` is given
template <Sharing S, bool Counts>
XIO_LEAF XIO_DEVICE Collected collect([[maybe_unused]] QueueState* state, CompletionSlot* slots, FailureLog* log,
                                      uint32_t slot_mask, uint64_t ticket, uint32_t count, Actors<S> each) {
  slots = arch::in_global(slots);
  Collected all{0, 0};
  bool more = each.acts();
  while (each.go_on(more)) {
    uint64_t word = 0;
    uint64_t* where = &ring::element(slots, slot_mask, ticket).word;
    const bool replaced = more && look_up<S>(slots, slot_mask, ticket, word) == Outcome::replaced;
    let_act(each, replaced, [&](Actors<S> one) XIO_INLINE_LAMBDA {
      const OnRecord found = find_failure<S>(log, ticket, one);
      if (replaced) word = found.word;
      if (replaced) where = found.where;
    });
    if (!more) continue;
    const auto status = static_cast<uint32_t>(word & 0x7fff);
    const bool failed = CompletionFormat::is_error(status);
    if (failed && (word & seen_bit) == 0) {
      if (!mark_seen<S>(where, word)) continue;  // it has changed since
      ++all.seen;
    }
    // A success can carry further bits.
    const uint32_t now = word == not_on_record ? static_cast<uint32_t>(not_on_record) : status;
    // check: the first error
    if (!CompletionFormat::is_error(all.first) && (failed || (now != 0 && all.first != not_on_record))) all.first = now;
    more = --count != 0;
    ticket += more;
  }
  if constexpr (is_shared<S>) {
    if (each.acts()) arch::fetch_add<state_scope<S>>(&state->error_count, 0u - all.seen);
  } else if constexpr (Counts) {
    arch::in_global(state)->error_count -= all.seen;
  }
  Status first = CompletionFormat::decode(static_cast<uint16_t>(all.first));
  if (all.first == not_on_record) first = Status(Status::expired);
  // In the last lap that the table can count (QueueHandle::slots), has_ended() is true of everything.
  if (lap_end(ticket, slot_mask) >> 48 != 0) first = Status(Status::broken);
  all.first = protocol::pack(first);
  return all;
}

/// Status of the first `ended` operations of each lane's token, which have ended: the first error wins. All lanes of
/// `group` call; one that is alone, with at least one operation. The errors count as waited for.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status outcome(const Engine& engine, const CompletionTable& table, Group<S> group, const Token& token,
                                 uint32_t ended) {
  QueueState& state = engine.state();
  // The lanes of a wave reduce the count together, and a state in registers is not passed to a function.
  constexpr bool counts = is_shared<S> || (S == Sharing::thread && Engine::stored_each_time);
  Collected all{0, 0};
  let_act(group, S == Sharing::thread || ended != 0, [&](Actors<S> each) XIO_INLINE_LAMBDA {
    all = collect<S, counts>(counts ? &state : nullptr, table.slots, table.failures, table.slot_mask,
                             token.last + 1 - token.count, ended, each);
  });
  if constexpr (S == Sharing::wave) {
    for (uint64_t lanes = group.members(all.seen != 0); lanes != 0; lanes = group.members(all.seen != 0)) {
      add_errors<S>(state, group, 0u - arch::count_lanes(lanes));
      if (all.seen != 0) --all.seen;
    }
  } else if constexpr (!counts) {
    add_errors<S>(state, group, 0u - all.seen);
  }
  return token.status.is_ok() && all.first != 0 ? protocol::unpack(all.first) : token.status;
}

/// Announces deferred entries, then waits until everything that `token` denotes has ended. All lanes of `group` call,
/// each with its own token.
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE Status wait_completed(const Engine& engine, Group<S> group, const Token& token, Deadline until,
                                 Telemetry& telemetry) {
  engine.ring(group);  // order: doorbell before waiting
  const CompletionTable table = engine.table();
  QueueState& state = engine.state();
  protocol::Glimpse seen;
  bool changes = true;  // whether completions may have been taken that the lane does not know of
  uint32_t bad = 0;     // not 0: some failed, or ended long ago
  uint32_t left = token.count;
  const Actors<S> each(group, true);
  uint32_t given_up = 0;  // Status::Code of the reason
  for (uint32_t round = 0;; ++round) {
    if constexpr (protocol::knows_drains<S>) {
      if (changes) seen = engine.glimpse(group);
    }
    if constexpr (arch::branches_are_cheap) {
      while (left != 0 && has_ended<S>(table.slots, table.slot_mask, token.last + 1 - left, bad)) --left;
    } else {
      // One exit: for each, a wave keeps the lanes that took it.
      for (bool more = static_cast<int>(changes) & static_cast<int>(left != 0); each.go_on(more);) {
        bool ended = false;
        if (more) ended = has_ended<S>(table.slots, table.slot_mask, token.last + 1 - left, bad);
        left -= static_cast<uint32_t>(ended);
        more = static_cast<int>(ended) & static_cast<int>(left != 0);
      }
    }
    if (!group.any(static_cast<int>(left != 0) & static_cast<int>(given_up == 0))) break;
    // Read before the drain: completions that arrived while the waiter was not running are still taken.
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      if (until.passed()) given_up = Status::timed_out;
      if (protocol::is_lost<S>(state)) given_up = Status::broken;  // check: broken meanwhile
      protocol::help(engine, group);
    }
    uint32_t taken = 0;
    if constexpr (protocol::knows_drains<S>) {
      Awaited mine{token.last + 1 - left};
      taken = engine.drain(group, telemetry, mine, seen, arch::looks_per_drain);
      if (mine.hit && left != 0) --left;
      changes = is_shared<S> || taken != 0;
    } else {
      taken = engine.drain(group, telemetry);
    }
    if (group.same(taken == 0)) arch::pause(round);
  }
  Status status = token.status;
  if (XIO_UNLIKELY(group.any(bad != 0))) {
    status = outcome(engine, table, group, token, bad == 0 ? 0 : token.count - left);
  }
  // order: completion before data
  if constexpr (!arch::looks_acquire)
    if (group.any(token.count != 0)) arch::acquire_published<state_scope<S>, is_shared<S>>();
  if (left != 0) return static_cast<Status::Code>(given_up);
  return status;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
