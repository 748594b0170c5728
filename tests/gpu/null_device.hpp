// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A device that completes everything at once and lives on the GPU: one wave that reads entries and posts
/// completions.
///
/// It takes the host, PCIe and any medium out of a measurement: what is left is the cost of the queue code.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/vendors/nvme/layout.hpp>

namespace gpu {

/// Rings and doorbells of one queue pair in device memory.
struct NullQueue {
  const xio::nvme::Sqe* sq;
  xio::nvme::Cqe* cq;
  const uint32_t* sq_doorbell;
  const uint32_t* cq_doorbell;
  uint32_t sq_mask;
  uint32_t cq_mask;
};

/// One wave serves one queue until `*stop` is set. Completions are posted in order.
XIO_DEVICE void serve_null_queue(const NullQueue& queue, const uint32_t* stop) {
  using namespace xio;
  constexpr arch::Scope system = arch::Scope::system;
  uint64_t fetched = 0;
  const uint32_t lane = arch::lane();
  const uint64_t group = arch::together(0);
  // `stop` may lie in host memory, where a look takes longer than serving the queue.
  for (uint32_t round = 0; round % 1024 != 0 || arch::broadcast(group, arch::load<system>(stop), 0) == 0; ++round) {
    const uint64_t tail = ring::widen(fetched, arch::observe<system>(queue.sq_doorbell), queue.sq_mask);
    const uint64_t head = arch::load<system>(queue.cq_doorbell);
    const auto unread = static_cast<uint32_t>(fetched - head) & queue.cq_mask;
    const uint32_t room = queue.cq_mask - unread;
    auto count = static_cast<uint32_t>(tail - fetched);
    if (count > room) count = room;
    if (count > arch::wave_size()) count = arch::wave_size();
    count = arch::broadcast(group, count, 0);
    arch::converge(group);  // what the first lane has acquired
    if (lane < count) {
      const uint64_t index = fetched + lane;
      const auto* entry = reinterpret_cast<const uint32_t*>(queue.sq + ring::slot(index, queue.sq_mask));
      const uint32_t cid = arch::load<system>(entry) >> 16;
      const uint32_t phase = ring::phase(index, queue.cq_mask);
      auto* words = reinterpret_cast<uint64_t*>(queue.cq + ring::slot(index, queue.cq_mask));
      arch::store<system>(words, uint64_t{0});
      const auto sqhd = ring::slot(index + 1, queue.sq_mask);
      arch::publish<system>(words + 1,
                            uint64_t{sqhd} | uint64_t{1} << 16 | uint64_t{cid} << 32 | uint64_t{phase} << 48);
    }
    arch::converge(group);
    fetched += count;
  }
}

}  // namespace gpu
