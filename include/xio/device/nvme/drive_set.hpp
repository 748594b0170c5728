// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Many drives as one address space: a block address selects a drive, one of its queues and an LBA.

#include <xio/device/nvme/drive_batch.hpp>
#include <xio/device/nvme/queue.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Submits commands over a DriveSetHandle. The wave's number selects the queue of each drive, so that the lanes of a
/// wave that use one drive share one queue and submit together.
///
/// The policy's RingBy names the way to all drives of a set: PCIe, or RDMA through cards of one vendor (OverRdma),
/// where a piece of a DriveRegion has the key of its drive's queue, FabricLink::data_key.
///
/// @tparam S    Sharing::grid or Sharing::block; the waves that use a set always share its queues.
/// @tparam Set  DriveSetHandle, or a type derived from it whose locate() and in_one_stripe() place blocks in another
/// way
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>, class Set = DriveSetHandle>
class DriveSet {
 public:
  static_assert(is_shared<S>, "DriveSet needs Sharing::grid or Sharing::block");

  /// @param wave number of the calling wave, the same in all its lanes
  XIO_HOST_DEVICE DriveSet(const Set& set, uint32_t wave) : set_(set), lane_queue_(wave % set.queues_per_drive) {}

  /// As Queue::deadline(), with the clock rate that the set's first queue holds.
  /// @snippet drive_set.cpp deadline
  XIO_DEVICE_INLINE Deadline deadline(Duration from_now) const {
    return Queue<S, Policy>(*set_.queues).deadline(from_now);
  }

  /// Submits one command per calling lane: read, write or another command that addresses blocks, with block addresses
  /// of the set. Lanes that use the same drive are submitted together.
  /// @param pages   a piece of a DriveRegion, or a page source with the addresses of the drive that the command is for
  /// @param options as of Queue::submit()
  /// @snippet drive_set.cpp submit
  template <class Pages, class Until, class CallOptions = NoOptions>
  XIO_DEVICE DriveToken submit(const Command& command, const Pages& pages, Until until,
                               const CallOptions& options = CallOptions()) {
    static_assert(Policy::notifications || !CallOptions::notifies, "notify() and keep() need a policy with Notify");
    static_assert(Policy::inbound_in_order || !CallOptions::notifies,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes");
    DriveToken result;
    if (!addresses_blocks(command) || !set_.in_one_stripe(command.lba(), command.blocks())) {
      result.token = Token::refused(Status::invalid_argument);
    }
    // check: command set, of a set of drives
    if (!is_offered<Policy>(command, *set_.queues)) result.token = Token::refused(Status::unsupported);
    const DriveAddress where = set_.locate(command.lba());
    result.queue = where.drive * set_.queues_per_drive + lane_queue_;
    bool pending = result.token.status.is_ok();
    for_each_queue(pending, result.queue, [&](uint32_t queue, uint64_t lanes) {
      const Engine one(set_.queues[queue], lanes);
      result.token =
          detail::submit(one, one.callers(), command.starts_at(where.lba), queues().on_drive(pages, where.drive), until,
                         options.notified(), options.telemetry());
    });
    return result;
  }

  /// Submits one command per calling lane without waiting and without taking completions. A lane that finds its
  /// drive's queue full gets a token refused with Status::would_block.
  /// @snippet drive_set.cpp test
  template <class Pages, class CallOptions = NoOptions>
  XIO_DEVICE DriveToken try_submit(const Command& command, const Pages& pages,
                                   const CallOptions& options = CallOptions()) {
    return submit(command, pages, Now{}, options);
  }

  /// Reads logical blocks starting at `lba` into all of `to`; block addresses of the set. Refused as by Queue::read(),
  /// and if the blocks do not lie in one stripe.
  /// @snippet drive_set.cpp submit
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE DriveToken read(uint64_t lba, const DriveSpan& to, Until until,
                             const CallOptions& options = CallOptions()) {
    return submit(nvme::read(lba, to.length >> set_.queues->block_shift), to, until, options);
  }
  /// Writes all of `from` to logical blocks starting at `lba`. Refused like read().
  /// @snippet drive_set.cpp submit
  template <class Until, class CallOptions = NoOptions>
  XIO_DEVICE DriveToken write(uint64_t lba, const DriveSpan& from, Until until,
                              const CallOptions& options = CallOptions()) {
    return submit(nvme::write(lba, from.length >> set_.queues->block_shift), from, until, options);
  }

  /// Submits `count` pieces together: those of each drive with one claim, one release and one doorbell.
  ///
  /// All lanes of the wave pass the same arguments, as of Queue::submit_batch(). The lanes look at each piece twice for
  /// each drive, once to count and once to fill, and once to check it: `(2 * drives + 1) * count / lanes` looks of each
  /// lane, and no memory to sort them. Nothing is submitted if a piece is refused, or if more lie on one drive than its
  /// queue's depth (Status::invalid_argument).
  /// @param pieces a list, `const DrivePiece*`, or a callable, as of Queue::submit_batch(); block addresses are of the
  ///               set. DrivePiece, Piece, PieceOf or NotifiedPiece; a bus address or a page source is that of the
  ///               drive on which the piece lies
  /// @param tokens one per drive, in memory of the calling lane: of that drive's pieces, in their order; of
  ///               drives without any, it denotes no operation. wait_batch() waits for all of them
  /// @param until a Deadline; with Now{} a drive's pieces are refused with Status::would_block unless all of them fit
  /// @return Status::ok: all pieces are submitted. Otherwise the first reason; the other drives'
  ///         pieces are submitted all the same
  /// @snippet drive_set.cpp submit_batch
  template <class Pieces, class Until, class CallOptions = NoOptions>
  XIO_DEVICE Status submit_batch(Opcode operation, Pieces pieces, uint32_t count, DriveToken* tokens, Until until,
                                 const CallOptions& options = CallOptions()) {
    static_assert(Policy::notifications || !CallOptions::notifies, "notify() needs a policy with Notify");
    static_assert(Policy::inbound_in_order || !CallOptions::notifies,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes");
    return in_whole_group([&](Group<S> group) XIO_INLINE_LAMBDA {
      return detail::submit_over(queues(), group, operation, pieces, count, tokens, until, options.notified());
    });
  }

  /// Waits for a batch that the whole wave submitted, each lane for its share of each drive's pieces. All lanes return
  /// the same status: the first error in the order of the drives, a refusal included, else Status::ok.
  /// @snippet drive_set.cpp submit_batch
  XIO_DEVICE Status wait_batch(const DriveToken* tokens, Deadline until) {
    return in_whole_group([&](Group<S> group)
                              XIO_INLINE_LAMBDA { return detail::wait_over(queues(), group, tokens, until); });
  }

  /// Moves any number of pieces over the set and waits for all of them, as Queue::transfer(); all lanes of the wave
  /// pass the same arguments.
  ///
  /// The pieces are submitted in their order, a quarter of a queue's depth at a time, at the cost of
  /// submit_batch(): all drives are busy if neighbours lie on different ones.
  /// @param pieces as of submit_batch(); no NotifiedPiece
  /// @param progress as of Queue::transfer(): it counts the pieces of all drives
  /// @return as of Queue::transfer(). Status::broken: one of this wave's queues is
  /// @snippet drive_set.cpp transfer
  template <class Pieces, class Used = Policy>
  XIO_DEVICE Status transfer(Opcode operation, Pieces pieces, uint32_t count, Deadline until, Notification& progress) {
    static_assert(Used::notifications, "transfer() needs a policy with Notify");
    return in_whole_group([&](Group<S> group) XIO_INLINE_LAMBDA {
      return detail::transfer_over(queues(), group, operation, pieces, count, until, progress);
    });
  }

  /// Waits for the token of each calling lane.
  /// @snippet drive_set.cpp submit
  XIO_DEVICE Status wait(const DriveToken& token, Deadline until) {
    Status status = token.token.status;
    for_each_queue(token.token.submitted(), token.queue, [&](uint32_t queue, uint64_t lanes) {
      const Engine one(set_.queues[queue], lanes);
      telemetry::Off off;
      status = detail::wait(one, one.callers(), token.token, until, off);
    });
    return status;
  }

  /// Polls once: returns Status::pending if the operation of the calling lane has not ended yet.
  /// @snippet drive_set.cpp test
  XIO_DEVICE Status test(const DriveToken& token) {
    static_assert(Policy::inbound_in_order,
                  "data may arrive after its completion: use wait(), which flushes inbound writes");
    Status status = token.token.status;
    for_each_queue(token.token.submitted(), token.queue, [&](uint32_t queue, uint64_t lanes) {
      const Engine one(set_.queues[queue], lanes);
      const Callers<S> group = one.callers();
      one.ring(group);
      status = detail::test(one, group, token.token);
    });
    return status;
  }

  /// Waits until one of the calling lane's tokens has ended, on whichever drive. Sets `which` to its index and returns
  /// its status; a refused token has ended. Each lane has its own arguments.
  /// @param count of tokens; 0: Status::invalid_argument
  /// @return Status::timed_out: all are still in flight
  /// @snippet drive_set.cpp wait_any
  XIO_DEVICE Status wait_any(const DriveToken* tokens, uint32_t count, Deadline until, uint32_t& which) {
    Status found = count != 0 ? Status::pending : Status::invalid_argument;
    which = 0;
    const Group<S> group = Group<S>::of_callers(arch::active(), set_.queues);
    const auto on_its_queue = [&](bool takes_part, const DriveToken& token, auto action) {
      for_each_queue(takes_part && token.token.submitted(), token.queue, [&](uint32_t queue, uint64_t lanes) {
        const Engine one(set_.queues[queue], lanes);
        found = action(one, one.callers(), token.token);
      });
    };
    uint32_t looks = 0;
    const bool all = group.poll(
        [&] {
          const bool helps = ++looks % arch::looks_per_clock == 0;
          for (uint32_t i = 0; group.any(i < count && found == Status::pending); ++i) {
            const bool looking = i < count && found == Status::pending;
            const DriveToken token = looking ? tokens[i] : DriveToken();
            if (looking && !token.token.submitted()) found = token.token.status;
            on_its_queue(looking, token, [&](const Engine& one, const Callers<S>& callers, const Token& its) {
              if (looks == 1) one.ring(callers);
              if (helps) protocol::help(one, callers);
              return detail::test(one, callers, its);
            });
            if (looking && found != Status::pending) which = i;
          }
          return !group.any(found == Status::pending);
        },
        until);
    if (!all && found == Status::pending) found = Status::timed_out;
    // Its data may be late, too.
    on_its_queue(count != 0, count != 0 ? tokens[which] : DriveToken(),
                 [&](const Engine& one, const Callers<S>& callers, const Token&) {
                   return detail::inbound(one, callers, found, true, until);
                 });
    return found;
  }

  /// Waits until a notification has counted operations, as Queue::wait_count(): of any drives, whoever submitted them.
  /// Takes completions of this wave's queue of each drive meanwhile; those of the others are left to their waves. Each
  /// lane has its own arguments.
  /// @return as of Queue::wait_count(); Status::broken: one of this wave's queues is
  /// @snippet drive_set.cpp wait_count
  template <class Used = Policy>
  XIO_DEVICE Status wait_count(const Notification& counted, uint64_t count, Deadline until) {
    static_assert(Used::notifications, "wait_count() needs a policy with Notify");
    static_assert(Used::inbound_in_order,
                  "data may arrive after its notification: wait for the token, which flushes inbound writes");
    return by_queue<S>(set_.queues, [&]() XIO_INLINE_LAMBDA {
      const Group<S> group = Group<S>::of_callers(0, set_.queues);
      const auto on_each = [&](auto action) XIO_INLINE_LAMBDA { queues().on_each(action); };
      return detail::wait_count(on_each, group, counted, count, until);
    });
  }

  /// Announces deferred submissions (Deferred policies), on this wave's queue of each drive; otherwise does nothing.
  /// @snippet drive_set.cpp ring
  XIO_DEVICE void ring() {
    if constexpr (Policy::ringing == Ringing::deferred)
      queues().on_each([](const Engine& one) { one.ring(one.callers()); });
  }

  /// Takes the available completions and records them, without waiting: of this wave's queue of each drive. Returns
  /// how many.
  /// @snippet drive_set.cpp test
  template <class CallOptions = NoOptions>
  XIO_DEVICE uint32_t drain(const CallOptions& options = CallOptions()) {
    static_assert(!CallOptions::notifies, "notify() and keep() are for submissions");
    uint32_t taken = 0;
    queues().on_each([&](const Engine& one) {
      const Callers<S> group = one.callers();
      const uint32_t now = one.drain(group, options.telemetry());
      if (now == 0) protocol::help<false>(one, group);
      taken += now;
    });
    return taken;
  }

 private:
  /// Of one queue: the lanes that use it are known here, and need not be looked for by a Queue.
  using Engine = QueueEngine<S, Policy, InMemory>;

  /// This wave's queue of each drive.
  XIO_DEVICE_INLINE detail::QueuesOfWave<Engine, Set> queues() const { return {set_, lane_queue_}; }

  /// Returns `call(group)`, where `group` are all lanes of the wave that use this set: of a call that acts once for
  /// them.
  template <class Call>
  XIO_DEVICE_INLINE auto in_whole_group(Call call) const {
    return by_queue<S>(set_.queues, [&]() XIO_INLINE_LAMBDA { return call(Group<S>::of_all(0, set_.queues)); });
  }

  /// Calls `action(queue, lanes)` once per distinct queue, by exactly those participating lanes that use it.
  template <class Action>
  XIO_DEVICE void for_each_queue(bool takes_part, uint32_t queue, Action action) {
    const uint64_t group = arch::active();
    for (uint64_t waiting = arch::ballot(group, takes_part); waiting != 0;) {
      const uint32_t chosen = arch::broadcast(group, queue, arch::first_lane(waiting));
      const bool now = takes_part && queue == chosen;
      const uint64_t together = arch::ballot(group, now);
      if (now) action(chosen, together);
      waiting &= ~together;
    }
  }

  Set set_;
  uint32_t lane_queue_;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
