// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An RDMA queue pair in a kernel: put, get, send, atomics; wait for tokens.

#include <xio/device/core/options.hpp>
#include <xio/device/rdma/batch.hpp>
#include <xio/device/rdma/waits.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// The send side of an RDMA queue pair. Trivially copyable; a kernel constructs it from a handle.
///
/// Lanes that call a function together act as a group (see Sharing), with one completion entry for all of them, since
/// operations end in the order in which they were posted. Each lane gets its own Status or Token. For buffers of other
/// waves of the block see nvme::Queue.
///
/// A token's `count` is in units of the send ring (MLX5: 64 bytes; BNXT in variable mode: 16 bytes; others: entries).
/// After an operation has failed, every later one ends with Status::flushed, and once the ring is full submissions are
/// refused with Status::broken until the host recovers the queue pair.
/// @tparam Vendor mlx5::Vendor or another vendor (xio/vendors/*/traits.hpp).
/// @tparam S      concurrent users of the queue pair; wider use is a data race. Shared modes (block, grid) and
///                exclusive modes (thread, wave) keep different state: do not mix them on one queue pair.
/// @tparam Policy xio::Policy<>, Unchecked, or a policy derived from them (policy.hpp).
/// @tparam Holder storage of the queue's state: InMemory, or InRegisters in a session().
/// @snippet rdma.cpp queue_pair
template <class Vendor, Sharing S = Sharing::grid, class Policy = xio::Policy<>, class Holder = InMemory>
class QueuePair {  // for member templates see nvme::Queue
 public:
  static constexpr Sharing sharing = S;
  /// Whether the queue's state is in memory, and not in registers.
  static constexpr bool stored_each_time = Holder::stored_each_time;

  /// @param lanes bit i for lane i: the lanes of the wave that use this object, all in every call; 0: see Sharing.
  XIO_HOST_DEVICE explicit QueuePair(const QueuePairHandle& queues, uint64_t lanes = 0) : engine_(queues, lanes) {}
  XIO_DEVICE_INLINE const QueuePairHandle& handle() const { return engine_.handle(); }  ///< what it was made from

  /// A view that keeps the queue's state in registers until its end() is called: for a loop of one thread, or of one
  /// wave whose lanes all take part in every call.
  /// @snippet rdma.cpp session
  template <Sharing Used = S>
  XIO_DEVICE_INLINE QueuePair<Vendor, S, Policy, InRegisters> session() const {
    static_assert(!is_shared<Used>, "only a queue that one thread or one wave owns can live in registers");
    static_assert(Vendor::doorbell_stride == 0, "session(): this vendor's doorbell alternation must be kept in memory");
    [[maybe_unused]] const auto group = engine_.callers();
    return QueuePair<Vendor, S, Policy, InRegisters>(handle(), engine_.lanes());
  }
  /// Of a session(): writes the state back; the session must not be used afterwards.
  /// @snippet rdma.cpp session
  template <class Used = Holder>
  XIO_DEVICE_INLINE void end() {
    static_assert(!Used::stored_each_time, "only a session() ends");
    [[maybe_unused]] const auto group = engine_.callers();
    engine_.end();
  }

  /// The deadline `from_now` after this call, with the clock rate that the handle holds.
  /// @snippet rdma.cpp deadline
  XIO_DEVICE_INLINE Deadline deadline(Duration from_now) const {
    return xio::deadline(from_now, handle().clock_hz ? handle().clock_hz : arch::clock_hz);
  }

  /// Posts one operation per calling lane; waits for space in the queue until the deadline. Of lanes that post
  /// together, only the last lane's operation is signalled.
  /// @param payload the data: NoPayload, OneSge, SgeList, InlineBytes or InlineValue.
  /// @param until   a Deadline, or Now{}: a lane that finds the queue full gets a token refused with
  ///                Status::would_block.
  /// @param options measurement, here and in the calls below: Step::enqueue, building included, and sq_doorbell
  /// @return a token; a refused token carries the reason, and nothing was posted.
  /// @snippet rdma.cpp submit
  template <class Payload, class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token submit(const Work& work, const Payload& payload, Until until,
                                 const CallOptions& options = CallOptions()) {
    return submit_checked(Status(), work, payload, until, options);
  }
  /// Posts one operation per calling lane without waiting and without taking completions.
  /// @snippet rdma.cpp try_submit
  template <class Payload, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token try_submit(const Work& work, const Payload& payload,
                                     const CallOptions& options = CallOptions()) {
    return submit(work, payload, Now{}, options);
  }

  /// Posts `count` pieces together as one operation: one claim, one release, one doorbell and one completion.
  ///
  /// All lanes of the wave, or the lanes named to the constructor, pass the same arguments; if they differ in
  /// `operation` or `count`, the batch is refused with Status::invalid_argument. The token is identical in all lanes
  /// and denotes the whole batch; wait for it with wait_batch(), which returns the first failure.
  /// @param operation Operation::put or Operation::get
  /// @param count     1 to the number of entries that fit in QueuePairHandle::most_units()
  /// @param until     a Deadline; with Now{} the batch is refused with Status::would_block if it does not fit as a
  ///                  whole
  /// @snippet rdma.cpp submit_batch
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE Token submit_batch(Operation operation, const Piece* pieces, uint32_t count, Until until,
                                const CallOptions& options = CallOptions()) {
    return in_whole_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::submit_batch(engine_, group, operation, pieces, count, until, meter(options));
    });
  }

  /// RDMA write from local memory to remote memory of the same length.
  /// @snippet rdma.cpp put
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token put(const RemoteSpan& to, const RegionSpan& from, Until until,
                              const CallOptions& options = CallOptions()) {
    return transfer(Operation::put, to, from, 0, until, options);
  }
  /// RDMA write like put() with immediate data: the write consumes a receive of the peer, whose completion carries
  /// `immediate`.
  /// @snippet rdma.cpp put_immediate
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token put_immediate(const RemoteSpan& to, const RegionSpan& from, uint32_t immediate, Until until,
                                        const CallOptions& options = CallOptions()) {
    return transfer(Operation::put_immediate, to, from, immediate, until, options);
  }
  /// RDMA read from remote memory to local memory of the same length.
  /// @snippet rdma.cpp get
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token get(const RegionSpan& to, const RemoteSpan& from, Until until,
                              const CallOptions& options = CallOptions()) {
    return transfer(Operation::get, from, to, 0, until, options);
  }
  /// RDMA write of an 8-byte value, inline in the entry.
  /// @snippet rdma.cpp put_value
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token put_value(const RemoteSpan& to, uint64_t value, Until until,
                                    const CallOptions& options = CallOptions()) {
    Work work = detail::work_of(Operation::put, to);
    const Status fault = to.length == 8 ? to.reach.status() : Status(Status::invalid_argument);
    return submit_checked(fault, work, InlineValue{value}, until, options);
  }
  /// Sends a message, for which the receiver must have posted a receive.
  /// @snippet rdma.cpp send
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token send(const RegionSpan& from, Until until, const CallOptions& options = CallOptions()) {
    const Work work = detail::work_of(Operation::send, {});
    return submit_span(from.reach.status(), work, from, until, options);
  }
  /// Sends a message like send(), with immediate data.
  /// @snippet rdma.cpp send_immediate
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token send_immediate(const RegionSpan& from, uint32_t immediate, Until until,
                                         const CallOptions& options = CallOptions()) {
    Work work = detail::work_of(Operation::send_immediate, {});
    work.immediate = immediate;
    return submit_span(from.reach.status(), work, from, until, options);
  }
  /// Sends a message like send(); its arrival invalidates the receiver's key `rkey`.
  /// @snippet rdma.cpp send_invalidate
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token send_invalidate(const RegionSpan& from, uint32_t rkey, Until until,
                                          const CallOptions& options = CallOptions()) {
    Work work = detail::work_of(Operation::send_invalidate, {});
    work.immediate = rkey;
    return submit_span(from.reach.status(), work, from, until, options);
  }
  /// RDMA write of data, then of `value` to 8 bytes of remote memory: a reader that sees the value sees the data. The
  /// memory must not be registered for relaxed ordering.
  /// @return the token of the second write, which ends after the first. If it is refused, the signal is not written;
  ///         the data may still arrive.
  /// @snippet rdma.cpp put_signal
  template <class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token put_signal(const RemoteSpan& to, const RegionSpan& from, const RemoteSpan& signal,
                                     uint64_t value, Deadline until, const CallOptions& options = CallOptions()) {
    return put_then(to, from, signal, Status(), InlineValue{value}, until, options);
  }
  /// RDMA write of data, then of an 8-byte signal from registered memory, for vendors without inline data.
  /// @snippet rdma.cpp put_signal_from
  template <class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token put_signal(const RemoteSpan& to, const RegionSpan& from, const RemoteSpan& signal,
                                     const RegionSpan& value, Deadline until,
                                     const CallOptions& options = CallOptions()) {
    const Status fault = value.length == 8 ? value.template fault<Policy>() : Status(Status::invalid_argument);
    return put_then(to, from, signal, fault, OneSge{{value.address, value.length, value.key}}, until, options);
  }
  /// Adds `add` atomically to 8 bytes of remote memory; `old` receives the previous value.
  /// @snippet rdma.cpp fetch_add
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token fetch_add(const RemoteSpan& where, uint64_t add, const RegionSpan& old, Until until,
                                    const CallOptions& options = CallOptions()) {
    Work work = detail::work_of(Operation::fetch_add, where);
    work.swap_add = add;
    return submit_span(atomic_fault(where, old), work, old, until, options);
  }
  /// Stores `swap` atomically in 8 bytes of remote memory if they hold `compare`; `old` receives the previous value.
  /// @snippet rdma.cpp compare_swap
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token compare_swap(const RemoteSpan& where, uint64_t compare, uint64_t swap, const RegionSpan& old,
                                       Until until, const CallOptions& options = CallOptions()) {
    Work work = detail::work_of(Operation::compare_swap, where);
    work.swap_add = swap;
    work.compare = compare;
    return submit_span(atomic_fault(where, old), work, old, until, options);
  }

  /// Waits until the token's operation has ended, and returns its status. Each lane waits for its own token.
  /// After Status::timed_out the operation is still in flight: its buffer belongs to the device.
  /// @param options measurement: Step::cq_poll
  /// @snippet rdma.cpp wait
  template <class CallOptions = NoOptions>
  XIO_DEVICE Status wait(const Token& token, Deadline until, const CallOptions& options = CallOptions()) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::wait(engine_, group, token, until, meter(options));
    });
  }

  /// Waits for a batch that the whole group posted. All lanes return the same status: that of the first failed piece,
  /// else Status::ok.
  /// @snippet rdma.cpp submit_batch
  XIO_DEVICE Status wait_batch(const Token& batch, Deadline until) {
    return in_whole_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      telemetry::Off off;
      return protocol::from_leader(group, detail::wait(engine_, group, batch, until, off));
    });
  }

  /// Waits for all of the calling lane's tokens. Returns the first error in array order, else Status::ok.
  /// @snippet rdma.cpp wait_all
  XIO_DEVICE Status wait_all(const Token* tokens, uint32_t count, Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      telemetry::Off off;
      Status result;
      for (uint32_t i = 0; group.any(i < count); ++i) {
        const Status status = detail::wait(engine_, group, i < count ? tokens[i] : Token(), until, off);
        if (result.is_ok()) result = status;
      }
      return result;
    });
  }

  /// Waits until one of the calling lane's tokens has ended. Sets `which` to its index and returns its status.
  /// Operations of a queue pair end in posting order, so it is the oldest one, unless one was refused.
  /// @snippet rdma.cpp wait_any
  XIO_DEVICE Status wait_any(const Token* tokens, uint32_t count, Deadline until, uint32_t& which) {
    which = 0;
    for (uint32_t i = 1; i < count && tokens[which].submitted(); ++i) {
      if (!tokens[i].submitted() || tokens[i].last < tokens[which].last) which = i;
    }
    const Status status = wait(count != 0 ? tokens[which] : Token(), until);
    return count != 0 ? status : Status(Status::invalid_argument);
  }

  /// Polls once: returns Status::pending if the operation has not ended yet.
  /// @snippet rdma.cpp test
  template <class Used = Policy>
  XIO_DEVICE_INLINE Status test(const Token& token) {
    static_assert(Used::inbound_in_order,
                  "data may arrive after its completion: use wait(), which flushes inbound writes");
    return in_groups(engine_,
                     [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return detail::test(engine_, group, token); });
  }

  /// Waits until every operation posted before this call, by any user of the queue pair, has ended. Under policies with
  /// late data (Placed) their data is visible then, unless the queue pair has failed, which the status tells.
  /// @snippet rdma.cpp fence
  XIO_DEVICE Status fence(Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::wait_for_all<false>(engine_, group, until); });
  }

  /// Waits like fence(), and returns the status of the first failed operation, if any.
  /// @snippet rdma.cpp quiet
  XIO_DEVICE Status quiet(Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::wait_for_all<true>(engine_, group, until); });
  }

  /// Invalidates the key of local memory after every operation posted before on this queue pair, and waits for the end.
  /// Vendors whose devices offer it to their users (`has_local_invalidate`), and exclusive queue pairs, only; it serves
  /// devices that report the end of local operations out of order with the others.
  /// @snippet rdma.cpp invalidate
  template <Sharing Used = S>
  XIO_DEVICE Status invalidate(uint32_t lkey, Deadline until) {
    static_assert(!is_shared<Used>, "invalidate() needs an exclusive queue pair: others could post in between");
    static_assert(Vendor::has_local_invalidate,
                  "not for users of this device: deregister the memory on the host (MLX5: Options::memory_operations)");
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::invalidate(engine_, group, lkey, until); });
  }

  /// Waits until the data of get() and atomics whose completions were seen is visible to the calling wave. Needed if
  /// data and completion queue lie in different memories: the device reads the data's memory, which pushes earlier
  /// writes. Waits, quiet() and fence() do this themselves under policies with late data (Placed).
  /// @return Status::unsupported if the host provided no QueuePairHandle::flush
  /// @snippet rdma.cpp flush_inbound
  XIO_DEVICE Status flush_inbound(Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::flush_inbound(engine_, group, until); });
  }

  /// Announces deferred submissions (Deferred policies); otherwise does nothing.
  /// @snippet rdma.cpp ring
  XIO_DEVICE_INLINE void ring() {
    if constexpr (Policy::ringing == Ringing::deferred)
      (void)in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return engine_.ring(group), true; });
  }
  void flush() = delete;  // flush() is now ring(): compilers quote this line to who calls it

  /// Takes the available completions, without waiting. Returns how many.
  /// @snippet rdma.cpp drain
  template <class CallOptions = NoOptions>
  XIO_DEVICE_INLINE uint32_t drain(const CallOptions& options = CallOptions()) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      const uint32_t taken =
          detail::drain(engine_, group, protocol::glimpse_before_call(engine_, group), meter(options)).count;
      if (taken == 0) protocol::help<false>(engine_, group);
      return taken;
    });
  }

 private:
  template <class CallOptions>
  XIO_HOST_DEVICE static constexpr auto& meter(const CallOptions& options) {
    static_assert(!CallOptions::notifies,
                  "queue pairs do not support notify() and keep(): wait for the token, or use put_signal()");
    return options.telemetry();
  }

  XIO_HOST_DEVICE static constexpr Status atomic_fault(const RemoteSpan& where, const RegionSpan& old) {
    if (where.length != atomic_bytes || old.length != atomic_bytes) return Status::invalid_argument;
    if (where.address % atomic_bytes != 0) return Status::misaligned;
    if (!where.atomics) return Status::unsupported;  // check: memory for atomics
    return (where.reach & old.reach).status();
  }

  /// Refuses data in entries of vendors whose entries hold none.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr void require_payload() {
    static_assert(Vendor::has_inline || !Payload::is_inline,
                  "this vendor's entries hold no data: pass registered memory (a RegionSpan, OneSge or SgeList); for "
                  "put_signal() a RegionSpan of 8 bytes that hold the value");
  }

  /// A write of data followed by a write of 8 bytes. Arguments of both are checked before either is posted.
  template <class Payload, class CallOptions>
  XIO_DEVICE_INLINE Token put_then(const RemoteSpan& to, const RegionSpan& from, const RemoteSpan& signal, Status fault,
                                   const Payload& value, Deadline until, const CallOptions& options) {
    require_payload<Payload>();
    Work first = detail::work_of(Operation::put, to);
    first.flags = 0;
    const OneSge data{{from.address, from.length, from.key}};
    const Work second = detail::work_of(Operation::put, signal);
    Token token;
    if constexpr (Policy::argument_checks) {
      if (signal.length != 8 || to.length != from.length) fault = Status::invalid_argument;
      if (fault.is_ok()) fault = (to.reach & from.reach & signal.reach).status();
      if (!is_placed_for<Policy>(from.memory)) fault = Status::unsupported;
      if (fault.is_ok()) fault = detail::check(engine_, first, data);
      if (fault.is_ok()) fault = detail::check(engine_, second, value);
      token.status = fault;
    }
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      Token last = detail::post(engine_, group, token.status.is_ok(), first, data, until, token, meter(options));
      const bool posted = last.count != 0;
      if (posted) last = Token();
      return detail::post(engine_, group, posted, second, value, until, last, meter(options));
    });
  }

  template <class Until, class CallOptions>
  XIO_DEVICE_INLINE Token transfer(Operation operation, const RemoteSpan& remote, const RegionSpan& local,
                                   uint32_t immediate, Until until, const CallOptions& options) {
    Work work = detail::work_of(operation, remote);
    work.immediate = immediate;
    Status fault = (remote.reach & local.reach).status();
    if (remote.length != local.length) fault = Status::invalid_argument;
    return submit_span(fault, work, local, until, options);
  }

  template <class Until, class CallOptions>
  XIO_DEVICE_INLINE Token submit_span(Status fault, const Work& work, const RegionSpan& local, Until until,
                                      const CallOptions& options) {
    if (!is_placed_for<Policy>(local.memory)) fault = Status::unsupported;  // check: data in GPU memory
    return submit_checked(fault, work, OneSge{{local.address, local.length, local.key}}, until, options);
  }

  template <class Payload, class Until, class CallOptions>
  XIO_DEVICE_INLINE Token submit_checked(Status fault, const Work& work, const Payload& payload, Until until,
                                         const CallOptions& options) {
    require_payload<Payload>();
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::submit(engine_, group, fault, work, payload, until, meter(options));
    });
  }

  SendEngine<Vendor, S, Policy, Holder> engine_;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
