// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Taking completions of an RDMA send queue. Functions of a SendEngine and of the group of lanes that call.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/rdma/bell.hpp>
#include <xio/device/rdma/collapsed.hpp>
#include <xio/device/rdma/completions.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

template <class Engine>
XIO_DEVICE_INLINE Progress known_now(const Engine& engine) {
  constexpr Sharing sharing = Engine::sharing;
  return {protocol::read_retired<sharing>(engine.state()), protocol::read<sharing>(engine.send().operations)};
}

/// Records the first failure; all later operations were flushed.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE void record_failure(const Engine& engine, Group<S> group, uint64_t failures, uint64_t end,
                                        Status status) {
  SendState& send = engine.send();
  const uint32_t source = arch::first_lane(failures);
  const uint64_t failed_end = group.from_lane(end, source);
  const uint32_t packed = group.from_lane(protocol::pack(status), source);
  if (group.any(protocol::read<S>(send.failed_end) != 0)) return;
  protocol::write_by_leader(group, send.failed_status, packed);
  protocol::publish_by_leader(group, send.failed_end, failed_end);
  // order: failure before end. A waiter that sees the end then checks whether its operation is the failed one.
  if constexpr (!Engine::Vendor::has_flush_completions) protocol::publish_by_leader(group, send.ended, 1u);
}

/// Records that the device will write no more completions: what is posted was flushed.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE void record_end(const Engine& engine, Group<S> group, uint64_t end) {
  SendState& send = engine.send();
  if (!group.any(protocol::read<S>(send.failed_end) != 0)) {
    protocol::write_by_leader(group, send.failed_status, protocol::pack(Status::flushed));
    protocol::publish_by_leader(group, send.failed_end, end + 1);
  }
  protocol::publish_by_leader(group, send.ended, 1u);
}

/// Sink of a protocol::drain() that counts the operations of a send queue, which end in order.
template <class Engine>
class SendSink {
  static constexpr Sharing sharing = Engine::sharing;
  using Vendor = typename Engine::Vendor;

 public:
  static constexpr bool looks_ahead = false;

  /// Loads the progress, which nobody else changes, while the entries are on their way.
  XIO_DEVICE_INLINE explicit SendSink(const Engine& engine) : engine_(engine), known_(known_now(engine)) {}

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE bool judge(const Source& source, Group<sharing>, uint64_t word, uint64_t index, bool fresh) {
    const QueuePairHandle& q = engine_.handle();
    now_ = known_;
    if constexpr (Errors) last_ = known_;  // if none is taken
    const int64_t reserved = protocol::claimed_or_broken(engine_);
    if (fresh) {
      completion_ = Errors ? source.template read<false>(word, index) : source.read_success(word, index);
      if constexpr (Engine::Policy::completion_checks) {
        const bool ours = source.is_about(q.shape.qpn, completion_, word, index);
        // check: of this queue pair
        if (completion_.kind != CompletionKind::nothing && !ours) completion_.kind = CompletionKind::unknown;
      }
      if (completion_.kind == CompletionKind::send) {
        now_ = Vendor::progress(q.shape, known_, completion_, [&](uint64_t offset) {
          // order: entry before its completion
          return arch::load<arch::Scope::system>(
              reinterpret_cast<const uint32_t*>(static_cast<const char*>(q.sq) + offset));
        });
      }
    }
    // A completion of an operation that is not in flight, or of another queue pair. Lanes without an entry may have
    // read `reserved` before the progress was made.
    bool stray = static_cast<int64_t>(now_.units) > reserved;
    // These two counters count on from `known` and never decrease.
    const bool adds =
        !Errors && (completion_.counts == Counter::next_unit || completion_.counts == Counter::next_message);
    if (!adds) stray |= static_cast<int64_t>(now_.units) < static_cast<int64_t>(known_.units);
    if constexpr (Errors) {
      stray |= completion_.kind == CompletionKind::unknown;
      stray |= completion_.kind == CompletionKind::receive;
      // A failure of an operation that has already ended.
      bool again = !completion_.status.is_ok();
      again &= completion_.kind == CompletionKind::send;
      again &= now_.units == known_.units;
      stray |= again;
    }
    stray &= fresh;
    return stray;
  }

  XIO_DEVICE_INLINE bool is_special(bool present) const { return present && completion_.kind != CompletionKind::send; }

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE void record(const Source&, Group<sharing> group, bool hit) {
    if constexpr (sharing != Sharing::thread) {
      const uint32_t newest = arch::last_lane(group.members(hit));
      last_ = {group.from_lane(now_.units, newest), 0};
      if constexpr (Vendor::counts_operations) last_.operations = group.from_lane(now_.operations, newest);
    } else {
      last_ = now_;
    }
    succeeded_ = last_.units;
    if (Errors && XIO_UNLIKELY(group.any(hit && !completion_.status.is_ok()))) {
      succeeded_ = 0;
      // SendState::ended ends waits for the operations before, whose entries other lanes have read.
      group.converge();
      const uint64_t failures =
          group.members(hit && completion_.kind == CompletionKind::send && !completion_.status.is_ok());
      if (failures != 0) record_failure(engine_, group, failures, now_.units, completion_.status);
      if (group.any(hit && completion_.kind == CompletionKind::ended)) record_end(engine_, group, last_.units);
    }
  }

  XIO_DEVICE_INLINE void advance(Group<sharing> group, uint64_t head) const {
    SendState& send = engine_.send();
    protocol::write_by_leader(group, send.cq_head, head);
    if constexpr (Vendor::counts_operations) protocol::write_by_leader(group, send.operations, last_.operations);
    if constexpr (is_shared<sharing>) {
      protocol::publish_by_leader(group, engine_.state().retired, last_.units);
    } else {
      engine_.state().retired = last_.units;
    }
  }

  /// Taken::succeeded: a queue pair that has failed completes nothing with success.
  XIO_DEVICE_INLINE uint64_t succeeded() const { return succeeded_; }

 private:
  const Engine& engine_;
  Progress known_;   ///< before
  Progress now_{};   ///< with the lane's entry
  Progress last_{};  ///< with all entries that are taken
  uint64_t succeeded_ = 0;
  WorkCompletion completion_;
};

/// What a drain has taken.
struct Taken {
  uint32_t count = 0;      ///< completions
  uint64_t succeeded = 0;  ///< all operations before this ticket have ended, with success; 0: not known
};

/// Takes the entries that begin_drain() found; see protocol::drain().
template <bool Errors, class Engine, class Source, Sharing S>
XIO_DEVICE_INLINE Taken take_completions(const Engine& engine, const Source& source, Group<S> group,
                                         const protocol::Found& found) {
  SendSink<Engine> sink(engine);
  const uint32_t count = protocol::drain<Errors>(engine, source, sink, group, found);
  return {count, sink.succeeded()};
}

/// begin_drain() of a collapsed completion queue.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE bool begin_collapsed(const Engine& engine, Group<S> group, const protocol::Glimpse& seen) {
  if constexpr (is_shared<S>) {
    if (!protocol::claim_drain(engine.state(), group, seen.retired)) return false;
    const CollapsedReader<typename Engine::Vendor, S> entry(engine.handle(), group);
    const uint64_t word = entry.look();
    const Progress known = known_now(engine);
    const uint64_t in_flight = protocol::claimed(engine) - known.units;
    if (group.any(group.leads() && entry.is_new(word, known, in_flight))) return true;
    protocol::leave_drain(engine.state(), group);
    return false;
  }
  return true;
}

/// Takes what the entry of a collapsed completion queue reports, as one completion.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Taken drain_collapsed(const Engine& engine, Group<S> group) {
  using Vendor = typename Engine::Vendor;
  QueueState& state = engine.state();
  SendState& send = engine.send();
  const CollapsedReader<Vendor, S> entry(engine.handle(), group);
  const Progress known = known_now(engine);
  const uint64_t in_flight = group.from_leader(protocol::claimed(engine) - known.units);
  const uint64_t word = entry.look();
  CollapsedNews news;
  if (entry.is_new(word, known, in_flight) && !group.any(protocol::read<S>(send.ended) != 0)) {
    news = entry.read(word, known, in_flight, Engine::Policy::completion_checks);
  }
  // All lanes have read the send ring before it may be written again.
  group.converge();
  if (news.kind == CompletionKind::ended) record_end(engine, group, known.units);
  if (news.kind == CompletionKind::send) {
    if (XIO_UNLIKELY(!news.status.is_ok())) record_failure(engine, group, group.mask(), news.failed_end, news.status);
    if constexpr (Vendor::counts_operations) protocol::write_by_leader(group, send.operations, news.now.operations);
  }
  const uint64_t units = news.kind == CompletionKind::send ? news.now.units : known.units;
  // Lets other groups drain, too.
  if (is_shared<S> || news.kind == CompletionKind::send) protocol::publish_by_leader(group, state.retired, units);
  if (XIO_UNLIKELY(news.kind == CompletionKind::unknown)) protocol::break_queue(engine, group);
  const bool clean = news.kind == CompletionKind::send && news.status.is_ok();
  return {news.kind != CompletionKind::nothing, clean ? news.now.units : 0};
}

/// Whether drains are called, with the entries found once for all.
template <class Engine>
constexpr bool drains_out_of_line =
    arch::calls_save_registers && is_shared<Engine::sharing> && !Engine::Vendor::has_collapsed_cq;

template <class Engine, Sharing S>
XIO_DEVICE_INLINE Taken drain_here(const Engine& engine, Group<S> group, const protocol::Glimpse& seen);

/// drain_here() as one copy per kernel. Its parameters are single words, since these are passed in registers.
/// @param seen the members of the result of begin_drain(), or of glimpse()
/// @tparam Seen protocol::Found or protocol::Glimpse
template <class Engine, class Seen, class... Words>
XIO_LEAF XIO_DEVICE Taken drain_once(QueueState* state, SendState* send, void* sq, const void* entries,
                                     const uint32_t* producer, uint32_t* record, void* doorbell, uint64_t cookie,
                                     uint32_t size, uint32_t number, uint32_t qpn, uint32_t units, uint32_t depth,
                                     uint64_t lanes, Words... seen) {
  QueuePairHandle q{};
  q.state = state;
  q.send = send;
  q.sq = sq;
  q.shape.qpn = qpn;
  q.shape.entries = units;
  q.depth = depth;
  q.cq = {entries, producer, record, doorbell, size, number, cookie};
  const Engine engine(q, arch::branches_separate_lanes ? 0 : lanes);
  const Group<Engine::sharing> group(arch::branches_separate_lanes ? arch::active() : lanes);
  if constexpr (IsSame<Seen, protocol::Glimpse>::value) {
    return drain_here(engine, group, protocol::Glimpse{seen...});
  } else {
    return take_completions<true>(engine, engine.cq(), group, protocol::Found{seen...});
  }
}

template <class Seen, class Engine, Sharing S, class... Words>
XIO_DEVICE_INLINE Taken drain_out_of_line(const Engine& engine, Group<S> group, Words... seen) {
  const QueuePairHandle& q = engine.handle();
  return drain_once<Engine, Seen>(q.state, q.send, q.sq, q.cq.entries, q.cq.producer, q.cq.record, q.cq.doorbell,
                                  q.cq.cookie, q.cq.size, q.cq.number, q.shape.qpn, q.shape.entries, q.depth,
                                  arch::branches_separate_lanes ? 0 : group.mask(), seen...);
}

/// Drain with error handling: takes what begin_drain() found, an entry that reports anything but success among it.
template <class Engine, Sharing S>
XIO_COLD XIO_DEVICE uint32_t take_errors(const Engine& engine, Group<S> group, protocol::Found found) {
  if constexpr (arch::calls_save_registers && Engine::stored_each_time) {
    return drain_out_of_line<protocol::Found>(engine, group, found.head, found.word).count;
  } else {
    return take_completions<true>(engine, engine.cq(), group, found).count;
  }
}

template <class Engine, Sharing S>
XIO_DEVICE_INLINE Taken drain_here(const Engine& engine, Group<S> group,
                                   [[maybe_unused]] const protocol::Glimpse& seen) {
  if constexpr (Engine::Vendor::has_collapsed_cq) {
    return XIO_LIKELY(begin_collapsed(engine, group, seen)) ? drain_collapsed(engine, group) : Taken();
  } else {
    const auto source = engine.cq();
    protocol::Found found{};
    if (!protocol::begin_drain(engine, source, group, seen, arch::looks_per_drain, found)) return {};
    if constexpr (is_shared<S>) {
      return take_completions<true>(engine, source, group, found);
    } else {
      const Taken taken = take_completions<false>(engine, source, group, found);
      return XIO_UNLIKELY(taken.count == protocol::met_error) ? Taken{take_errors(engine, group, found)} : taken;
    }
  }
}

/// SendEngine::drain(), which returns the count.
/// @param seen protocol::glimpse_before_call()
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Taken drain(const Engine& engine, Group<S> group, protocol::Glimpse seen) {
  if (!protocol::nobody_drains(engine, group, seen)) return {};
  if constexpr (drains_out_of_line<Engine> && arch::loads_ahead) {
    return drain_out_of_line<protocol::Glimpse>(engine, group, seen.retired, seen.head);
  } else if constexpr (drains_out_of_line<Engine>) {
    return drain_out_of_line<protocol::Glimpse>(engine, group, seen.retired);
  } else {
    return drain_here(engine, group, seen);
  }
}
template <class Engine, Sharing S, class Telemetry>
XIO_DEVICE_INLINE Taken drain(const Engine& engine, Group<S> group, const protocol::Glimpse& seen,
                              Telemetry& telemetry) {
  const uint64_t started = Telemetry::start();
  const Taken taken = drain(engine, group, seen);
  telemetry.stop(telemetry::Step::cq_poll, started);
  return taken;
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
