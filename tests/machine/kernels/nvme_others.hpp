// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Data of operations that another wave has submitted.

#include <machine/kernels/nvme.hpp>

namespace machine_kernels {

/// Each wave reads its blocks without waiting for them. The wave before it waits, by fence(), quiet() or for the token,
/// and compares the data. Every second wave takes completions before.
template <xio::Sharing S>
XIO_DEVICE void others(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= comparing_lanes) return;
  constexpr arch::Scope scope = arch::Scope::agent;
  const uint32_t self = thread_number();
  const uint32_t next = (self + arch::wave_size()) % job.lanes;
  const uint32_t previous = (self + job.lanes - arch::wave_size()) % job.lanes;
  nvme::Queue<S> queue(job.queues[0]);
  Blocks<decltype(queue)> own(queue, job, self);
  Blocks<decltype(queue)> theirs(queue, job, next);
  const auto reached = [&](uint32_t thread, uint64_t step, Deadline limit) {
    return poll_until([&] { return arch::observe<scope>(&job.turns[thread].step) >= step; }, limit);
  };
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(own.out(), own.stamp(round), job.words);
    queue.publish_payload();
    const Deadline limit = own.until();
    const Token write = queue.submit(nvme::write(own.lba(round), 1), nvme::ContiguousPages{own.out_bus()}, limit);
    const Status written = queue.wait(write, limit);
    count(job.report, written, true, 34);
    Status status = reached(previous, uint64_t{2} * round, limit);
    const Token read = queue.submit(nvme::read(own.lba(round), 1), nvme::ContiguousPages{own.in_bus()}, limit);
    arch::store<scope>(&job.turns[self].ticket, read.last);
    arch::publish<scope>(&job.turns[self].step, uint64_t{2} * round + 1);
    const Status told = reached(next, uint64_t{2} * round + 1, limit);
    // From here on a cache may hold the current contents.
    own.out()[block_words - 1] = theirs.in()[0];
    Token token;
    token.last = arch::load<scope>(&job.turns[next].ticket);
    token.count = told.is_ok();
    if (self / arch::wave_size() % 2 == 1) (void)queue.wait(read, limit);
    const uint32_t way = round % 3;
    const Status waited = way == 0 ? queue.fence(limit) : way == 1 ? queue.quiet(limit) : queue.wait(token, limit);
    const bool right = holds(theirs.in(), theirs.stamp(round), job.words);
    const Status statuses[] = {told, waited, queue.wait(read, limit)};
    for (const Status& one : statuses)
      if (status.is_ok()) status = one;
    count(job.report, status, right, 35);
    arch::publish<scope>(&job.turns[self].step, uint64_t{2} * round + 2);
  }
}

}  // namespace machine_kernels
