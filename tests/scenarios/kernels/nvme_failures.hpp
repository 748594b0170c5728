// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Errors belong to operations: of the library's own commands, beside failures of others, and those that nobody
/// waits for in time, or whose operation has parts yet to be posted.

#include <scenarios/kernels/nvme.hpp>
#include <scenarios/kernels/turns.hpp>

namespace scenarios {

/// Failures of which the queue knows each one, at most.
constexpr uint32_t in_table_and_log = 32 + 64;

/// A block that is not bad.
constexpr uint64_t good_block = 3;

/// Asks for the summary of unseen failures, and counts one without a failure in it. Returns their number.
template <class Queue>
XIO_DEVICE uint32_t look_at_errors(Queue& queue, const NvmeJob& job) {
  const xio::nvme::ErrorSummary unseen = queue.errors();
  if (unseen.count != 0 && unseen.first.is_ok()) count(job.report, xio::Status(), false, 28);
  return unseen.count;
}

/// Operations queried late, by every other thread, or never; those on bad blocks fail, more than fit in the log. The
/// first wave only looks on until failures were lost: all others may wait for the one that takes completions.
XIO_DEVICE void forgotten(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  const bool asks = thread_number() % 2 == 1;
  if (arch::block_index() == 0) {
    for (uint32_t looks = 0; looks < 150 && look_at_errors(queue, job) < in_table_and_log; ++looks) {
    }
    for (uint32_t round = 0; round < job.rounds; ++round) count(job.report, Status(), true, 22);
    return;
  }
  Token last;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Token token = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    if (round != 0) {
      const Status status = asks ? queue.wait(last, limit) : Status(Status::expired);
      const bool failed = !status.is_ok() && status != Status::timed_out;
      count(job.report, Status(), status == Status::expired || failed == is_bad(blocks.lba(round - 1)), 22);
    }
    last = token;
  }
  const Status others = queue.quiet(limit);
  if (!others.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
  count(job.report, last.status, others != Status::timed_out && others != Status::broken, 23);
}

/// Asks for the result of each operation as soon as it ends, whose slot held a failure before; and late for the status
/// of the one before it.
template <xio::Sharing S>
XIO_DEVICE void failing(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= failing_lanes) return;
  nvme::Queue<S> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  Token last;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t lba = blocks.lba(round);
    const Token token = queue.submit(nvme::read(lba, 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    uint64_t result = 0;
    Status known = Status::pending;
    const auto is_known = [&] {
      queue.drain();
      known = queue.result(token, result);
      return known != Status::pending;
    };
    const Status status = poll_until(is_known, limit);
    count(job.report, status, known == Status::expired || result == answer_of(lba), 31);
    if (round != 0) {
      const Status before = queue.wait(last, limit);
      const bool failed = !before.is_ok() && before != Status::timed_out;
      count(job.report, Status(), before == Status::expired || failed == is_bad(blocks.lba(round - 1)), 32);
    }
    last = token;
  }
  const Status others = queue.quiet(limit);
  if (!others.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
  count(job.report, Status(), others != Status::timed_out && others != Status::broken, 33);
}

/// Operations that nobody waits for, by two waves: most fail, more than fit in table and log. Meanwhile all other waves
/// look at the summary, most of all when the first failure is lost.
XIO_DEVICE void lost(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  const uint32_t block = arch::block_index();
  Status ended;
  if (block < 2) {
    for (uint32_t round = 0; round < job.rounds; ++round) {
      const nvme::Command command = nvme::read(blocks.lba(round), 1);
      const Token token = queue.submit(command, nvme::ContiguousPages{blocks.in_bus()}, limit);
      if (!token.status.is_ok()) ended = token.status;
    }
  } else {
    const uint64_t posting = 2 * arch::block_size();
    while (arch::load<arch::Scope::system>(&job.report->good) < posting && !limit.passed()) look_at_errors(queue, job);
    if (block == 2) {
      const Status others = queue.quiet(limit);
      if (!others.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
      if (others == Status::timed_out || others == Status::broken) ended = others;
    }
  }
  count(job.report, ended, true, 29);
}

/// One thread fails and waits for nothing. Threads of other waves ask for the summary, which has all failures that
/// they know of, except one that leaves the log at that moment; or they take the failures by quiet(), which leaves
/// none.
template <xio::Sharing S, bool Takes>
XIO_DEVICE void watched(const NvmeJob& job) {
  using namespace xio;
  constexpr arch::Scope scope = arch::Scope::agent;
  if (arch::lane() != 0) return;
  const uint32_t self = thread_number() / arch::wave_size();
  const uint32_t all = job.lanes / arch::wave_size();
  nvme::Queue<S> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  const auto step_of = [&](uint32_t wave) { return arch::observe<scope>(&job.turns[wave].step); };
  const auto takes = [&] {
    const Status others = queue.quiet(limit);
    if (!others.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
    return others != Status::timed_out && others != Status::broken;
  };
  Status ended;
  bool right = true;
  if (self == 0) {
    for (uint32_t round = 0; round <= watched_failures && ended.is_ok(); ++round) {
      const uint64_t lba = round == 0 ? good_block : 0;
      const Token token = queue.submit(nvme::read(lba, 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
      const auto over = [&] {
        queue.drain();
        return queue.ended(token);
      };
      ended = token.submitted() ? poll_until(over, limit) : token.status;
      arch::publish<scope>(&job.turns[0].step, uint64_t{round});
    }
    for (uint32_t other = 1; other < all && ended.is_ok(); ++other)
      ended = poll_until([&] { return step_of(other) != 0; }, limit);
    right = takes();
  } else {
    for (uint64_t known = 0; known < watched_failures && right && !limit.passed();) {
      known = step_of(0);
      if constexpr (Takes) {
        right = takes();
      } else {
        const nvme::ErrorSummary unseen = queue.errors();
        right = unseen.count + (job.count == 0) >= known && (unseen.count == 0 || !unseen.first.is_ok());
        // The first failure has left the log, if that has room for one.
        if (known > 8 || (known != 0 && job.count != 0)) right = right && unseen.first_ticket == 1;
      }
    }
    arch::publish<scope>(&job.turns[self].step, uint64_t{1});
  }
  count(job.report, ended, right, 39);
}

/// Split commands of more parts than the queue has entries, of which the first fails.
template <xio::Sharing S>
XIO_DEVICE void failing_early(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= failing_lanes) return;
  nvme::Queue<S> queue(job.queues[0]);
  const Deadline limit = queue.deadline(Duration{job.patience_ns});
  const uint64_t lba = uint64_t{thread_number()} * job.count;
  for (uint32_t round = 0; round < 2 * job.rounds; ++round) {
    const Token token =
        queue.submit(nvme::read(lba, job.count), nvme::ContiguousPages{job.bus + lba * block_bytes}, limit);
    const Status status = queue.wait(token, limit);
    count(job.report, Status(), !status.is_ok() && status != Status::timed_out, 36);
  }
}

/// Waits for inbound data give up, or nearly. How the library's own commands end then is reported to nobody.
template <xio::Sharing S>
XIO_DEVICE void gives_up(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy<Placed<Memory::host, Memory::device>>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, self);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    const Deadline limit = blocks.until();
    const Token write = queue.submit(nvme::write(blocks.lba(round), 1), nvme::ContiguousPages{blocks.out_bus()}, limit);
    count(job.report, queue.wait(write, limit), true, 50);
    hold_in_cache(blocks.out()[block_words - 1], blocks.in()[0]);
    const Token read = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    for (uint32_t i = 0; i < 2; ++i) (void)queue.flush_inbound(queue.deadline(Duration{1000}));
    const Status flushed = queue.flush_inbound(limit);
    count(job.report, first_of({read.status, flushed, queue.quiet(limit)}),
          holds(blocks.in(), blocks.stamp(round), job.words), 51);
  }
}

/// Each wave transfers pieces of which most are bad, and then a good one, beside failures of another kind that nobody
/// waits for.
XIO_DEVICE void transfers_failing(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const uint32_t wave = thread_number() / arch::wave_size();
  const uint32_t waves = job.lanes / arch::wave_size();
  const nvme::Piece* const pieces = job.pieces + uint64_t{waves + wave} * job.count;
  const Deadline limit = blocks.until();
  fill(blocks.out(), blocks.stamp(0), job.words);
  queue.publish_payload();
  const Token lost = queue.submit(nvme::compare(good_block, 1), nvme::ContiguousPages{blocks.out_bus()}, limit);
  uint32_t bad = 0;
  uint32_t good = 0;
  for (uint32_t i = 0; i < job.count; ++i) {
    if (is_bad(pieces[i].lba)) {
      ++bad;
    } else {
      good = i;
    }
  }
  Notification& most = job.notifications[2 * wave];
  Status status = queue.transfer(nvme::Opcode::read, pieces, job.count, limit, most);
  const bool told = status == Status::internal_error && arch::load<arch::Scope::system>(&most.failed) == bad;
  if (arch::lane() == 0) count(job.report, told ? Status() : status, told, 52);
  status = queue.transfer(nvme::Opcode::read, pieces + good, 1, limit, job.notifications[2 * wave + 1]);
  if (arch::lane() == 0) count(job.report, status, true, 53);
  const Status others = queue.quiet(limit);
  if (!others.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
  count(job.report, lost.status, others.is_ok() || others == Status::compare_failed, 54);
}

}  // namespace scenarios
