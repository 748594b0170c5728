// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A call and its wait in a function of the program, which the kernel calls in two places.

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

/// One command and its wait. It calls functions, so that AMD GPUs keep its return address in scratch memory.
template <xio::Sharing S>
__attribute__((noinline)) XIO_DEVICE xio::Status execute(const xio::nvme::QueueHandle& handle,
                                                         const xio::nvme::Command& command, uint64_t bus,
                                                         uint64_t patience_ns) {
  using namespace xio;
  nvme::Queue<S> queue(handle);
  const Deadline limit = queue.deadline(Duration{patience_ns});
  return queue.wait(queue.submit(command, nvme::ContiguousPages{bus}, limit), limit);
}

template <xio::Sharing S>
XIO_DEVICE void called(const NvmeJob& job) {
  using namespace xio;
  if (thread_number() >= job.lanes) return;
  nvme::Queue<S> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t lba = blocks.lba(round);
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    Status status = execute<S>(own_queue<S>(job), nvme::write(lba, 1), blocks.out_bus(), job.patience_ns);
    count(job.report, status, true, 1);
    const bool written = status.is_ok();
    blocks.out()[block_words - 1] = blocks.in()[0];
    status = execute<S>(own_queue<S>(job), nvme::read(lba, 1), blocks.in_bus(), job.patience_ns);
    count(job.report, status, !written || holds(blocks.in(), blocks.stamp(round), job.words), 2);
  }
}

}  // namespace scenarios
