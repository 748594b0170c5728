// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Buffers that are used again: a read into memory from which the kernel has just loaded, or which it has
/// filled by plain stores. The host has filled each block that is read into with words of the thread's number.

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

/// Loads a block, and reads zeros into it while the loads may be under way: they must not see what the device writes.
template <xio::Sharing S, class Policy>
XIO_DEVICE void loaded(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy> queue(own_queue<S>(job));
  auto session = queue.session();
  Blocks<decltype(session)> blocks(session, job, self);
  const Deadline limit = blocks.until();
  const uint64_t first = blocks.in()[0];
  const uint64_t last = blocks.in()[block_words - 1];
  const Token token = session.submit(nvme::read(self, 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
  const Status status = session.wait(token, limit);
  count(job.report, status, first == word_of(self, 0) && last == word_of(self, block_words - 1), 39);
  count(job.report, status, blocks.in()[0] == 0 && blocks.in()[block_words - 1] == 0, 40);
  session.end();
}

/// A block is zeroed before it is read into: no older store may arrive after the device's data.
template <class Policy>
XIO_DEVICE void zeroed(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::grid, Policy> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    const Token write = queue.submit(nvme::write(blocks.lba(round), 1), nvme::ContiguousPages{blocks.out_bus()}, limit);
    const Status written = queue.wait(write, limit);
    count(job.report, written, true, 41);
    for (uint32_t i = 0; i < job.words; ++i) blocks.in()[i] = 0;
    queue.publish_payload();
    const Token read = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    const Status status = queue.wait(read, limit);
    count(job.report, status, !written.is_ok() || holds(blocks.in(), blocks.stamp(round), job.words), 42);
  }
}

}  // namespace scenarios
