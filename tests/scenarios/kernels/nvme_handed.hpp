// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Buffers that a barrier of the block hands over to another wave.

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

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
