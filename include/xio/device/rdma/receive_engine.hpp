// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The engine of an RDMA receive queue: its state, its ring, and the slots that keep results. Taking
/// completions, posting and reading results are functions of an engine and of the group of lanes that call.

#include <xio/device/core/token.hpp>
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

namespace detail {

/// Stores the result of receive `index` in its slot.
template <class Engine>
XIO_DEVICE_INLINE void record_receive(const Engine& engine, uint64_t index, const WorkCompletion& completion) {
  constexpr Sharing sharing = Engine::sharing;
  ReceiveSlot& slot = engine.slot_of(index);
  protocol::write<sharing>(slot.number, uint64_t{0});
  if constexpr (is_shared<sharing>) arch::wait_stores();
  protocol::write<sharing>(slot.status, protocol::pack(completion.status));
  protocol::write<sharing>(slot.flags, static_cast<uint32_t>(completion.flags));
  protocol::write<sharing>(slot.bytes, completion.bytes);
  protocol::write<sharing>(slot.immediate, completion.immediate);
  protocol::write<sharing>(slot.source_qpn, completion.source_qpn);
  // Looked at by those who have seen the count of receives taken, which is published after all of this.
  protocol::write<sharing>(slot.number, index + 1);
}

/// Sink of a protocol::drain() that keeps what receives report. A completion of a receive ends the oldest one; some
/// devices write other completions, which are ignored.
template <class Engine>
class ReceiveSink {
  static constexpr Sharing sharing = Engine::sharing;

 public:
  static constexpr bool looks_ahead = false;

  XIO_DEVICE_INLINE explicit ReceiveSink(const Engine& engine) : engine_(engine) {}

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE bool judge(const Source& source, Group<sharing> group, uint64_t word, uint64_t index, bool fresh) {
    const uint64_t reserved = protocol::claimed(engine_);
    retired_ = group.agreed(protocol::read_retired<sharing>(engine_.state()));
    bool foreign = false;
    if (fresh) {
      completion_ = source.template read<true>(word, index);
      if constexpr (Engine::Policy::completion_checks) {
        foreign = completion_.kind != CompletionKind::nothing &&
                  !source.is_about(engine_.handle().shape.qpn, completion_, word, index);
      }
    }
    const bool over = completion_.kind == CompletionKind::ended && !foreign;
    // Some devices report a failure without its kind; this queue holds receives only.
    ends_ = completion_.kind == CompletionKind::receive || (!over && !completion_.status.is_ok());
    receive_ = retired_ + Group<sharing>::rank_in(group.members(ends_));
    const bool stray = foreign || completion_.kind == CompletionKind::unknown ||
                       (ends_ ? receive_ >= reserved : completion_.kind == CompletionKind::send);
    return fresh && stray;  // check: not a stray one
  }

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE void record(const Source&, Group<sharing> group, bool hit) {
    over_ = group.any(hit && completion_.kind == CompletionKind::ended);
    ends_ = hit && ends_;
    retired_ += arch::count_lanes(group.members(ends_));
    if (ends_) record_receive(engine_, receive_, completion_);
  }

  XIO_DEVICE_INLINE void advance(Group<sharing> group, uint64_t head) const {
    ReceiveState& receives = engine_.receives();
    if constexpr (is_shared<sharing>) {
      if (group.leads()) {
        // order: passed over before count
        arch::store<state_scope<sharing>>(&receives.passed_over, head - retired_);
        // order: results before count
        arch::publish<state_scope<sharing>>(&engine_.state().retired,
                                            over_ ? retired_ | protocol::draining_bit : retired_);
      }
    } else {
      group.before_writing();
      receives.passed_over = head - retired_;
      engine_.state().retired = retired_;
    }
    if (XIO_UNLIKELY(over_)) {
      // order: count before end. By the leader, which has stored `retired`: other lanes are not ordered behind it.
      protocol::publish_by_leader(group, receives.ended, 1u);
      if constexpr (is_shared<sharing>) protocol::leave_drain(engine_.state(), group);
    }
  }

 private:
  const Engine& engine_;
  WorkCompletion completion_;
  uint64_t retired_ = 0;
  uint64_t receive_ = 0;  ///< the receive that the lane's entry ends
  bool ends_ = false;     ///< whether it ends one
  bool over_ = false;     ///< whether no more will end
};

/// ReceiveEngine::drain().
template <class Engine, Sharing S>
XIO_DEVICE uint32_t drain_receives(const Engine& engine, Group<S> group) {
  protocol::Glimpse seen = protocol::glimpse_before_call(engine, group);
  if (!protocol::nobody_drains(engine, group, seen)) return 0;
  const auto source = engine.cq();
  protocol::Found found{};
  if (!protocol::begin_drain(engine, source, group, seen, 1, found)) return 0;
  ReceiveSink<Engine> sink(engine);
  return protocol::drain<true>(engine, source, sink, group, found);
}

}  // namespace detail

/// State, ring and results of a receive queue, of which ReceiveQueue holds one; the `Engine` of the queue protocol
/// (queue/claim.hpp). Parameters as of ReceiveQueue.
template <class VendorFormats, Sharing S, class QueuePolicy>
class ReceiveEngine {
  static_assert(require_vendor<VendorFormats>(),
                "incomplete Vendor; requirements: xio/vendors/rdma/require_vendor.hpp");

 public:
  using Vendor = VendorFormats;
  using Bell = ReceiveBell<Vendor, S, QueuePolicy>;
  using Policy = typename Bell::Policy;
  using Tickets = protocol::PlainTickets;
  static constexpr Sharing sharing = S;
  static constexpr bool retires_entries = false;
  /// Not from a wave that would read the very result for which the others wait, once its own receives are posted.
  static constexpr bool reserves_room = !Policy::keeps_receives;

  XIO_HOST_DEVICE ReceiveEngine(const ReceiveQueueHandle& handle, uint64_t lanes) : handle_(handle), lanes_(lanes) {}

  XIO_HOST_DEVICE const ReceiveQueueHandle& handle() const { return handle_; }
  /// Tells queues apart.
  XIO_DEVICE_INLINE const void* key() const { return handle_.state; }
  /// The group of a call in which each lane acts for itself; determined once per call, in in_groups().
  XIO_DEVICE_ALWAYS_INLINE Callers<S> callers() const { return Callers<S>(Group<S>::of_callers(lanes_, key())); }

  XIO_HOST_DEVICE QueueState& state() const { return handle_.state->queue; }
  XIO_HOST_DEVICE ReceiveState& receives() const { return *handle_.state; }
  XIO_DEVICE_INLINE uint64_t& claims() const { return state().reserved; }
  XIO_DEVICE_INLINE uint32_t depth() const { return handle_.depth; }
  /// Whether the result of the receive whose ring slot `ticket` takes was read. Each lap has its own value, so that a
  /// stale one does not match.
  XIO_DEVICE_INLINE bool is_free(uint64_t ticket) const {
    return !QueuePolicy::keeps_receives || protocol::read<S>(slot_of(ticket).lap) == lap_of(ticket);
  }
  XIO_DEVICE_INLINE bool is_dead() const {
    return protocol::is_broken<S>(state()) || protocol::read<S>(receives().ended) != 0;
  }
  XIO_DEVICE_INLINE Bell bell() const { return Bell(handle_); }
  XIO_DEVICE_INLINE uint64_t cq_head() const {
    return protocol::read_retired<S>(state()) + protocol::read<S>(receives().passed_over);
  }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>{handle_.cq}; }

  /// Takes the available completions, at most one per lane, without waiting. Returns how many.
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const { return detail::drain_receives(*this, group); }

  /// Whether a message has consumed the token's receive, or none will, as far as completions were taken.
  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    return token.count == 0 || protocol::read_retired<S>(state()) > token.last ||
           protocol::read<S>(receives().ended) != 0;
  }

  XIO_DEVICE_INLINE ReceiveSlot& slot_of(uint64_t index) const {
    return handle_.slots[ring::slot(index, handle_.shape.entries - 1)];
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

 private:
  XIO_DEVICE_INLINE uint32_t lap_of(uint64_t index) const {
    return static_cast<uint32_t>(index) & ~(handle_.shape.entries - 1);
  }

  ReceiveQueueHandle handle_;
  uint64_t lanes_;  ///< lanes that call together, as a mask; 0: see Group::of_callers()
};

namespace detail {

/// A receive ring in the form that RingSink expects.
struct ReceiveRing {
  static constexpr bool power_of_two = true;
  static constexpr bool wraps = false;
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const SendShape& shape) { return shape.entry_shift; }
};

/// Posts a receive of each lane of `group`, unless the caller refuses it because of `fault`.
template <class Engine, Sharing S, class Payload, class Until>
XIO_DEVICE Token post_receive(const Engine& engine, Group<S> group, Status fault, const Payload& payload, Until until) {
  const ReceiveQueueHandle& q = engine.handle();
  // check: queue in GPU memory, of receives
  if (!is_placed_for<typename Engine::Policy>(q.gpu_memory)) fault = Status::unsupported;
  Token token = Token::refused(fault);
  for (uint64_t pending = group.members(fault.is_ok()); pending != 0;) {
    const uint32_t wanted = S == Sharing::thread ? 1 : arch::count_lanes(pending);
    // A wait for the second part of a claim could be one for the results of the first, which these lanes read later.
    const uint32_t fitting = wanted < engine.depth() ? wanted : engine.depth();
    const uint32_t least = S == Sharing::thread || IsSame<Until, Now>::value ? 1 : fitting;
    const protocol::Claim claim =
        protocol::claim_until(engine, group, protocol::begin_claim(engine), wanted, least, until);
    if (claim.count == 0) {
      // The queue's failure may have been seen by one lane only.
      const bool broken = group.any(engine.is_dead());
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
      shape.entries = q.shape.entries;
      shape.entry_shift = q.shape.entry_shift;
      const RingSink<ReceiveRing, typename Engine::Policy> sink(q.rq, shape, place.index, 1);
      Engine::Vendor::Receive::encode(q.shape, payload, place, sink);
      token.last = place.index;
      token.count = 1;
      token.status = Status::ok;
    }
    protocol::publish(engine, group, claim);
    if constexpr (S == Sharing::thread) return token;
    pending &= ~storing;
  }
  group.converge();
  return token;
}

/// Current result of the token's receive. `pending`: the status if there is none yet.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Received result_of(const Engine& engine, Group<S> group, const Token& token, Status pending) {
  const bool over = protocol::read<S>(engine.receives().ended) != 0;
  if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();  // order: end before count. It is written last.
  // Evaluated once: what ends after the acquire is left to the next call.
  const bool arrived = token.count != 0 && protocol::read_retired<S>(engine.state()) > token.last;
  // order: completion before data. The drain of a queue that is not shared has ordered its loads.
  if (group.any(arrived || (over && token.count != 0))) arch::acquire_published<state_scope<S>, is_shared<S>>();
  Received received;
  if (token.count == 0) {
    received.status = token.status;
  } else if (!arrived) {
    // Not `ended`, which may have been stored since together with a count that includes this receive.
    const bool broken = protocol::is_broken<S>(engine.state());
    received.status = over ? Status(Status::flushed) : broken ? Status(Status::broken) : pending;
  } else {
    const ReceiveSlot& slot = engine.slot_of(token.last);
    received.status = protocol::unpack(protocol::read<S>(slot.status));
    received.bytes = protocol::read<S>(slot.bytes);
    received.flags = protocol::read<S>(slot.flags);
    received.immediate = protocol::read<S>(slot.immediate);
    received.source_qpn = protocol::read<S>(slot.source_qpn);
    // order: values before number. A drain that records a later receive there changes it first.
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    if (protocol::read<S>(slot.number) == token.last + 1) {
      engine.let_go(token.last);
    } else {
      received.status = protocol::is_broken<S>(engine.state()) ? Status::broken : Status::expired;
    }
  }
  return received;
}

/// ReceiveQueue::wait().
template <class Engine, Sharing S>
XIO_DEVICE Received wait_received(const Engine& engine, Group<S> group, const Token& token, Deadline until) {
  bool late = false;
  for (uint32_t round = 0; group.any(!engine.has_ended(token) && !late); ++round) {
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      late = until.passed() || engine.is_dead();
      protocol::help(engine, group);
    }
    if (engine.drain(group) == 0) arch::pause(round);
  }
  return result_of(engine, group, token, Status::timed_out);
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
