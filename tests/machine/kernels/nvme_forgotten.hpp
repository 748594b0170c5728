// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Failures that nobody waits for in time.

#include <machine/kernels/nvme.hpp>

namespace machine_kernels {

/// Failures of which the queue knows each one, at most.
constexpr uint32_t in_table_and_log = 32 + 64;

/// Operations queried late, by every other thread, or never; those on bad blocks fail, more than fit in the log. The
/// first wave only looks on until failures were lost: all others may wait for the one that takes completions.
XIO_DEVICE void forgotten(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  const bool asks = thread_number() % 2 == 1;
  const auto look = [&] {
    const nvme::ErrorSummary unseen = queue.errors();
    if (unseen.count != 0 && unseen.first.is_ok()) count(job.report, Status(), false, 28);
    return unseen.count;
  };
  if (arch::block_index() == 0) {
    for (uint32_t looks = 0; looks < 150 && look() < in_table_and_log; ++looks) {
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

}  // namespace machine_kernels
