// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Operations whose ends the host, or the user of another policy, learns from memory.

#include <xio/vendors/nvme/status.hpp>

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

/// The host sees the end of each operation in a Notification or, in odd rounds, a KeptResult, and stores an answer that
/// the thread waits for.
template <xio::Sharing S>
XIO_DEVICE void answered(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy<Notify>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, self);
  const Answer& answer = job.answers[self];
  uint64_t failures = 0;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    const bool keeps = round % 2 != 0;
    const auto how =
        keeps ? Options().keep(job.kept[self * job.rounds + round]) : Options().notify(job.notifications[self]);
    const Token token =
        queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit, how);
    const Status status = queue.wait(token, limit);
    if (!keeps && !status.is_ok()) ++failures;
    uint64_t result = 0;
    const Status known = queue.result(token, result);
    if (known.is_ok() && result != answer_of(blocks.lba(round))) count(job.report, Status(), false, 29);
    hold_in_cache(blocks.out()[block_words - 1], answer.value, answer.failed);
    const Status told = wait_until(&answer.ends, round + 1, limit);
    const bool right =
        keeps ? !status.is_ok() || answer.value == answer_of(blocks.lba(round)) : answer.failed == failures;
    count(job.report, status, true, 26);
    if (!told.is_ok() || !right) count(job.report, Status(), false, 27);
  }
}

/// Reads that name a notification, and reads of a user without Notify, in turn. The one with Notify takes all
/// completions: each notification counts its own operations only.
template <xio::Sharing S>
XIO_DEVICE void mixed(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy<Notify>> telling(own_queue<S>(job));
  nvme::Queue<S> plain(own_queue<S>(job));
  Blocks<decltype(plain)> blocks(plain, job, self);
  Notification& told = job.notifications[self];
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = plain.deadline(Duration{job.patience_ns});
    const nvme::Command read = nvme::read(blocks.lba(round), 1);
    const nvme::ContiguousPages pages{blocks.in_bus()};
    const auto counted = [&] { return arch::load<arch::Scope::system>(&told.done) == round + 1; };
    Status status = telling.wait(telling.submit(read, pages, limit, Options().notify(told)), limit);
    count(job.report, status, counted(), 30);
    // Two of them: in turn, every operation gets a slot that one with a notification had.
    for (uint32_t i = 0; i < 2; ++i) {
      status = telling.wait(plain.submit(read, pages, limit), limit);
      count(job.report, status, counted(), 31);
    }
  }
}

/// Reads that name a notification, and waits of a user without Notify. If that one takes their completions, it cannot
/// count them, and says that the queue is broken; who then finds no more room takes what there is, and counts it.
template <xio::Sharing S>
XIO_DEVICE void untold(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy<Notify>> telling(own_queue<S>(job));
  nvme::Queue<S> plain(own_queue<S>(job));
  Blocks<decltype(plain)> blocks(plain, job, self);
  Notification& told = job.notifications[self];
  uint64_t good = 0;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = plain.deadline(Duration{job.patience_ns});
    const Token token = telling.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit,
                                       Options().notify(told));
    const Status status = plain.wait(token, limit);
    const bool counted = !status.is_ok() || wait_until(&told.done, ++good, limit).is_ok();
    count(job.report, status == Status::broken ? Status() : status, counted, 32);
  }
}

/// Long reads, of which every other one has a part that fails: each ends in its KeptResult once all its parts have,
/// with the failure, whichever waves take their completions.
template <xio::Sharing S>
XIO_DEVICE void kept_failing(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= failing_lanes) return;
  nvme::Queue<S, Policy<Notify>> queue(job.queues[0]);
  KeptResult& kept = job.kept[thread_number()];
  const uint64_t bad = uint64_t{thread_number()} * job.count;
  for (uint32_t round = 0; round < 2 * job.rounds; ++round) {
    const Deadline limit = queue.deadline(Duration{job.patience_ns});
    const uint64_t begin = round % 2 == 0 ? bad : bad + 8;
    arch::store<arch::Scope::system>(&kept.ended, uint64_t{0});
    arch::store<arch::Scope::system>(&kept.result, uint64_t{0});
    const Token token = queue.submit(nvme::read(begin, static_cast<uint32_t>(bad + job.count - begin)),
                                     nvme::ContiguousPages{job.bus + begin * block_bytes}, limit, Options().keep(kept));
    const Status status = queue.wait(token, limit);
    const auto ended = [&] { return arch::observe<arch::Scope::system>(&kept.ended); };
    const Status told = poll_until([&] { return ended() != 0; }, limit);
    const uint32_t device = begin == bad ? nvme::sc::internal_error : 0;
    const bool right = status.is_ok() == (device == 0) && ended() == (KeptResult::has_ended | device);
    count(job.report, told, right, 38);
  }
}

}  // namespace scenarios
