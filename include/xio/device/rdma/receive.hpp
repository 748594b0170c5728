// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The receive queue of an RDMA queue pair in a kernel: post memory for messages, wait for their arrival.

#include <xio/device/rdma/bell.hpp>
#include <xio/device/rdma/completions.hpp>
#include <xio/device/rdma/memory.hpp>
#include <xio/vendors/rdma/require_vendor.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Result of a receive.
struct Received {
  Status status;            ///< status of the receive; the other members are valid if it is ok
  uint32_t bytes = 0;       ///< length of the message
  uint32_t flags = 0;       ///< receive_flag
  uint32_t immediate = 0;   ///< immediate data in host byte order, or the local key that was invalidated
  uint32_t source_qpn = 0;  ///< queue pair of the sender, if the vendor reports it
};

/// The receive side of an RDMA queue pair. Trivially copyable; a kernel constructs it from a handle. Sharing, lanes and
/// tokens are as in QueuePair. Messages consume receives in the order in which the receives were posted.
///
/// A result is kept until it is read: the ring slot of a receive is free again once wait() or test() has returned its
/// result, or forget() was called. Until then post() finds the queue full. A caller that never reads results uses a
/// policy with Unasked.
template <class Vendor, Sharing S = Sharing::grid, class QueuePolicy = xio::Policy<>>
class ReceiveQueue {
  static_assert(require_vendor<Vendor>(), "incomplete Vendor; requirements: xio/vendors/rdma/require_vendor.hpp");

 public:
  /// @param lanes as in QueuePair
  XIO_HOST_DEVICE explicit ReceiveQueue(const ReceiveQueueHandle& handle, uint64_t lanes = 0)
      : handle_(handle), lanes_(lanes) {}
  XIO_HOST_DEVICE const ReceiveQueueHandle& handle() const { return handle_; }

  /// Posts one receive per calling lane; waits for space in the queue until the deadline (Now{}: Status::would_block).
  /// @param payload NoPayload (for writes with immediate), OneSge or SgeList.
  ///
  /// @snippet receive.cpp post_list
  template <class Payload, class Until>
  XIO_DEVICE_INLINE Token post(const Payload& payload, Until until) {
    return post_checked(Vendor::Receive::check(handle_.shape, payload), payload, until);
  }
  /// Posts one receive per calling lane for a piece of registered memory.
  /// @snippet receive.cpp post
  template <class Until>
  XIO_DEVICE_INLINE Token post(const RegionSpan& to, Until until) {
    const OneSge payload{{to.address, to.length, to.key}};
    return post_checked(to.reach.is_inside() ? Vendor::Receive::check(handle_.shape, payload) : to.reach.status(),
                        payload, until);
  }

  /// Waits until a message has consumed the token's receive; each lane waits for its own token. A repeated call returns
  /// the same result until the ring slot is posted again, and then Status::expired.
  /// @snippet receive.cpp wait
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

  /// Polls once: returns Status::would_block if nothing has arrived yet.
  /// @snippet receive.cpp test
  XIO_DEVICE Received test(const Token& token) {
    const Group<S> group = callers();
    if (group.any(!has_ended(token))) drain_group(group);
    return answer(group, token, Status::would_block);
  }

  /// Takes the available completions, without waiting. Returns how many.
  /// @snippet receive.cpp drain
  XIO_DEVICE_INLINE uint32_t drain() { return drain_group(callers()); }

  /// Releases the result of a token that will not be read. Its receive stays posted until a message consumes it.
  /// @snippet receive.cpp forget
  XIO_DEVICE_INLINE void forget(const Token& token) const {
    if (token.count != 0) let_go(token.last);
  }

 private:
  /// The group of a call in which each lane acts for itself; determined once per call.
  XIO_DEVICE_ALWAYS_INLINE Group<S> callers() const { return Group<S>::of_callers(lanes_); }
  XIO_HOST_DEVICE QueueState& state() const { return handle_.state->queue; }
  XIO_HOST_DEVICE ReceiveState& receives() const { return *handle_.state; }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>{handle_.cq}; }

  /// Interface of the queue to its protocol (queue/claim.hpp).
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

  /// A receive ring in the form that RingSink expects.
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
  /// Whether the result of the receive whose ring slot `index` takes was read. Each lap has its own value, so that a
  /// stale one does not match.
  XIO_DEVICE_INLINE bool was_let_go(uint64_t index) const {
    return !QueuePolicy::keeps_receives || protocol::read<S>(slot_of(index).lap) == lap_of(index);
  }
  /// Releases the ring slot of receive `index`, effective once the receive has ended.
  XIO_DEVICE_INLINE void let_go(uint64_t index) const {
    if constexpr (QueuePolicy::keeps_receives) {
      uint32_t& word = slot_of(index).lap;
      uint32_t lap = lap_of(index);
      const uint32_t next = lap + handle_.shape.entries;
      if constexpr (is_shared<S>) {
        // Of several readers of one result, the last may come when the slot is laps ahead.
        arch::compare_exchange<state_scope<S>>(&word, lap, next);
      } else {
        if (word == lap) word = next;
      }
    }
  }

  /// Current result of the token's receive. `pending`: the status if there is none yet.
  XIO_DEVICE_INLINE Received answer(Group<S> group, const Token& token, Status pending) const {
    // Read first because it is written last.
    const bool over = protocol::read<S>(receives().ended) != 0;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    // Evaluated once: what ends after the acquire is left to the next call.
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
      // Read last: a drain that records a later receive there changes it first.
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
        // The queue's failure may have been seen by one lane only.
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

  /// Takes the available completions, at most one per lane. A completion of a receive ends the oldest one; some devices
  /// write other completions, which are ignored. Returns how many were taken.
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
      // Some devices report a failure without its kind; this queue holds receives only.
      bool ours = completion.kind == CompletionKind::receive || (!over && !completion.status.is_ok());
      uint64_t ending = group.members(ours);
      const uint64_t index = head + Group<S>::rank_in(ending);
      const bool strange = foreign || completion.kind == CompletionKind::unknown ||
                           (ours ? index >= reserved : completion.kind == CompletionKind::send);
      if (XIO_UNLIKELY(group.any(strange))) {
        // The device and the library disagree on the queue's state. The head does not advance over it.
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
  uint64_t lanes_;  ///< lanes that call together, as a mask; 0: see Group::of_callers()
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
