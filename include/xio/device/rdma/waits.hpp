// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waits of an RDMA queue pair: for one token, for everything, and for data that arrives after its completion.
/// Functions of a SendEngine and of the group of lanes that call.

#include <xio/device/rdma/batch.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

/// Replaces a counter: an operation at or after the token's is known to be signalled.
constexpr uint64_t is_covered = ~uint64_t{0};

/// Progress of a lane's wait.
struct Waiting {
  protocol::Glimpse seen;
  uint32_t round = 0;  ///< polls
  bool over = false;   ///< at the last look
  bool late = false;
  bool broken = false;
  XIO_HOST_DEVICE bool has_given_up() const { return late || broken; }
};

/// Looks whether the lane's wait is over. Returns whether all lanes' are, or have been given up.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE bool look_once(const Engine& engine, Group<S> group, const Token& token, Waiting& waiting) {
  if constexpr (protocol::knows_drains<S>)
    waiting.seen = protocol::glimpse_before_call(engine, group);  // in flight together
  waiting.over = engine.has_ended(token);
  return !group.any(!waiting.over && !waiting.has_given_up());
}

/// Posts a signalled operation. Returns whether it did; waits for room only if the queue is not shared.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE bool post_signaled(const Engine& engine, Group<S> group, Deadline until) {
  Work work;
  // A put without data accesses no memory. The peer accepts puts, as the unsignalled ones before show (is_signaled).
  work.operation = Engine::Vendor::has_nop ? Operation::nop : Operation::put;
  work.flags = work_flag::signaled;
  telemetry::Off off;
  if constexpr (is_shared<S>) {
    return group.any(post<true>(engine, group, group.leads(), work, NoPayload{}, Now{}, Token(), off).submitted());
  } else {
    (void)post(engine, group, group.leads(), work, NoPayload{}, until, Token(), off);
    return true;
  }
}

/// Posts a signalled operation if none exists at or after the token's operation, whose end would go unreported.
///
/// @param published producer counter, read before this call: a wave records that its operation is unsignalled before it
///                  publishes it
/// @param tail   SendState::unsignaled_end, read after `published`
/// @param posted set if it did on a shared queue: call protocol::help() next
/// @return whether such a post may become necessary later: there was no room for it; or the token's operation, or what
///         follows the last unsignalled one, is not published
template <class Engine, Sharing S>
XIO_DEVICE bool signal_tail(const Engine& engine, Group<S> group, const Token& token, uint64_t published, uint64_t tail,
                            Deadline until, bool& posted) {
  const bool reached = token.count != 0 && tail > token.last;
  // check: nothing behind reports the end
  const bool needed = reached && published <= tail && tail == protocol::claimed(engine) && !engine.has_ended(token);
  // After the operations of all lanes.
  if (XIO_UNLIKELY(group.any(needed))) {
    const bool done = post_signaled(engine, group, until);
    posted = posted || done;
    return !done;
  }
  return published <= (reached ? tail : token.last);  // check: the rest is published
}

/// Waits until everything that `token` denotes has ended. All lanes of `group` call, each with its own token.
///
/// On shared queues other waves may publish entries that they claimed earlier, unsignalled or unannounced, and not wait
/// for them: these are checked again from time to time.
/// @param published producer counter up to which operations are known to be published, or `is_covered`
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE Status wait_completed(const Engine& engine, Group<S> group, const Token& token, Deadline until,
                                 uint64_t published, Telemetry& telemetry) {
  Waiting waiting;
  bool helps = false;
  // What other waves have posted, too.
  const auto check = [&](uint64_t tail) XIO_INLINE_LAMBDA {
    if (!signal_tail(engine, group, token, published, tail, until, helps)) published = is_covered;
    if (helps) protocol::help(engine, group);
    engine.ring(group);
    helps = true;
  };
  if constexpr (!is_shared<S>) check(engine.send().unsignaled_end);
  for (bool checks = is_shared<S>, again = false;; again = true) {
    // bound: entries published
    if (checks && again && group.any(published != is_covered)) {
      const uint64_t now = protocol::published(arch::observe<state_scope<S>>(&engine.state().tail));
      published = published != is_covered ? now : published;
    }
    // In flight together with the loads of the look.
    const uint64_t tail = checks ? protocol::read<S>(engine.send().unsignaled_end) : 0;
    const bool done = look_once(engine, group, token, waiting);
    if (checks) check(tail);
    if (done) break;
    const bool seldom = waiting.round % arch::looks_per_clock == arch::looks_per_clock - 1;
    if (seldom) {
      waiting.late = until.passed();
      waiting.broken = protocol::is_broken<S>(engine.state());
    }
    if constexpr (!protocol::knows_drains<S>) waiting.seen = protocol::glimpse_before_call(engine, group);
    const Taken taken = drain(engine, group, waiting.seen, telemetry);
    if (group.same(taken.count == 0)) arch::pause(waiting.round);
    ++waiting.round;
    if (protocol::knows_drains<S> && taken.succeeded != 0 &&
        !group.any(token.count != 0 && token.last >= taken.succeeded)) {
      // Each lane has ordered loads behind a completion. order: own completion before data
      arch::acquire_published<state_scope<S>, false>();
      // A lane that asks again sees what the leader has counted.
      group.converge();
      return token.status;
    }
    // From time to time, and before it gives up.
    checks = is_shared<S> && seldom;  // check: unsignalled entries behind
  }
  // order: completion before data. What ends after the acquire is left to the next call.
  if (group.any(waiting.over && token.count != 0)) arch::acquire_published<state_scope<S>, is_shared<S>>();
  if (!waiting.over) return waiting.broken ? Status::broken : Status::timed_out;
  return engine.outcome(token);
}

/// QueuePair::flush_inbound().
template <class Engine, Sharing S>
XIO_DEVICE Status flush_inbound(const Engine& engine, Group<S> group, Deadline until) {
  const FlushTarget& flush = engine.handle().flush;
  if (flush.local == 0) return Status::unsupported;
  Work work;
  work.flags = work_flag::signaled;
  work.remote = flush.remote;
  work.rkey = flush.rkey;
  const OneSge one{{flush.local, 1, flush.lkey}};
  telemetry::Off off;
  Token token = post(engine, group, group.leads(), work, one, until, Token(), off);
  if constexpr (S != Sharing::thread) token = protocol::from_leader(group, token);
  return wait_completed(engine, group, token, until, is_covered, off);
}

/// After a wait that ended with `status`: flush_inbound() if the policy requires it.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status inbound(const Engine& engine, Group<S> group, Status status, bool moved, Deadline until) {
  if constexpr (!Engine::Policy::inbound_in_order) {
    moved = moved && status.is_ok();
    if (group.any(moved)) {
      const Status flushed = flush_inbound(engine, group, until);  // order: late data before the return
      if (moved) status = flushed;
    }
  }
  return status;
}

/// QueuePair::wait().
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE Status wait(const Engine& engine, Group<S> group, const Token& token, Deadline until, Telemetry& telemetry) {
  const Status status = wait_completed(engine, group, token, until, token.last + 1, telemetry);
  return inbound(engine, group, status, token.count != 0, until);
}

/// QueuePair::quiet(), and without `Reports`, which returns failures, fence().
template <bool Reports, class Engine, Sharing S>
XIO_DEVICE Status wait_for_all(const Engine& engine, Group<S> group, Deadline until) {
  Token all;
  const uint64_t end = protocol::claimed_by_all(engine, group);
  if (end == 0) return Status::ok;
  all.last = end - 1;
  all.count = 1;
  telemetry::Off off;
  Status status = wait_completed(engine, group, all, until, 0, off);
  const bool over = status != Status::timed_out && status != Status::broken;
  if (over) status = Reports ? engine.first_failure() : Status();
  return inbound(engine, group, status, over, until);
}

/// QueuePair::test().
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status test(const Engine& engine, Group<S> group, const Token& token) {
  engine.ring(group);
  if (group.any(!engine.has_ended(token)) && engine.drain(group) == 0) protocol::help<false>(engine, group);
  const bool over = engine.has_ended(token);
  // order: completion before data
  if (group.any(over && token.count != 0)) arch::acquire_published<state_scope<S>, is_shared<S>>();
  return over                                     ? engine.outcome(token)
         : protocol::is_broken<S>(engine.state()) ? Status(Status::broken)
                                                  : Status(Status::pending);
}

/// QueuePair::invalidate().
template <class Engine, Sharing S>
XIO_DEVICE Status invalidate(const Engine& engine, Group<S> group, uint32_t lkey, Deadline until) {
  const Status before = wait_for_all<true>(engine, group, until);
  if (!before.is_ok()) return before;
  Work work = work_of(Operation::local_invalidate, {});
  work.immediate = lkey;
  Token token;
  token.status = Engine::Vendor::Send::check(engine.handle().shape, work, NoPayload{});
  telemetry::Off off;
  token = post(engine, group, token.status.is_ok(), work, NoPayload{}, until, token, off);
  return wait_completed(engine, group, token, until, is_covered, off);
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
