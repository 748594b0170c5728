// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels in which users of one queue have different policies.

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

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

}  // namespace scenarios
