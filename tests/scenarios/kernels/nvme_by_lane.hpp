// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Lanes of one wave that use queues of different drives, and waves of which some lanes have ended.

#include <scenarios/kernels/nvme.hpp>
#include <scenarios/kernels/turns.hpp>

namespace scenarios {

/// Each lane chooses its drive.
template <xio::Sharing S, class Policy>
XIO_DEVICE void by_lane(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  nvme::Queue<S, Policy> queue(job.queues[self % job.count]);
  Blocks<decltype(queue)> blocks(queue, job, self);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    if constexpr (is_shared<S>) {
      blocks.write_and_read(round);
    } else {
      auto session = queue.session();
      Blocks<decltype(session)>(session, job, self).write_and_read(round);
      session.end();
    }
    const Deadline limit = blocks.until();
    Token tokens[2];
    for (Token& token : tokens)
      token = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    uint32_t which = 0;
    const Status any = queue.wait_any(tokens, 2, limit, which);
    Status all = queue.wait_all(tokens, 2, limit);
    if (all.is_ok()) all = queue.test(tokens[which]);
    const Status quiet = queue.quiet(limit);
    count(job.report, first_of({any, all, quiet}), holds(blocks.in(), blocks.stamp(round), job.words), 40);
  }
}

/// Lanes before and behind those that use the queue of their wave have returned.
XIO_DEVICE void tail(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number() - job.count;
  if (self >= job.lanes) return;
  nvme::Queue<Sharing::wave> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, self);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    blocks.write_and_read(round);
    const Deadline limit = blocks.until();
    auto session = queue.session();
    Token tokens[3];
    for (Token& token : tokens)
      token = session.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    const Status status = session.wait_all(tokens, 3, limit);
    session.end();
    count(job.report, status, holds(blocks.in(), blocks.stamp(round), job.words), 41);
  }
}

}  // namespace scenarios
