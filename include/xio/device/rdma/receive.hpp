// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The receive queue of an RDMA queue pair in a kernel: post memory for messages, learn what arrived.

#include <xio/device/rdma/bell.hpp>
#include <xio/device/rdma/completions.hpp>
#include <xio/device/rdma/memory.hpp>
#include <xio/vendors/rdma/require_vendor.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// What arrived.
struct Received {
  Status status;            ///< how the receive ended; the rest counts where it is ok
  uint32_t bytes = 0;       ///< length of the message
  uint32_t flags = 0;       ///< receive_flag
  uint32_t immediate = 0;   ///< immediate data as the CPU counts, or the local key that was invalidated
  uint32_t source_qpn = 0;  ///< queue pair of the sender, where the vendor tells
};

/// The receive side of an RDMA queue pair. Trivially copyable; a kernel makes one from a handle. Sharing, lanes and
/// tokens are as with QueuePair. Messages take receives in the order in which those were posted.
///
/// What arrived is kept until somebody has asked: the place of a receive in the ring is free again when wait() or
/// test() has told how it ended, however late, or forget() was called. Until then post() finds no room there. Who never
/// asks uses a policy that says so (Unasked).
template <class Vendor, Sharing S = Sharing::grid, class QueuePolicy = xio::Policy<>>
class ReceiveQueue {
  static_assert(require_vendor<Vendor>(), "what a vendor must have: xio/vendors/rdma/require_vendor.hpp");

 public:
  /// @param lanes as of QueuePair
  XIO_HOST_DEVICE explicit ReceiveQueue(const ReceiveQueueHandle& handle, uint64_t lanes = 0)
      : handle_(handle), lanes_(lanes) {}
  XIO_HOST_DEVICE const ReceiveQueueHandle& handle() const { return handle_; }

  /// Posts one receive for each calling lane; waits for room until the deadline (Now{}: Status::would_block).
  /// @param payload NoPayload (for writes with immediate), OneSge or SgeList.
  template <class Payload, class Until>
  XIO_DEVICE_INLINE Token post(const Payload& payload, Until until) {
    return post_checked(Vendor::Receive::check(handle_.shape, payload), payload, until);
  }
  /// As above, of a piece of registered memory.
  template <class Until>
  XIO_DEVICE_INLINE Token post(const RegionSpan& to, Until until) {
    const OneSge payload{{to.address, to.length, to.key}};
    return post_checked(to.reach.is_inside() ? Vendor::Receive::check(handle_.shape, payload) : to.reach.status(),
                        payload, until);
  }

  /// Waits until a message has taken the token's receive; each lane waits for its own. A token may be asked again:
  /// the answer is the same until its receive's place was posted again, and Status::expired then.
  XIO_DEVICE Received wait(const Token& token, Deadline until) {
    const Group<S> group = callers();
    bool late = false;
    for (uint32_t round = 0;; ++round) {
      if (!group.any(!has_ended(token) && !late)) break;
      if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
        late = until.passed() || protocol::read<S>(state().broken) != 0;
        protocol::help(device(), group);
      }
      if (drain_group(group) == 0) arch::pause(round);
    }
    return answer(group, token, Status::timed_out);
  }

  /// Looks once: Status::would_block where nothing has arrived yet.
  XIO_DEVICE Received test(const Token& token) {
    const Group<S> group = callers();
    if (group.any(!has_ended(token))) drain_group(group);
    return answer(group, token, Status::would_block);
  }

  /// Takes completions that are there, without waiting. Returns how many.
  XIO_DEVICE_INLINE uint32_t drain() { return drain_group(callers()); }

  /// Gives up the answer to a token: nobody will ask. Its receive stays posted until a message takes it.
  XIO_DEVICE_INLINE void forget(const Token& token) const {
    if (token.count != 0) let_go(token.last);
  }

 private:
  /// The lanes of this call; asked once in a call.
  XIO_DEVICE_ALWAYS_INLINE Group<S> callers() const { return Group<S>::of_callers(lanes_); }
  XIO_HOST_DEVICE QueueState& state() const { return handle_.state->queue; }
  XIO_HOST_DEVICE ReceiveState& receives() const { return *handle_.state; }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>{handle_.cq}; }

  /// The queue as its protocol sees it (queue/claim.hpp).
  struct Device {
    using Bell = ReceiveBell<Vendor, S, QueuePolicy>;
    using Policy = typename Bell::Policy;
    using Tickets = protocol::PlainTickets;
    static constexpr Sharing sharing = S;
    const ReceiveQueue& queue;

    XIO_DEVICE_INLINE QueueState& state() const { return queue.state(); }
    XIO_DEVICE_INLINE uint64_t& claims() const { return queue.state().reserved; }
    XIO_DEVICE_INLINE uint32_t depth() const { return queue.handle_.depth; }
    XIO_DEVICE_INLINE bool is_free(uint64_t ticket) const { return queue.was_let_go(ticket); }
    XIO_DEVICE_INLINE Bell bell() const { return Bell(queue.handle_); }
    XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const { return queue.drain_group(group); }
    XIO_DEVICE_INLINE bool is_dead() const { return protocol::read<S>(queue.state().broken) != 0; }
  };
  XIO_DEVICE_INLINE Device device() const { return {*this}; }

  /// A receive ring as the sink of send entries sees one.
  struct Ring {
    static constexpr bool power_of_two = true;
    static constexpr bool wraps = false;
    XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const SendShape& shape) { return shape.entry_shift; }
  };

  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    return token.count == 0 || protocol::read<S>(state().retired) > token.last ||
           protocol::read<S>(receives().ended) != 0;
  }

  XIO_DEVICE_INLINE ReceiveSlot& slot_of(uint64_t index) const {
    return handle_.slots[ring::slot(index, handle_.shape.entries - 1)];
  }
  XIO_DEVICE_INLINE uint32_t lap_of(uint64_t index) const {
    return static_cast<uint32_t>(index) & ~(handle_.shape.entries - 1);
  }
  /// Whether somebody has asked for the receive whose place `index` takes. A lap of its own for each, so that an old
  /// value says no.
  XIO_DEVICE_INLINE bool was_let_go(uint64_t index) const {
    return !QueuePolicy::keeps_receives || protocol::read<S>(slot_of(index).lap) == lap_of(index);
  }
  /// Lets receives be posted where that of `index` lay, once it has ended.
  XIO_DEVICE_INLINE void let_go(uint64_t index) const {
    if constexpr (QueuePolicy::keeps_receives) {
      uint32_t& word = slot_of(index).lap;
      uint32_t lap = lap_of(index);
      const uint32_t next = lap + handle_.shape.entries;
      if constexpr (is_shared<S>) {
        // Of several who ask for the same, the last one may come when the slot is laps ahead.
        arch::compare_exchange<state_scope<S>>(&word, lap, next);
      } else {
        if (word == lap) word = next;
      }
    }
  }

  /// What is known of the token's receive now. `pending`: the status where that is nothing.
  XIO_DEVICE_INLINE Received answer(Group<S> group, const Token& token, Status pending) const {
    // Read first: it is written last.
    const bool over = protocol::read<S>(receives().ended) != 0;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    // Decided once: what ends behind the acquire is for the next call.
    const bool arrived = token.count != 0 && protocol::read<S>(state().retired) > token.last;
    if (group.any(arrived || (over && token.count != 0))) arch::acquire_system();
    Received received;
    if (token.count == 0) {
      received.status = token.status;
    } else if (!arrived) {
      received.status = over                                     ? Status(Status::flushed)
                        : protocol::read<S>(state().broken) != 0 ? Status(Status::broken)
                                                                 : pending;
    } else {
      const ReceiveSlot& slot = slot_of(token.last);
      received.status = protocol::unpack(protocol::read<S>(slot.status));
      received.bytes = protocol::read<S>(slot.bytes);
      received.flags = protocol::read<S>(slot.flags);
      received.immediate = protocol::read<S>(slot.immediate);
      received.source_qpn = protocol::read<S>(slot.source_qpn);
      // Read last: whoever files a later receive there changes it first.
      if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
      if (protocol::read<S>(slot.number) == token.last + 1) {
        let_go(token.last);
      } else {
        received.status = protocol::read<S>(state().broken) != 0 ? Status::broken : Status::expired;
      }
    }
    return received;
  }

  template <class Payload, class Until>
  XIO_DEVICE Token post_checked(Status fault, const Payload& payload, Until until) {
    const Group<S> group = callers();
    Token token;
    token.status = fault;
    for (uint64_t pending = group.members(fault.is_ok()); pending != 0;) {
      const uint32_t wanted = S == Sharing::thread ? 1 : arch::count_lanes(pending);
      const protocol::Claim claim = protocol::claim_until(device(), group, wanted, 1, until);
      if (claim.count == 0) {
        // One lane alone may have seen that the queue is dead.
        const bool broken = group.any(protocol::read<S>(state().broken) != 0);
        if (Group<S>::has(pending)) {
          token = Token::refused(broken                      ? Status::broken
                                 : IsSame<Until, Now>::value ? Status::would_block
                                                             : Status::timed_out);
        }
        break;
      }
      const uint32_t position = Group<S>::rank_in(pending);
      const bool served = Group<S>::has(pending) && position < claim.count;
      const uint64_t storing = group.members(served);
      if (served) {
        Place place;
        place.index = claim.first + position;
        place.wr_id = place.index;
        SendShape shape;
        shape.entries = handle_.shape.entries;
        shape.entry_shift = handle_.shape.entry_shift;
        const RingSink<Ring, QueuePolicy> sink(handle_.rq, shape, place.index, 1);
        Vendor::Receive::encode(handle_.shape, payload, place, sink);
        token.last = place.index;
        token.count = 1;
        token.status = Status::ok;
      }
      protocol::publish(device(), group, claim);
      if constexpr (S == Sharing::thread) return token;
      pending &= ~storing;
    }
    group.converge();
    return token;
  }

  /// Takes completions that are there, at most one for each lane. Each that is about a receive ends the oldest one;
  /// some devices write others, which say nothing. Returns how many were taken.
  XIO_DEVICE uint32_t drain_group(Group<S> group) const {
    constexpr arch::Scope scope = state_scope<S>;
    const uint32_t position = group.rank();
    if (is_shared<S> && !(protocol::nobody_drains(state(), group) && protocol::claim_drain(state(), group))) return 0;
    uint64_t head = group.agreed(protocol::read<S>(state().retired));
    uint64_t passed = group.agreed(protocol::read<S>(receives().passed_over));
    if constexpr (is_shared<S>) {
      const uint64_t first = head + passed;
      if (!group.any(position == 0 && cq().is_new(cq().look(first), first, 0))) {
        protocol::leave_drain(state(), group);
        return 0;
      }
    }
    uint64_t next = head + passed;
    const uint64_t word = cq().look(next + position);
    uint32_t taken = group.leading(cq().is_new(word, next, position));
    if (taken != 0) {
      arch::order_loads<arch::Scope::system>();
      const uint64_t reserved = protocol::claimed(device());
      WorkCompletion completion;
      bool foreign = false;
      if (position < taken) {
        completion = cq().read(word, next + position);
        if constexpr (QueuePolicy::completion_checks) {
          foreign = completion.kind != CompletionKind::nothing &&
                    !cq().is_about(handle_.shape.qpn, completion, word, next + position);
        }
      }
      bool over = completion.kind == CompletionKind::ended && !foreign;
      // Some devices say of a failure only that it is one; the queue is of receives alone.
      bool ours = completion.kind == CompletionKind::receive || (!over && !completion.status.is_ok());
      uint64_t ending = group.members(ours);
      const uint64_t index = head + Group<S>::rank_in(ending);
      const bool strange = foreign || completion.kind == CompletionKind::unknown ||
                           (ours ? index >= reserved : completion.kind == CompletionKind::send);
      if (XIO_UNLIKELY(group.any(strange))) {
        // The device and we no longer agree on the queue. It stays where it is.
        protocol::break_queue(device(), group);
        taken = group.leading(position < taken && !strange);
        ours = ours && position < taken;
        over = over && position < taken;
        ending = group.members(ours);
      }
      if (ours) file(index, completion);
      group.converge();
      const uint32_t received = arch::count_lanes(ending);
      head += received;
      passed += taken - received;
      next += taken;
      const auto unacknowledged = static_cast<uint32_t>(next - protocol::read<S>(state().acknowledged));
      if (unacknowledged + handle_.depth >= handle_.cq.size - 1) {
        group.before_writing();
        if (group.leads()) cq().template acknowledge<S>(next);
        if (!is_shared<S> || group.leads()) protocol::write<S>(state().acknowledged, next);
      }
      if constexpr (is_shared<S>) {
        if (group.leads()) {
          arch::store<scope>(&receives().passed_over, passed);
          arch::publish<scope>(&state().retired, head);
        }
      } else {
        group.before_writing();
        receives().passed_over = passed;
        state().retired = head;
      }
      if (XIO_UNLIKELY(group.any(over))) {
        if constexpr (is_shared<S>) arch::wait_stores();
        protocol::write<S>(receives().ended, 1u);
      }
    }
    if constexpr (is_shared<S>) {
      if (group.leads()) arch::publish<scope>(&state().draining, 0u);
    }
    return taken;
  }

  XIO_DEVICE_INLINE void file(uint64_t index, const WorkCompletion& completion) const {
    ReceiveSlot& slot = slot_of(index);
    protocol::write<S>(slot.number, uint64_t{0});
    if constexpr (is_shared<S>) arch::wait_stores();
    protocol::write<S>(slot.status, protocol::pack(completion.status));
    protocol::write<S>(slot.flags, static_cast<uint32_t>(completion.flags));
    protocol::write<S>(slot.bytes, completion.bytes);
    protocol::write<S>(slot.immediate, completion.immediate);
    protocol::write<S>(slot.source_qpn, completion.source_qpn);
    if constexpr (is_shared<S>) arch::wait_stores();
    protocol::write<S>(slot.number, index + 1);
  }

  ReceiveQueueHandle handle_;
  uint64_t lanes_;  ///< that call together; 0: see Group::of_callers()
};

}  // namespace rdma

XIO_NAMESPACE_END
