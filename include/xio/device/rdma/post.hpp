// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Posting of RDMA operations: check, claim, build, store, publish, ring. Functions of a SendEngine and of the
/// group of lanes that call.

#include <xio/device/rdma/sequence.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

/// Why the operation is refused; Status::ok: it is not.
template <class Engine, class Payload>
XIO_DEVICE_INLINE Status check(const Engine& engine, const Work& work, const Payload& payload) {
  using Vendor = typename Engine::Vendor;
  if constexpr (Vendor::fence_after_memory_operation && is_shared<Engine::sharing>) {
    // The next entry must be fenced, and can belong to another wave.
    if (work.operation == Operation::local_invalidate) return Status::unsupported;
  }
  if constexpr (Vendor::counts_operations) {
    // Its end is reported out of order with the others: QueuePair::invalidate() posts it alone.
    if (work.operation == Operation::local_invalidate) return Status::unsupported;
  }
  const Status status = Vendor::Send::check(engine.handle().shape, work, payload);
  if (!status.is_ok()) return status;
  // A constant 1 removes the comparison.
  const uint32_t units = Vendor::Send::units(engine.handle().shape, work, payload);
  return units == 1 || units <= engine.handle().most_units() ? Status::ok : Status::out_of_range;
}

/// Placement of the lanes' consecutive entries.
struct Row {
  uint32_t before;  ///< units of earlier lanes
  uint32_t own;
  uint32_t total;  ///< units of the lanes that fit in the queue together
  uint32_t least;  ///< minimum units of a claim
};

/// @param pending the lanes of `group` with an operation, each of `own` units.
/// @tparam OneUnit these are 1
template <bool OneUnit, class Engine, Sharing S>
XIO_DEVICE_INLINE Row row_of(const Engine& engine, Group<S> group, uint64_t pending, uint32_t own) {
  if constexpr (S == Sharing::thread) {
    return {0, own, own, own};
  } else if constexpr (OneUnit) {
    const uint32_t lanes = arch::count_lanes(pending);
    // Packet and message numbers are claimed for all entries or for none.
    constexpr bool in_parts = !Engine::Vendor::has_side_table;
    const uint32_t most = in_parts ? engine.depth() : engine.handle().most_units();
    const uint32_t total = lanes < most ? lanes : most;
    return {Group<S>::rank_in(pending), 1, total, in_parts ? 1 : total};
  } else {
    const uint32_t common = group.from_lane(own, arch::first_lane(pending));
    const uint32_t lanes = arch::count_lanes(pending);
    const uint32_t most = engine.handle().most_units();
    const bool alike = !group.any(Group<S>::has(pending) && own != common);
    if (XIO_LIKELY(alike && lanes * common <= most)) {
      const bool in_parts = common == 1 && !Engine::Vendor::has_side_table;
      return {Group<S>::rank_in(pending) * common, own, lanes * common, in_parts ? 1 : lanes * common};
    }
    Row row{0, own, 0, 0};
    for (uint64_t left = pending; left != 0; left &= left - 1) {
      const uint32_t lane = arch::first_lane(left);
      const uint32_t units = group.from_lane(own, lane);
      if (row.total + units > most) break;
      if (lane < arch::lane()) row.before += units;
      row.total += units;
    }
    row.least = row.total;
    return row;
  }
}

/// Whether the operation with the units `first` to `end - 1` is signalled. `last`: it is the claim's last.
template <class Engine>
XIO_DEVICE_INLINE bool is_signaled(const Engine& engine, const Work& work, uint64_t first, uint64_t end, bool last) {
  if (work.has(work_flag::signaled) && last) return true;
  const uint32_t every = engine.handle().signal_every;
  if (every == 0) return false;
  // Without a nop, post_signaled() posts a put, which a peer may refuse unless the tail is a put too.
  const bool can_wait =
      Engine::Vendor::has_nop || work.operation == Operation::put || work.operation == Operation::put_immediate;
  if (last && !can_wait) return true;  // check: the end is reported
  // Signals if first..end crosses a multiple of `every`, a power of two.
  return ((first ^ end) & ~uint64_t{every - 1}) != 0;
}

/// Builds the entry of the calling lane, of `units` units from `first`, in its place in the ring. Returns its first 8
/// bytes.
template <class Engine, class Payload>
XIO_DEVICE_INLINE uint64_t store_entry(const Engine& engine, const Work& work, bool signaled, const Payload& payload,
                                       uint64_t first, uint32_t units) {
  using Vendor = typename Engine::Vendor;
  const QueuePairHandle& q = engine.handle();
  Place place;
  place.index = first;
  place.wr_id = first + units;
  if constexpr (Vendor::fence_after_memory_operation && !is_shared<Engine::sharing>) {
    place.after_memory_operation = engine.send().memory_end == first + 1;
  }
  Work signed_work = work;
  signed_work.flags = (work.flags & ~work_flag::signaled) | (signaled ? work_flag::signaled : 0);
  RingSink<Vendor, typename Engine::Policy> sink(q.sq, q.shape, first, units);
  return Vendor::Send::encode(q.shape, signed_work, payload, place, sink);
}

/// Publishes the entries of a claim, and rings; the latter not if `Brief`, see post().
/// @param storing        lanes with an entry in the claim's last row
/// @param head, signaled of the calling lane's entry
template <bool Brief = false, class Engine, Sharing S>
XIO_DEVICE_INLINE void publish(const Engine& engine, Group<S> group, const protocol::Claim& claim, uint64_t storing,
                               uint64_t head, bool signaled, [[maybe_unused]] const NumbersOf<Engine>& numbers,
                               [[maybe_unused]] const Sequence& sequence, const Work& work) {
  using Vendor = typename Engine::Vendor;
  SendState& send = engine.send();
  const uint64_t end = claim.first + claim.count;
  if constexpr (S != Sharing::thread) {
    const uint32_t last = arch::last_lane(storing);
    if constexpr (Vendor::doorbell_repeats_entry) head = group.from_lane(head, last);
    signaled = Brief || group.from_lane(static_cast<uint32_t>(signaled), last) != 0;
  }
  if (XIO_UNLIKELY(!signaled)) {
    // Before the entries are published: a waiter that finds them to be the last ones must find this too.
    group.before_writing();
    if constexpr (is_shared<S>) {
      // Waves come here in any order: the largest value stays.
      uint64_t seen = protocol::read<S>(send.unsignaled_end);
      // check: the largest end stays
      let_act(group, group.leads(), [&](Actors<S> one) XIO_INLINE_LAMBDA {
        bool again = seen < end;
        while (one.go_on(again)) {
          again = one.acts() && again && !arch::compare_exchange<state_scope<S>>(&send.unsignaled_end, seen, end) &&
                  seen < end;
        }
      });
    } else {
      send.unsignaled_end = end;
    }
  }
  if constexpr (!is_shared<S>) {
    if constexpr (Vendor::fence_after_memory_operation) {
      if (XIO_UNLIKELY(group.any(Group<S>::has(storing) && work.operation == Operation::local_invalidate))) {
        send.memory_end = end + 1;
      }
    }
    if constexpr (Vendor::has_side_table) {
      // Written only after all lanes have read them.
      group.before_writing();
      const Sequence next = after<Engine>(sequence, numbers);
      send.psn = next.psn;
      send.msn = next.msn;
    }
    if constexpr (Engine::Policy::ringing == Ringing::deferred && Vendor::doorbell_repeats_entry) {
      send.last_head = head;
    }
  }
  if constexpr (Brief) {
    protocol::publish_before_help(engine, group, claim, head);
  } else {
    protocol::publish(engine, group, claim, head);
  }
}

/// Posts the checked operation of each lane that is `wanting`; other lanes assist and keep `token`.
/// @tparam Brief less code, for one signalled operation on a shared queue that is seldom posted: one attempt to claim,
///               and the caller calls protocol::help() afterwards
template <bool Brief = false, class Engine, Sharing S, class Payload, class Until, class Telemetry>
XIO_DEVICE_INLINE Token post(const Engine& engine, Group<S> group, bool wanting, const Work& work,
                             const Payload& payload, Until until, Token token, Telemetry& telemetry) {
  const SendShape& shape = engine.handle().shape;
  // check: queue in GPU memory
  if (!is_placed_for<typename Engine::Policy>(engine.handle().gpu_memory)) {
    return wanting ? Token::refused(Status::unsupported) : token;
  }
  if constexpr (S == Sharing::thread) {
    // No other lane needs this one's help: a refusal returns early.
    if (XIO_UNLIKELY(!wanting)) return token;
    wanting = true;
  }
  protocol::Room room = protocol::begin_claim(engine);
  using Send = typename Engine::Vendor::Send;
  constexpr bool one_unit = Send::template one_unit<Payload>;
  const uint32_t units = !one_unit && wanting ? Send::units(shape, work, payload) : 1;
  for (uint64_t pending = group.members(wanting); pending != 0;) {
    // 2. Claim.
    const Row row = row_of<one_unit>(engine, group, pending, units);
    const bool fits = Group<S>::has(pending) && row.before + units <= row.total;
    const NumbersOf<Engine> numbers(group, shape, fits, payload);
    if constexpr (S == Sharing::thread) arch::prefer_vector_loads();
    protocol::Claim claim{};
    if constexpr (Brief) {
      claim = protocol::claim_once(engine, group, room, row.total, step_of<Engine>(numbers));
      if (claim.count == 0) break;
    } else {
      claim = protocol::claim_until(engine, group, room, row.total, row.least, until, step_of<Engine>(numbers));
    }
    if (XIO_UNLIKELY(claim.count == 0)) {
      const Status why = engine.template refusal<Until>(group);
      if constexpr (S == Sharing::thread) return Token::refused(why);
      if (Group<S>::has(pending)) token = Token::refused(why);
      break;
    }
    if constexpr (S == Sharing::thread) claim.count = units;
    const bool served = Group<S>::has(pending) && row.before + units <= claim.count;
    const uint64_t storing = group.members(served);
    // 3. Build. 4. Store.
    const uint64_t first = claim.first + row.before;
    uint64_t head = 0;
    bool signaled = true;
    uint64_t started = Telemetry::start();
    if (served) {
      signaled = Brief || is_signaled(engine, work, first, first + units, row.before + units == claim.count);
      head = store_entry(engine, work, signaled, payload, first, units);
      token.last = first + units - 1;
      token.count = S == Sharing::thread ? arch::per_lane(units) : units;
      token.status = Status::ok;
    }
    const Sequence sequence = sequence_of(engine, claim);
    if (served) store_number(engine, numbers, sequence, first, work);  // order: table before release
    telemetry.stop(telemetry::Step::enqueue, started);
    // 5. Publish. 6. Ring.
    started = Telemetry::start();
    publish<Brief>(engine, group, claim, storing, head, signaled, numbers, sequence, work);
    telemetry.stop(telemetry::Step::sq_doorbell, started);
    // No other lane needs this one's help.
    if constexpr (S == Sharing::thread) return token;
    pending &= ~storing;
    if (XIO_UNLIKELY(pending != 0)) room = protocol::begin_claim(engine);
  }
  group.converge();
  return token;
}

/// Checks and posts the operation of each lane of `group`.
/// @param fault why the caller refuses it already; Status::ok: it does not
template <class Engine, Sharing S, class Payload, class Until, class Telemetry>
XIO_DEVICE_INLINE Token submit(const Engine& engine, Group<S> group, Status fault, const Work& work,
                               const Payload& payload, Until until, Telemetry& telemetry) {
  Token token;
  // 1. Check. The other steps follow in post().
  if constexpr (Engine::Policy::argument_checks && S == Sharing::thread) {
    // No other lane needs this one's help: a refusal returns early.
    if constexpr (arch::branches_are_cheap) {
      if (XIO_UNLIKELY(!fault.is_ok())) return Token::refused(fault);  // check: memory before the claim
      fault = check(engine, work, payload);
      if (XIO_UNLIKELY(!fault.is_ok())) return Token::refused(fault);
    } else {
      const Status verdict = check(engine, work, payload);
      if (XIO_UNLIKELY(!(fault.is_ok() && verdict.is_ok()))) return Token::refused(fault.is_ok() ? verdict : fault);
    }
  } else if constexpr (Engine::Policy::argument_checks) {
    token.status = fault.is_ok() ? check(engine, work, payload) : fault;  // check: refused before the claim
  }
  return post(engine, group, token.status.is_ok(), work, payload, until, token, telemetry);
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
