// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The commands of a page cache: lanes submit them together, and take completions for each other.

#include <xio/device/cache/frames.hpp>

XIO_NAMESPACE_BEGIN

namespace detail {
/// @addtogroup kernel_cache
/// @{

/// The queues of a cache, as one wave uses them. All lanes of `group` make each call.
template <class QueuePolicy>
struct PageCommands {
  using Word = CacheWord;
  using Engine = nvme::QueueEngine<Sharing::grid, QueuePolicy, nvme::InMemory>;
  using Lanes = Group<Sharing::grid>;
  static_assert(QueuePolicy::notifications, "the queues of a cache need a policy with Notify");
  static_assert(QueuePolicy::inbound_in_order, "the data of a page may arrive after its notification: no Placed");

  Frames frames;
  uint32_t lane_queue;  ///< of the wave, on each drive

  /// Submits the lanes' commands, with one doorbell for each queue.
  XIO_DEVICE void submit(uint64_t group, const PageCommand& command, Deadline until, Status& refused) {
    const CacheHandle& c = frames.handle();
    count(group, &CacheCounts::write_backs, command.kind == PageCommand::write);
    const bool submits = command.kind != PageCommand::none;
    each_queue(group, submits, command.queue, [&](const Engine& queue, Lanes lanes) XIO_INLINE_LAMBDA {
      const auto operation = command.kind == PageCommand::read ? nvme::Opcode::read : nvme::Opcode::write;
      const uint32_t frame = command.frame.number;
      const auto data = nvme::detail::on_queue<typename Engine::Transport>(
          c.memory.at(uint64_t{frame} << c.page_shift, 1u << c.page_shift), command.where.drive, queue.handle());
      const auto kept = c.splits != 0 ? NoOptions().notify(reinterpret_cast<Notification*>(&c.ends[frame]))
                                      : NoOptions().keep(c.ends[frame]);
      const uint32_t blocks = 1u << (c.page_shift - queue.handle().block_shift);
      const Token token = nvme::detail::submit(queue, lanes, nvme::command(operation).range(command.where.lba, blocks),
                                               data, until, kept.notified(), kept.telemetry());
      if (token.submitted()) return;
      frames.refuse(command.frame);
      refused = token.status;
    });
  }

  /// Takes completions for the lanes that wait for the command of `frame.word`. Returns whether its queue is broken and
  /// it has not ended.
  XIO_DEVICE bool progress(uint64_t group, bool waits, Frame frame) {
    bool lost = false;
    const uint32_t number = waits ? frames.queue_of(frame.number) : 0;
    each_queue(group, waits, number, [&](const Engine& queue, Lanes lanes) XIO_INLINE_LAMBDA {
      nvme::detail::NoRecord none;
      telemetry::Off off;
      if (queue.drain_here(lanes, off, none) == 0) protocol::help<false>(queue, lanes);
      lost = queue.is_dead();
    });
    if (!lost) return false;
    // The queue must be that of this command: the frame's next one may be on another drive.
    const uint64_t before = frame.word;
    frame.word = frames.observe(frame.number);
    if ((before & Word::armed) == 0 || !Word::is_same(frame.word, before)) return false;
    Status how;
    bool submitted = true;
    // Its submitter will find out what it has not submitted yet.
    return Word::is_under_way(frame.word) && !frames.ended(frame, how, submitted);
  }

  /// Makes the volatile cache of each lane's drive permanent.
  XIO_DEVICE Status flush_drive(uint64_t group, uint32_t drive, Deadline until) {
    Status status;
    const uint32_t number = drive * frames.handle().drives.queues_per_drive + lane_queue;
    each_queue(group, drive < frames.handle().drives.drives, number,
               [&](const Engine& used, Lanes lanes) XIO_INLINE_LAMBDA {
                 nvme::Queue<Sharing::grid, QueuePolicy> queue(used.handle(), lanes.mask());
                 status = queue.wait(queue.submit(nvme::flush(), nvme::NoData{}, until), until);
               });
    return status;
  }

  /// Counts the lanes that have `happened`.
  XIO_DEVICE void count(uint64_t group, uint64_t CacheCounts::* which, bool happened) const {
    const uint64_t lanes = arch::ballot(group, happened);
    if (lanes != 0 && arch::is_first(group))
      arch::fetch_add<Frames::scope>(&(frames.handle().counts->*which), uint64_t{arch::count_lanes(lanes)});
  }

  /// Calls `action(queue, lanes)` once for each distinct queue, by exactly those participating lanes that use it.
  template <class Action>
  XIO_DEVICE void each_queue(uint64_t group, bool takes_part, uint32_t queue, Action action) {
    for (uint64_t left = arch::ballot(group, takes_part); left != 0;) {
      const uint32_t chosen = arch::broadcast(group, queue, arch::first_lane(left));
      const bool now = takes_part && queue == chosen;
      const uint64_t together = arch::ballot(group, now);
      if (now) {
        action(Engine(frames.handle().drives.queues[chosen], together), Lanes(together));
      }
      left &= ~together;
    }
  }
};

/// @}
}  // namespace detail

XIO_NAMESPACE_END
