// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Operations of other waves, and of a part of a wave; lanes of one wave that use queues of different drives.

#include <scenarios/kernels/nvme.hpp>
#include <scenarios/kernels/turns.hpp>

namespace scenarios {

/// Each wave reads its blocks without waiting for them. The wave before it waits, by fence(), quiet() or for the token,
/// and compares the data. Every second wave takes completions before.
template <xio::Sharing S, class Policy = xio::Policy<>>
XIO_DEVICE void others(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= comparing_lanes) return;
  nvme::Queue<S, Policy> queue(job.queues[0]);
  const Turns turns(job.turns, job.lanes);
  Blocks<decltype(queue)> own(queue, job, thread_number());
  Blocks<decltype(queue)> theirs(queue, job, turns.next());
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(own.out(), own.stamp(round), job.words);
    queue.publish_payload();
    const Deadline limit = own.until();
    const Token write = queue.submit(nvme::write(own.lba(round), 1), nvme::ContiguousPages{own.out_bus()}, limit);
    count(job.report, queue.wait(write, limit), true, 34);
    const Status began = turns.begin(round, limit);
    const Token read = queue.submit(nvme::read(own.lba(round), 1), nvme::ContiguousPages{own.in_bus()}, limit);
    const Token token = turns.exchange(round, read, limit);
    hold_in_cache(own.out()[block_words - 1], theirs.in()[0]);
    if (turns.drains_first()) (void)queue.wait(read, limit);
    const uint32_t way = round % 3;
    const Status waited = way == 0 ? queue.fence(limit) : way == 1 ? queue.quiet(limit) : queue.wait(token, limit);
    const bool right = holds(theirs.in(), theirs.stamp(round), job.words);
    count(job.report, first_of({began, token.status, waited, queue.wait(read, limit)}), right, 35);
    turns.end(round);
  }
}

/// Part of a wave's lanes use the queue before all of them do.
template <xio::Sharing S>
XIO_DEVICE void apart(const NvmeJob& job) {
  using namespace xio;
  using Queue = nvme::Queue<S>;
  const uint32_t self = thread_number();
  const uint64_t wave = arch::together(0);
  const bool first = arch::lane() % 4 == 1;
  const uint64_t lanes = arch::ballot(wave, first);
  Queue queue(job.queues[0]);
  Blocks<Queue> blocks(queue, job, self);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    if (first) {
      Queue part(job.queues[0], lanes);
      if constexpr (S == Sharing::wave) {
        if (round % 2 == 1) {
          auto session = part.session();
          Blocks<decltype(session)>(session, job, self).write_and_read(round);
          session.end();
        } else {
          Blocks<Queue>(part, job, self).write_and_read(round);
        }
      } else {
        Blocks<Queue>(part, job, self).write_and_read(round);
      }
    } else {
      count(job.report, Status(), true, 37);
      count(job.report, Status(), true, 37);
    }
    Status status;
    if (job.count != 0) {
      const Token token = queue.submit_batch(nvme::Opcode::read, job.pieces, job.count, blocks.until());
      status = queue.wait_batch(token, blocks.until());
    } else {
      const auto read = [&](auto& whole) {
        const nvme::ContiguousPages in{blocks.in_bus()};
        const Token token = whole.submit(nvme::read(blocks.lba(round), 1), in, blocks.until());
        return whole.wait(token, blocks.until());
      };
      if constexpr (S == Sharing::wave) {
        if (round % 3 == 2) {
          auto session = queue.session();
          status = read(session);
          session.end();
        } else {
          status = read(queue);
        }
      } else {
        status = read(queue);
      }
    }
    count(job.report, status, !first || holds(blocks.in(), blocks.stamp(round), job.words), 38);
  }
}

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
