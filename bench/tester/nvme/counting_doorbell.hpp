// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The doorbell of the tester's queues. It counts its rings when kernels run on the CPU.

#include <xio/device/core/doorbell.hpp>
#include <xio/device/nvme/handle.hpp>

namespace tester {

#if XIO_ARCH_HOST
/// Doorbells rung by the calling thread. A thread drives one queue at a time.
struct RingCounts {
  const xio::nvme::QueueHandle* queues = nullptr;
  uint32_t queue_count = 0;
  uint64_t sq = 0;
  uint64_t cq = 0;

  bool is_cq(const uint32_t* word) const {
    for (uint32_t i = 0; i < queue_count; ++i)
      if (word == queues[i].cq_doorbell) return true;
    return false;
  }
};
inline thread_local RingCounts ring_counts;
#endif

/// @param sq  whether a submission queue's doorbell was rung
XIO_DEVICE void count_ring([[maybe_unused]] bool sq) {
#if XIO_ARCH_HOST
  ++(sq ? ring_counts.sq : ring_counts.cq);
#endif
}
XIO_DEVICE void count_ring([[maybe_unused]] const xio::DoorbellTarget& target) {
#if XIO_ARCH_HOST
  count_ring(!ring_counts.is_cq(target.word));
#endif
}

/// @param queues  `count` of them, which the wave rings; they stay where they are until end_counting()
XIO_DEVICE void begin_counting([[maybe_unused]] const xio::nvme::QueueHandle* queues, [[maybe_unused]] uint32_t count) {
#if XIO_ARCH_HOST
  if (xio::arch::lane() == 0) ring_counts = {queues, count, 0, 0};
#endif
}

/// Adds the counts to those of the wave's first lane; the other lanes add 0.
XIO_DEVICE void end_counting([[maybe_unused]] uint64_t& sq, [[maybe_unused]] uint64_t& cq) {
#if XIO_ARCH_HOST
  // Lanes of a wave share a thread: the first one resets the counts, so the others add 0.
  sq += ring_counts.sq;
  cq += ring_counts.cq;
  ring_counts.sq = 0;
  ring_counts.cq = 0;
#endif
}

/// Rings the shadow doorbell if there is one, else the register: one kernel serves both.
struct TesterDoorbell {
  XIO_DEVICE_INLINE static void ring(const xio::DoorbellTarget& target, uint32_t value) {
    count_ring(target);
    target.shadow != nullptr ? xio::ShadowDoorbell::ring(target, value) : xio::MmioDoorbell::ring(target, value);
  }
  XIO_DEVICE_INLINE static void ring_each(const xio::DoorbellTarget& target, uint32_t value) {
    count_ring(target);
    target.shadow != nullptr ? xio::ShadowDoorbell::ring_each(target, value)
                             : xio::MmioDoorbell::ring_each(target, value);
  }
};

}  // namespace tester
