// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waits of an NVMe queue pair: for tokens, for everything, for remaining errors, and for data that arrives
/// after its completion. Functions of a QueueEngine and of the group of lanes that call.

#include <xio/device/nvme/post.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Replaces a deadline: never passes.
struct Always {
  XIO_HOST_DEVICE static constexpr bool passed() { return false; }
};

/// Waits for each lane's token without marking errors as waited for.
template <class Engine, Sharing S>
XIO_DEVICE Status wait_quietly(const Engine& engine, Group<S> group, const Token& token, Deadline until) {
  bool broken = false;
  uint32_t looks = 0;
  const bool done = group.poll(
      [&] {
        if (!group.any(!engine.ended(token))) return true;
        // In every round, since other waves may not have published their entries yet, nor announce them soon.
        engine.ring(group);
        if (++looks % arch::looks_per_clock == 0) protocol::help(engine, group);
        engine.drain(group);
        broken = group.any(engine.is_dead());
        return broken;
      },
      until);
  if (!done) return Status::timed_out;
  return broken && group.any(!engine.ended(token)) ? Status::broken : Status::ok;
}

/// Marks `ticket` as a command of the library's own, before it is published.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void begin_own(const Engine& engine, Group<S> group, uint64_t ticket) {
  const QueueHandle& q = engine.handle();
  if (q.notifications == nullptr) return;
  uint64_t& note = note_of(q.notifications, q.slot_mask, ticket);
  const uint64_t before = group.from_leader(protocol::read<S>(note));
  if (XIO_UNLIKELY(is_own_mark(before))) {
    // An earlier one in this slot: its failure, if any, loses its mark, and must have been seen.
    Token earlier;
    earlier.last = before >> 2;
    earlier.count = 1;
    (void)outcome(engine, engine.table(), group, earlier, group.leads() ? 1 : 0);
  }
  group.before_writing();
  if (group.leads()) protocol::write<S>(note, own_mark(ticket));
}

/// Queue::flush_inbound(). Nobody is told how the command ended, not even if the wait for it gives up: any
/// completion, a media error included, follows the drive's read of the data's memory.
template <class Engine, Sharing S>
XIO_DEVICE Status flush_inbound(const Engine& engine, Group<S> group, Deadline until) {
  const QueueHandle& q = engine.handle();
  if (q.flush_bus == 0 || !is_placed_for<typename Engine::Policy>(q.gpu_memory)) return Status::unsupported;
  const protocol::Claim claim = protocol::claim_until(engine, group, protocol::begin_claim(engine), 1, 1, until);
  if (claim.count == 0) return engine.template refusal<Deadline>(group);
  const uint64_t ticket = claim.first;
  const Command reading = compare(0, 1);
  begin_own(engine, group, ticket);
  Sqe entry;
  if (group.leads()) entry = build_entry(engine, reading, ContiguousPages{q.flush_bus}, false, 0, ticket, nullptr);
  store_entries(engine, group, group.members(group.leads()), entry, ticket);
  protocol::publish(engine, group, claim);
  Token flushing;
  flushing.last = ticket;
  flushing.count = 1;
  telemetry::Off off;
  const Status status = wait_completed(engine, group, flushing, until, off);
  // The lanes' deadlines may differ.
  if (!group.any(status == Status::timed_out || status == Status::broken)) return Status::ok;
  if constexpr (!is_shared<S>) {
    if (engine.state().way_of_use == 0)
      protocol::write_by_leader(group, engine.state().way_of_use, protocol::has_abandoned);
  }
  return status == Status::timed_out || status == Status::broken ? status : Status(Status::ok);
}

/// After a wait that ended with `status`: flush_inbound() if the policy requires it.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status inbound(const Engine& engine, Group<S> group, Status status, bool moved, Deadline until) {
  if constexpr (!Engine::Policy::inbound_in_order) {
    moved = moved && status.is_ok();
    if (group.any(moved)) {
      const Status flushed = flush_inbound(engine, group, until);
      if (moved) status = flushed;
    }
  }
  return status;
}

/// Queue::wait().
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE_INLINE Status wait(const Engine& engine, Group<S> group, const Token& token, Deadline until,
                              Telemetry& telemetry) {
  const Status status = wait_completed(engine, group, token, until, telemetry);
  return inbound(engine, group, status, token.count != 0, until);
}

/// Queue::test(), without the announcement of deferred entries.
template <class Engine, Sharing S>
XIO_DEVICE Status test(const Engine& engine, Group<S> group, const Token& token) {
  telemetry::Off off;
  if (group.any(!engine.ended(token)) && engine.drain(group) == 0) protocol::help<false>(engine, group);
  const bool over = engine.ended(token);
  const Status status = wait_completed(engine, group, over ? token : Token(), Deadline{0}, off);
  return over ? status : Status(Status::pending);
}

/// Queue::wait_any().
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status wait_any(const Engine& engine, Group<S> group, const Token* tokens, uint32_t count,
                                  Deadline until, uint32_t& which) {
  Status found = count != 0 ? Status::pending : Status::invalid_argument;
  which = 0;
  engine.ring(group);
  uint32_t looks = 0;
  const bool all = group.poll(
      [&] {
        // check: a stopped wave announced
        if (++looks % arch::looks_per_clock == 0) protocol::help(engine, group);
        for (uint32_t i = 0; group.any(i < count && found == Status::pending); ++i) {
          const Status status = test(engine, group, i < count ? tokens[i] : Token());
          if (i < count && found == Status::pending && status != Status::pending) {
            found = status;
            which = i;
          }
        }
        return !group.any(found == Status::pending);
      },
      until);
  if (!all && found == Status::pending) found = Status::timed_out;
  // order: late data before the return
  return inbound(engine, group, found, count != 0 && tokens[which].count != 0, until);
}

/// Queue::fence().
template <class Engine, Sharing S>
XIO_DEVICE Status fence(const Engine& engine, Group<S> group, Deadline until) {
  const uint64_t end = protocol::claimed_by_all(engine, group);
  const uint64_t window = uint64_t{engine.handle().slot_mask} + 1;
  const uint32_t lanes = group.lanes();
  uint32_t looks = 0;
  // Each lane checks one ticket. Older ones have ended, or their slots could not be in use again.
  for (uint64_t base = end > window ? end - window : 0; base < end; base += lanes) {
    const uint64_t* const counter = &engine.state().retired;
    // order: ends before claims. The drain that advanced `retired` had seen the tickets, so claims read next are not
    // older.
    const uint64_t retired = is_shared<S> ? protocol::retired(arch::observe<state_scope<S>>(counter)) : *counter;
    if (!group.any(retired < protocol::claimed(engine))) break;  // check: something is in flight
    // bound: time of a fence
    if (++looks % arch::looks_per_clock == 0 && !group.any(!until.passed())) return Status::timed_out;
    Token mine;
    mine.last = base + group.rank();
    mine.count = mine.last < end;
    if (!group.any(!engine.ended(mine))) continue;
    const Status status = wait_quietly(engine, group, mine, until);
    if (!status.is_ok()) return status;
  }
  arch::acquire_published<state_scope<S>, is_shared<S>>();  // order: completion before data
  // Each lane has checked operations of other lanes.
  group.converge();
  // order: late data before the return
  return inbound(engine, group, Status::ok, true, until);
}

/// Errors that no caller has waited for; with `take`, they are not reported again. Returns false if `until` passed; see
/// find_errors().
template <class Engine, Sharing S, class Until>
XIO_DEVICE bool summarize_errors(const Engine& engine, Group<S> group, bool take, Until until, ErrorSummary& summary) {
  UnseenErrors found;
  if (!find_errors<S>(engine.table(), engine.state(), group, take, until, found)) return false;
  summary = {found.count, found.first_ticket, CompletionFormat::decode(static_cast<uint16_t>(found.first_status))};
  return true;
}

/// Queue::errors().
template <class Engine, Sharing S>
XIO_DEVICE ErrorSummary errors(const Engine& engine, Group<S> group) {
  ErrorSummary summary;
  summarize_errors(engine, group, false, Always{}, summary);
  return summary;
}

/// Queue::quiet().
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status quiet(const Engine& engine, Group<S> group, Deadline until) {
  const Status fenced = fence(engine, group, until);
  if (!fenced.is_ok()) return fenced;
  ErrorSummary summary;
  return summarize_errors(engine, group, true, until, summary) ? summary.first : Status(Status::timed_out);
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
