// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Operations that the host follows in its own memory, and answers.

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

}  // namespace scenarios
