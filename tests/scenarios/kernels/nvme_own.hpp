// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Errors belong to operations: commands of the library's own, and transfers beside failures of others.

#include <scenarios/kernels/nvme_forgotten.hpp>

namespace scenarios {

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
    const Status rest = queue.quiet(limit);
    const Status status = read.submitted() ? rest : read.status;
    count(job.report, status, holds(blocks.in(), blocks.stamp(round), job.words), 51);
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
