// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The receive queue of an RDMA queue pair in a kernel: post memory for messages, learn what arrived.

#include <xio/device/rdma_completions.hpp>
#include <xio/device/rdma_memory.hpp>
#include <xio/device/rdma_sink.hpp>

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
template <class Vendor, Sharing S = Sharing::grid, class Policy = Throughput>
class ReceiveQueue {
 public:
  /// @param lanes as of QueuePair
  XIO_HOST_DEVICE explicit ReceiveQueue(const ReceiveQueueHandle& handle, uint64_t lanes = 0)
      : handle_(handle), lanes_(lanes) {}
  XIO_HOST_DEVICE const ReceiveQueueHandle& handle() const { return handle_; }

  /// Posts one receive for each calling lane; waits for room until the deadline (Now: Status::would_block).
  /// @param payload NoData (for writes with immediate), OneSge or SgeList.
  template <class Payload, class Until = Now>
  XIO_DEVICE_INLINE Token post(const Payload& payload, Until until = Until()) {
    return post_checked(Vendor::Receive::check(handle_.shape, payload), payload, until);
  }
  /// As above, of a piece of registered memory.
  template <class Until = Now>
  XIO_DEVICE_INLINE Token post(const LocalSpan& to, Until until = Until()) {
    const OneSge payload{{to.address, to.length, to.lkey}};
    return post_checked(to.reach.is_inside() ? Vendor::Receive::check(handle_.shape, payload) : to.reach.status(),
                        payload, until);
  }

  /// Waits until a message has taken the token's receive; each lane waits for its own. A token may be asked again:
  /// the answer is the same until its receive's place was posted again, and Status::expired then.
  XIO_DEVICE Received wait(const Token& token, Deadline until) {
    const uint64_t group = callers();
    bool late = false;
    for (uint32_t round = 0;; ++round) {
      if (!protocol::any<S>(group, !has_ended(token) && !late)) break;
      if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
        late = until.passed() || protocol::read<S>(state().broken) != 0;
      }
      if (drain_group(group) == 0) arch::pause(round);
    }
    return answer(group, token, Status::timed_out);
  }

  /// Looks once: Status::would_block where nothing has arrived yet.
  XIO_DEVICE Received test(const Token& token) {
    const uint64_t group = callers();
    if (protocol::any<S>(group, !has_ended(token))) drain_group(group);
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
  XIO_DEVICE_ALWAYS_INLINE uint64_t callers() const { return protocol::group_of_caller<S>(lanes_); }
  XIO_HOST_DEVICE QueueState& state() const { return *handle_.state; }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>{handle_.cq}; }
  // Two words of QueueState that a queue without a completion table has no use for.
  /// Entries read that ended no receive: the completion queue is so far ahead of the receives.
  XIO_HOST_DEVICE uint64_t& passed_over() const { return state().passed_over; }
  /// 1: the device writes no more completions; what is posted was flushed.
  XIO_HOST_DEVICE uint32_t& ended() const { return state().error_count; }

  /// A receive ring as the sink of send entries sees one.
  struct Ring {
    static constexpr bool power_of_two = true;
    static constexpr bool wraps = false;
    XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const SendShape& shape) { return shape.entry_shift; }
  };

  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    return token.count == 0 || protocol::read<S>(state().retired) > token.last || protocol::read<S>(ended()) != 0;
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
    return !Policy::keeps_receives || protocol::read<S>(slot_of(index).lap) == lap_of(index);
  }
  /// Lets receives be posted where that of `index` lay, once it has ended.
  XIO_DEVICE_INLINE void let_go(uint64_t index) const {
    if constexpr (Policy::keeps_receives) {
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
  XIO_DEVICE_INLINE Received answer(uint64_t group, const Token& token, Status pending) const {
    // Read first: it is written last.
    const bool over = protocol::read<S>(ended()) != 0;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    // Decided once: what ends behind the acquire is for the next call.
    const bool arrived = token.count != 0 && protocol::read<S>(state().retired) > token.last;
    if (protocol::any<S>(group, arrived || (over && token.count != 0))) arch::acquire_system();
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
    const uint64_t group = callers();
    Token token;
    token.status = fault;
    for (uint64_t pending = members(group, fault.is_ok()); pending != 0;) {
      const uint32_t wanted = S == Sharing::thread ? 1 : arch::count_lanes(pending);
      const protocol::Claim claim = claim_until(group, wanted, until);
      if (claim.count == 0) {
        if (is_member(pending)) {
          token = Token::refused(protocol::read<S>(state().broken) != 0 ? Status::broken
                                 : IsSame<Until, Now>::value            ? Status::would_block
                                                                        : Status::timed_out);
        }
        break;
      }
      const uint32_t position = protocol::rank<S>(pending);
      const bool served = is_member(pending) && position < claim.count;
      const uint64_t storing = members(group, served);
      if (served) {
        Place place;
        place.index = claim.first + position;
        place.wr_id = place.index;
        SendShape shape;
        shape.entries = handle_.shape.entries;
        shape.entry_shift = handle_.shape.entry_shift;
        const RingSink<Ring, Policy> sink(handle_.rq, shape, place.index, 1);
        Vendor::Receive::encode(handle_.shape, payload, place, sink);
        token.last = place.index;
        token.count = 1;
        token.status = Status::ok;
      }
      const Status status =
          protocol::publish<S, Announced>(state(), group, claim, [&](uint64_t end) { announce(end); });
      if (!status.is_ok()) {
        if (is_member(pending)) token = Token::refused(status);
        break;
      }
      if constexpr (S == Sharing::thread) return token;
      pending &= ~storing;
    }
    if constexpr (S != Sharing::thread) arch::converge(group);
    return token;
  }

  /// A message can come at any time: receives are announced with every post.
  struct Announced : Policy {
    static constexpr Ringing ringing = Ringing::immediate;
  };

  XIO_DEVICE_INLINE void announce(uint64_t end) const {
    if constexpr (Vendor::has_receive_record) {
      arch::store<arch::Scope::system>(handle_.record, Vendor::receive_record(handle_.shape, end));
      if constexpr (Vendor::has_receive_doorbell) arch::wait_stores();
    }
    if constexpr (Vendor::has_receive_doorbell) {
      auto* const doorbell = static_cast<typename Vendor::Doorbell*>(handle_.doorbell);
      if constexpr (S == Sharing::thread) {
        arch::store_mmio_each_lane(doorbell, Vendor::receive_doorbell(handle_.shape, end));
      } else {
        XioComDoorbell<order::Relaxed>(doorbell, Vendor::receive_doorbell(handle_.shape, end));
      }
    }
  }

  template <class Until>
  XIO_DEVICE_INLINE protocol::Claim claim_until(uint64_t group, uint32_t wanted, Until until) {
    const auto now = [&] {
      return protocol::claim<S>(state(), group, wanted, 1, handle_.depth,
                                [&](uint64_t index) { return was_let_go(index); });
    };
    protocol::Claim claim = now();
    if constexpr (!IsSame<Until, Now>::value) {
      for (uint32_t round = 0; XIO_UNLIKELY(claim.count == 0); ++round) {
        const bool look = round == 0 || round % arch::looks_per_clock == arch::looks_per_clock - 1;
        const bool last = look && (!protocol::any<S>(group, !until.passed()) ||
                                   protocol::any<S>(group, protocol::read<S>(state().broken) != 0));
        const uint32_t taken = drain_group(group);
        claim = now();
        if (claim.count != 0 || last) break;
        if (taken == 0) arch::pause(round);
      }
    }
    return claim;
  }

  /// Takes completions that are there, at most one for each lane. Each that is about a receive ends the oldest one;
  /// some devices write others, which say nothing. Returns how many were taken.
  XIO_DEVICE uint32_t drain_group(uint64_t group) {
    constexpr arch::Scope scope = state_scope<S>;
    const uint32_t position = protocol::rank<S>(group);
    uint64_t head = protocol::read<S>(state().retired);
    uint64_t passed = protocol::read<S>(passed_over());
    if constexpr (is_shared<S>) {
      const uint64_t next = protocol::from_leader<S>(group, head + passed);
      if (!protocol::any<S>(group, position == 0 && cq().is_new(cq().look(next), next, 0))) return 0;
      if (!claim_drain<S>(state(), group)) return 0;
      head = protocol::from_leader<S>(group, arch::load<scope>(&state().retired));
      passed = protocol::from_leader<S>(group, arch::load<scope>(&passed_over()));
    }
    uint64_t next = head + passed;
    const uint64_t word = cq().look(next + position);
    const uint32_t taken = unbroken_row<S>(group, cq().is_new(word, next, position));
    if (taken != 0) {
      arch::order_loads<arch::Scope::system>();
      const uint64_t reserved = protocol::read<S>(state().reserved);
      Completion completion;
      bool foreign = false;
      if (position < taken) {
        completion = cq().read(word, next + position);
        if constexpr (Policy::completion_checks) {
          foreign = completion.kind != CompletionKind::nothing &&
                    !cq().is_about(handle_.shape.qpn, completion, word, next + position);
        }
      }
      const bool over = completion.kind == CompletionKind::ended && !foreign;
      // Some devices say of a failure only that it is one; the queue is of receives alone.
      const bool ours = completion.kind == CompletionKind::receive || (!over && !completion.status.is_ok());
      const uint64_t receives = members(group, ours);
      const uint64_t index = head + protocol::rank<S>(receives);
      const bool strange = foreign || completion.kind == CompletionKind::unknown ||
                           (ours ? index >= reserved : completion.kind == CompletionKind::send);
      if (ours && !strange) file(index, completion);
      if constexpr (S != Sharing::thread) arch::converge(group);
      if (XIO_UNLIKELY(protocol::any<S>(group, strange))) protocol::write<S>(state().broken, 1u);
      const uint32_t received = arch::count_lanes(receives);
      head += received;
      passed += taken - received;
      next += taken;
      const auto unacknowledged = static_cast<uint32_t>(next - protocol::read<S>(state().acknowledged));
      if (unacknowledged + handle_.depth >= handle_.cq.size - 1) {
        protocol::before_writing<S>(group);
        if (protocol::leads<S>(group)) cq().template acknowledge<S>(next);
        if (!is_shared<S> || protocol::leads<S>(group)) protocol::write<S>(state().acknowledged, next);
      }
      if constexpr (is_shared<S>) {
        if (protocol::leads<S>(group)) {
          arch::store<scope>(&passed_over(), passed);
          arch::publish<scope>(&state().retired, head);
        }
      } else {
        protocol::before_writing<S>(group);
        passed_over() = passed;
        state().retired = head;
      }
      if (XIO_UNLIKELY(protocol::any<S>(group, over))) {
        if constexpr (is_shared<S>) arch::wait_stores();
        protocol::write<S>(ended(), 1u);
      }
    }
    if constexpr (is_shared<S>) {
      if (protocol::leads<S>(group)) arch::publish<scope>(&state().draining, 0u);
    }
    return taken;
  }

  XIO_DEVICE_INLINE void file(uint64_t index, const Completion& completion) const {
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

  XIO_DEVICE_INLINE uint64_t members(uint64_t group, bool member) const {
    if constexpr (S == Sharing::thread) {
      return member;
    } else {
      return arch::ballot(group, member);
    }
  }
  XIO_DEVICE_INLINE bool is_member(uint64_t lanes) const {
    if constexpr (S == Sharing::thread) {
      return true;
    } else {
      return (lanes >> arch::lane() & 1) != 0;
    }
  }

  ReceiveQueueHandle handle_;
  uint64_t lanes_;  ///< that call together; 0: see protocol::group_of_caller()
};

}  // namespace rdma

XIO_NAMESPACE_END
