// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Buffers that are used again, or that a barrier of the block hands over to another wave. The host has filled
/// each block that is read into with words of the thread's number.

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

/// The library's barrier.
struct BlockBarrier {
  XIO_DEVICE_INLINE static void meet() { xio::arch::block_barrier(); }
};

/// __syncthreads(). On AMD GPUs it releases and acquires at workgroup scope, for which gfx90a and gfx942 wait for
/// nothing.
struct SyncThreads {
  XIO_DEVICE_INLINE static void meet() {
#if defined(__HIP__)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#else
    xio::arch::block_barrier();
#endif
  }
};

/// Some lanes of each wave fill a block, and load what was read before; lanes of the next wave write the one and read
/// into the other. No store may be missing, and no load may see what the device writes later.
template <class Policy, class Barrier>
XIO_DEVICE void handed(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::block, Policy> queue(job.queues[0]);
  const uint32_t self = thread_number();
  const bool takes_part = arch::lane() < comparing_lanes;
  Blocks<decltype(queue)> own(queue, job, self);
  Blocks<decltype(queue)> theirs(queue, job, (self + arch::wave_size()) % job.lanes);
  uint64_t before = self;  // stamp of the block that was read last
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = own.until();
    uint64_t first = 0;
    uint64_t last = 0;
    if (takes_part) fill(own.out(), own.stamp(round), job.words);
    Barrier::meet();
    if (takes_part) {
      if constexpr (Policy::publication == Publication::write_through) queue.publish_payload();
      const nvme::ContiguousPages out{theirs.out_bus()};
      const Token write = queue.submit(nvme::write(theirs.lba(round), 1), out, limit);
      count(job.report, queue.wait(write, limit), true, 43);
      first = own.in()[0];
      last = own.in()[job.words - 1];
    }
    Barrier::meet();
    Status status;
    if (takes_part) {
      const nvme::ContiguousPages in{theirs.in_bus()};
      const Token read = queue.submit(nvme::read(theirs.lba(round), 1), in, limit);
      status = queue.wait(read, limit);
    }
    Barrier::meet();
    const bool old = first == word_of(before, 0) && last == word_of(before, job.words - 1);
    before = own.stamp(round);
    if (takes_part) count(job.report, status, old && holds(own.in(), before, job.words), 44);
  }
}

}  // namespace scenarios
