// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe queue pair in a kernel: submit commands, wait for tokens.
///
/// @snippet nvme.cpp queue

#include <xio/device/core/options.hpp>
#include <xio/device/nvme/batch.hpp>
#include <xio/device/nvme/counted.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// An NVMe queue pair. Trivially copyable; a kernel constructs it from a handle.
///
/// @snippet nvme.cpp read
///
/// Lanes that call a function together act as a group (see Sharing). Each lane gets its own Status or Token.
/// @snippet nvme.cpp tail
///
/// Before a wave submits what another wave of its block has stored, or reads into a buffer that the other one has
/// loaded from, both pass an arch::block_barrier(). `__syncthreads()` is enough with policies other than WriteThrough.
///
/// @tparam S        concurrent users of the queue pair; wider use is a data race. Shared modes (block, grid) and
///                  exclusive modes (thread, wave) keep different state: do not mix them on one queue pair.
/// @tparam Policy   xio::Policy<>, Unchecked, or a policy derived from them (policy.hpp); RingBy names a doorbell other
///                  than MmioDoorbell.
/// @tparam Holder   storage of the queue's state: InMemory, or InRegisters in a session().
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>, class Holder = InMemory>
class Queue {
  // Members that do not suit every queue are templates: the class can be instantiated as a whole.
 public:
  static constexpr Sharing sharing = S;
  /// Whether the queue's state is in memory, and not in registers.
  static constexpr bool stored_each_time = Holder::stored_each_time;

  /// @param lanes bit i for lane i: the lanes of the wave that use this object, all in every call; 0: see Sharing.
  XIO_HOST_DEVICE explicit Queue(const QueueHandle& queue, uint64_t lanes = 0) : engine_(queue, lanes) {}
  XIO_DEVICE_INLINE const QueueHandle& handle() const { return engine_.handle(); }  ///< what it was made from

  /// A view that keeps the queue's state in registers until its end() is called: for a loop of one thread, or of one
  /// wave whose lanes all take part in every call.
  /// @snippet nvme.cpp session
  template <Sharing Used = S>
  XIO_DEVICE_INLINE Queue<S, Policy, InRegisters> session() const {
    static_assert(!is_shared<Used>, "only a queue that one thread or one wave owns can live in registers");
    [[maybe_unused]] const auto group = engine_.callers();
    return Queue<S, Policy, InRegisters>(handle(), engine_.lanes());
  }
  /// Of a session(): writes the state back; the session must not be used afterwards.
  /// @snippet nvme.cpp session
  template <class Used = Holder>
  XIO_DEVICE_INLINE void end() {
    static_assert(!Used::stored_each_time, "only a session() ends");
    [[maybe_unused]] const auto group = engine_.callers();
    engine_.end();
  }

  /// The deadline `from_now` after this call, with the clock rate that the handle holds.
  /// @snippet nvme.cpp deadline
  XIO_DEVICE_INLINE Deadline deadline(Duration from_now) const {
    return xio::deadline(from_now, handle().clock_hz ? handle().clock_hz : arch::clock_hz);
  }

  /// Submits one command per calling lane; waits for space in the queue until the deadline.
  ///
  /// @param pages   the data: a piece of a Region, or any type with `uint64_t bus(uint64_t offset) const`
  ///                (xio/vendors/nvme/pages.hpp); NoData for commands that move none.
  /// @param until   a Deadline; with Now{} the call behaves like try_submit(). Lanes that call together wait until the
  ///                latest of theirs.
  /// @param options notification of completion (Notify policies), and measurement
  /// @return a token; a refused token carries the reason. Commands longer than QueueHandle::max_blocks (verify_blocks,
  ///         …) are split, and the token denotes all parts. A command is also refused with Status::invalid_argument if
  ///         its data size is unknown (CommandSetters::moves()), or if it is too long and cannot be split.
  ///
  /// @snippet nvme.cpp submit
  template <class Pages, class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token submit(const Command& command, const Pages& pages, Until until,
                                 const CallOptions& options = CallOptions()) {
    static_assert(Policy::notifications || !CallOptions::notifies, "notify() and keep() need a policy with Notify");
    static_assert(Policy::inbound_in_order || !CallOptions::notifies,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes; for "
                  "commands that write no data into memory use a queue object whose policy has no Placed");
    static_assert(!detail::is_number<Pages>,
                  "a bare address has no length: pass region.at(offset, bytes) or a page source");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::submit(engine_, group, command, pages, until, options.notified(), options.telemetry());
    });
  }

  /// Submits one command per calling lane without waiting and without taking completions. A lane that finds the queue
  /// full gets a token refused with Status::would_block.
  /// @snippet nvme.cpp try_submit
  template <class Pages, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token try_submit(const Command& command, const Pages& pages,
                                     const CallOptions& options = CallOptions()) {
    return submit(command, pages, Now{}, options);
  }

  /// Reads logical blocks starting at `lba` into all of `to`. Refused with Status::out_of_range if `to` is not inside
  /// its Region, and with Status::invalid_argument if it is not a whole number of blocks.
  /// @snippet nvme.cpp read
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token read(uint64_t lba, const RegionSpan& to, Until until,
                               const CallOptions& options = CallOptions()) {
    return move(Opcode::read, lba, to, until, options);
  }
  /// Writes all of `from` to logical blocks starting at `lba`. Refused like read().
  /// @snippet nvme.cpp write
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE Token write(uint64_t lba, const RegionSpan& from, Until until,
                                const CallOptions& options = CallOptions()) {
    return move(Opcode::write, lba, from, until, options);
  }

  /// Submits `count` pieces together as one operation: one claim, one release, one doorbell.
  ///
  /// All lanes of the group pass the same arguments; if they differ in `operation` or `count`, the batch is refused
  /// with Status::invalid_argument. The token is identical in all lanes and denotes the whole batch; wait for it with
  /// wait_batch().
  /// @param pieces a list, `const Piece*`, or a callable, copied: `pieces(i)` returns piece number `i` < `count`, in
  ///               any lane, in any order and several times; Piece, PieceOf or NotifiedPiece, one type for all
  /// @param count 1 to the queue's depth; transfer() accepts any number.
  /// @param until a Deadline; with Now{} the batch is refused with Status::would_block if it does not fit as a whole
  /// @param options notification: each piece counts; a KeptResult receives the result of the piece that ends last
  ///
  /// @snippet nvme.cpp submit_batch
  template <class Pieces, class Until, class CallOptions = NoOptions>
  XIO_DEVICE Token submit_batch(Opcode operation, Pieces pieces, uint32_t count, Until until,
                                const CallOptions& options = CallOptions()) {
    static_assert(Policy::notifications || !CallOptions::notifies, "notify() needs a policy with Notify");
    static_assert(Policy::inbound_in_order || !CallOptions::notifies,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes; for "
                  "commands that write no data into memory use a queue object whose policy has no Placed");
    return in_whole_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::submit_batch(engine_, group, operation, pieces, count, until, options.notified());
    });
  }

  /// Moves any number of pieces through the queue and waits for all of them, keeping the queue full.
  ///
  /// All lanes of the group pass the same arguments, as of submit_batch(); no NotifiedPiece.
  /// @param progress counts the pieces that have ended; zeroed by the caller, who may poll it, for one call only. Under
  ///                 policies with late data (Placed) their data is visible when the call has returned Status::ok
  /// @return the error of one of the first pieces that failed, or Status::timed_out with operations still in flight:
  ///         `progress.done` is the number that have ended. Errors of the pieces are reported here and in `progress`,
  ///         and not by errors() and quiet().
  ///
  /// @snippet nvme.cpp transfer
  template <class Pieces, class Used = Policy>
  XIO_DEVICE Status transfer(Opcode operation, Pieces pieces, uint32_t count, Deadline until, Notification& progress) {
    static_assert(Used::notifications, "transfer() needs a policy with Notify");
    return in_whole_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::transfer(engine_, group, operation, pieces, count, until, progress);
    });
  }

  /// Waits for a batch that the whole group submitted; each lane waits for its share. All lanes return the same status:
  /// the first error in lane order, else Status::ok.
  /// @snippet nvme.cpp submit_batch
  XIO_DEVICE Status wait_batch(const Token& batch, Deadline until) {
    if constexpr (S == Sharing::thread) {
      return wait(batch, until);
    } else {
      return in_whole_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
        return detail::wait_batch(engine_, group, batch, until);
      });
    }
  }

  /// Waits until the token's operation has ended, and returns its status. Each lane waits for its own token.
  ///
  /// After Status::timed_out the operation is still in flight: its buffer belongs to the device.
  /// @snippet nvme.cpp wait
  template <class CallOptions = NoOptions>
  XIO_DEVICE Status wait(const Token& token, Deadline until, const CallOptions& options = CallOptions()) {
    static_assert(!CallOptions::notifies, "notify() and keep() are for submissions");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::wait(engine_, group, token, until, options.telemetry());
    });
  }

  /// Polls once: returns Status::pending if the operation has not ended yet.
  /// @snippet nvme.cpp test
  template <class Used = Policy>
  XIO_DEVICE Status test(const Token& token) {
    static_assert(Used::inbound_in_order,
                  "data may arrive after its completion: use wait(), which flushes inbound writes");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      engine_.ring(group);
      return detail::test(engine_, group, token);
    });
  }

  /// Waits for all of the calling lane's tokens. Returns the first error in array order, else Status::ok.
  /// @snippet nvme.cpp wait_all
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
  /// @snippet nvme.cpp wait_any
  XIO_DEVICE Status wait_any(const Token* tokens, uint32_t count, Deadline until, uint32_t& which) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::wait_any(engine_, group, tokens, count, until, which);
    });
  }

  /// Waits until a notification has counted operations, whoever submitted them; takes completions of this queue
  /// meanwhile. Then the data of those operations is visible. Each lane has its own arguments.
  /// @param counted in memory that the caller's GPU and the CPU agree on; the queue's operations count in it
  /// @param count   of Notification::done since its owner zeroed it
  /// @return the error of one of the first operations that failed since `counted` was zeroed, in earlier rounds
  ///         included; Status::timed_out or Status::broken with less than `count` counted
  ///
  /// @snippet options.cpp wait_count
  template <class Used = Policy>
  XIO_DEVICE Status wait_count(const Notification& counted, uint64_t count, Deadline until) {
    static_assert(Used::notifications, "wait_count() needs a policy with Notify");
    static_assert(Used::inbound_in_order,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      const auto on_each = [&](auto action) XIO_INLINE_LAMBDA { action(engine_); };
      return detail::wait_count(on_each, group, counted, count, until);
    });
  }

  /// Whether every part of the operation has ended, as far as completions were taken. Takes none, and makes nothing of
  /// the data visible.
  /// @snippet nvme.cpp ended
  XIO_DEVICE_INLINE bool ended(const Token& token) const { return engine_.ended(token); }

  /// Returns the command specific result of an operation that has ended: CQE dword 0 in bits 31:0, dword 1 in bits
  /// 63:32.
  ///
  /// The completion table keeps it until as many further commands as the table has slots were submitted, then the call
  /// returns Status::expired: submit with a KeptResult if the result may be needed later. Returns Status::pending
  /// if, as far as completions were taken, the operation has not ended.
  /// @snippet nvme.cpp result
  XIO_DEVICE_INLINE Status result(const Token& token, uint64_t& value) {
    if (token.count == 0) return token.status;
    uint64_t word = 0;
    const CompletionSlot* const slots = handle().slots;
    const detail::Outcome outcome = detail::look_up<S>(slots, handle().slot_mask, token.last, word);
    if (outcome == detail::Outcome::pending) return Status::pending;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    value = protocol::read<S>(ring::element(slots, handle().slot_mask, token.last).result);
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();  // order: value before claims
    // The slot is overwritten only after the next command with this identifier was submitted.
    const uint64_t next = token.last + handle().slot_mask + 1;
    // check: the slot is the same
    return protocol::claimed_until_now(engine_) <= next ? Status::ok : Status::expired;
  }

  /// Announces deferred submissions (Deferred policies); otherwise does nothing.
  /// @snippet nvme.cpp ring
  XIO_DEVICE_INLINE void ring() {
    if constexpr (Policy::ringing == Ringing::deferred)
      (void)in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return engine_.ring(group), true; });
  }
  void flush() = delete;  // flush() is now ring(): compilers quote this line to who calls it

  /// Makes the caller's plain stores visible to the device. Required before submissions under WriteThrough, reads
  /// included: a store that a cache still holds would be written back over what the device reads into the buffer.
  /// @snippet nvme.cpp publish_payload
  XIO_DEVICE_INLINE void publish_payload() const { arch::release_system(); }

  /// Takes the available completions and records them, without waiting. Returns how many.
  /// @snippet nvme.cpp drain
  template <class CallOptions = NoOptions>
  XIO_DEVICE_INLINE uint32_t drain(const CallOptions& options = CallOptions()) {
    static_assert(!CallOptions::notifies, "notify() and keep() are for submissions");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      detail::NoRecord none;
      const uint32_t taken = engine_.drain_here(group, options.telemetry(), none);
      if (taken == 0) protocol::help<false>(engine_, group);
      return taken;
    });
  }

  /// Takes the available completions and calls `each(const Completion&)` for each, without waiting. Their tokens need
  /// no wait, and their errors are not reported by quiet(). Returns how many were taken.
  ///
  /// A caller can keep its data of a command under Completion::slot (slot_of() returns it after the submission).
  /// Sharing::thread: `each` may submit. Sharing::wave: each lane gets the completions that it took, of any lane's
  /// commands. Completions that other calls take (waits, submissions with a deadline, drain()) are not passed to
  /// `each`.
  /// @param most stops after this number, the largest of the lanes'; a wave may take up to its number of lanes - 1
  /// more.
  ///
  /// @snippet nvme.cpp process_completions
  template <class Each, class CallOptions = NoOptions>
  XIO_DEVICE_INLINE uint32_t process_completions(Each&& each, uint32_t most = ~0u,
                                                 const CallOptions& options = CallOptions()) {
    static_assert(
        !is_shared<S>,
        "process_completions() needs an exclusive queue: a shared one would deliver completions of other callers");
    static_assert(Policy::inbound_in_order,
                  "data may arrive after its completion: use wait(), which flushes inbound writes");
    static_assert(!CallOptions::notifies, "notify() and keep() are for submissions");
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      uint32_t all = 0;
      while (group.any(all < most)) {
        detail::Taken mine;
        const uint32_t taken = engine_.drain_here(group, options.telemetry(), mine);
        if (taken == 0) break;
        all += taken;
        if (XIO_UNLIKELY(engine_.state().way_of_use != 0)) {
          const bool own = mine.hit && detail::is_abandoned<S>(engine_.table(), mine.ticket);
          all -= S == Sharing::thread ? own : arch::count_lanes(group.members(own));
          if (own) mine.hit = false;
        }
        arch::acquire_published<state_scope<S>, is_shared<S>>();  // order: completion before data
        if (mine.hit) {
          each(Completion{mine.ticket, mine.result, ring::slot(mine.ticket, handle().slot_mask),
                          static_cast<uint16_t>(mine.status)});
        }
        group.converge();
      }
      return all;
    });
  }

  /// Identifier of a submitted command, at most QueueHandle::slot_mask; for a split command, that of its last part.
  /// @snippet nvme.cpp process_completions
  XIO_DEVICE_INLINE uint32_t slot_of(const Token& token) const { return ring::slot(token.last, handle().slot_mask); }

  /// Waits until every operation submitted before this call, by any user of the queue, has ended. NVMe does not order
  /// commands: a fence is the way to execute one after another.
  /// @snippet nvme.cpp fence
  XIO_DEVICE Status fence(Deadline until) {
    return in_groups(engine_,
                     [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return detail::fence(engine_, group, until); });
  }

  /// Waits like fence(), then returns the first error that no caller has waited for, and clears all of them.
  /// @snippet nvme.cpp quiet
  XIO_DEVICE Status quiet(Deadline until) {
    return in_groups(engine_,
                     [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return detail::quiet(engine_, group, until); });
  }

  /// Failed operations that no caller has waited for so far. Searches the completion table if there are any.
  /// @snippet nvme.cpp errors
  XIO_DEVICE ErrorSummary errors() {
    return in_groups(engine_,
                     [&](const Callers<S>& group) XIO_INLINE_LAMBDA { return detail::errors(engine_, group); });
  }

  /// Makes data that the device wrote before its last completion visible where PCIe does not order the two (data in
  /// device memory, completions in host memory): the controller reads back from the data's memory. This uses a Compare
  /// command, whose result is ignored; only a missing completion is an error. Returns Status::unsupported if the handle
  /// offers no buffer for it.
  /// @snippet nvme.cpp flush_inbound
  XIO_DEVICE Status flush_inbound(Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::flush_inbound(engine_, group, until); });
  }

 private:
  template <class Until, class CallOptions>
  XIO_DEVICE_INLINE Token move(Opcode operation, uint64_t lba, const RegionSpan& data, Until until,
                               const CallOptions& options) {
    return submit(command(operation).range(lba, data.length >> handle().block_shift), data, until, options);
  }

 protected:
  QueueEngine<S, Policy, Holder> engine_;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
