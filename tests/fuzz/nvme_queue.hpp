// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe queue of a random shape in memory of its own.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <xio/device/nvme/queue.hpp>

#include "fuzz/fuzz.hpp"
#include "fuzz/one_lane.hpp"

namespace fuzz {

namespace nvme = xio::nvme;

/// The log of failures of a queue, of its least size.
template <class Handle, class = void>
struct FailureMemory {
  void give_to(Handle&) {}
};
template <class Handle>
struct FailureMemory<Handle, std::void_t<decltype(Handle::failures)>> {
  using Log = std::remove_pointer_t<decltype(Handle::failures)>;
  static constexpr uint32_t entries = 64;
  static constexpr size_t bytes = sizeof(Log) + entries * sizeof(uint64_t);
  std::unique_ptr<void, void (*)(void*)> memory{std::aligned_alloc(alignof(Log), bytes), std::free};

  void give_to(Handle& handle) {
    std::memset(memory.get(), 0, bytes);
    handle.failures = static_cast<Log*>(memory.get());
    handle.failure_entries = entries;
  }
};

/// Queue memory of exactly the sizes that the handle says, so that a sanitizer sees every step beyond.
struct NvmeQueueMemory {
  nvme::QueueHandle handle{};
  xio::QueueState state{};
  uint64_t links[32]{};
  std::vector<nvme::Sqe> sq;
  std::vector<nvme::Cqe> cq;
  std::vector<xio::nvme::CompletionSlot> slots;
  std::vector<xio::Notification*> notifications;
  std::vector<uint64_t> lists;
  FailureMemory<nvme::QueueHandle> failures;
  uint32_t sq_doorbell = 0;
  uint32_t cq_doorbell = 0;

  explicit NvmeQueueMemory(Input& input) {
    const uint32_t sq_shift = 1 + input.up_to<uint8_t>(4);
    const uint32_t cq_shift = 1 + input.up_to<uint8_t>(5);
    const uint32_t least = sq_shift < cq_shift ? sq_shift : cq_shift;
    handle.depth = 1 + input.take() % ((1u << least) - 1);
    handle.sq_mask = (1u << sq_shift) - 1;
    handle.cq_mask = (1u << cq_shift) - 1;
    uint32_t slot_count = 2;
    while (slot_count < 2 * handle.depth) slot_count *= 2;
    handle.slot_mask = (slot_count << input.up_to<uint8_t>(2)) - 1;
    handle.page_shift = 12 + input.up_to<uint8_t>(2);
    handle.block_shift = 9 + input.up_to<uint8_t>(4);
    handle.max_blocks = 1 + input.take();
    handle.namespace_blocks = input.flag() ? 0 : input.wide();
    // As the handle wants them: whole in a page, or whole pages.
    const uint32_t list_bytes = input.up_to<uint16_t>(640) * 8u;
    const auto page_bytes = static_cast<uint32_t>(page());
    handle.list_bytes = list_bytes == 0 ? 0 : 8;
    while (handle.list_bytes < list_bytes)
      handle.list_bytes += handle.list_bytes < page_bytes ? handle.list_bytes : page_bytes;
    handle.nsid = 1 + input.take();
    handle.qid = 1;
    // As of a controller's start: rings zeroed.
    sq.resize(handle.sq_mask + 1);
    cq.resize(handle.cq_mask + 1);
    slots.resize(handle.slot_mask + 1);
    notifications.resize(handle.slot_mask + 1);
    lists.resize(size_t{handle.list_bytes} / 8 * slots.size());
    handle.state = &state;
    handle.sq = sq.data();
    handle.cq = cq.data();
    handle.slots = slots.data();
    handle.notifications = notifications.data();
    failures.give_to(handle);
    handle.sq_doorbell = &sq_doorbell;
    handle.cq_doorbell = &cq_doorbell;
    handle.lists = lists.empty() ? nullptr : lists.data();
    handle.lists_bus = lists.empty() ? 0 : list_place(input.take<uint16_t>());
  }

  NvmeQueueMemory(const NvmeQueueMemory&) = delete;
  NvmeQueueMemory& operator=(const NvmeQueueMemory&) = delete;

  void check_doorbells() const {
    expect(sq_doorbell <= handle.sq_mask, "the SQ doorbell is within the ring");
    expect(cq_doorbell <= handle.cq_mask, "the CQ doorbell is within the ring");
  }
  uint64_t page() const { return uint64_t{1} << handle.page_shift; }
  uint64_t list_place(uint16_t number) const {
    return uint64_t{1} << 40 | uint64_t{number & 511u} * (handle.list_bytes < page() ? handle.list_bytes : page());
  }
  uint64_t list_word(uint64_t bus) const {
    expect(bus >= handle.lists_bus && bus % 8 == 0 && (bus - handle.lists_bus) / 8 < lists.size(),
           "the controller reads list memory alone");
    return lists[(bus - handle.lists_bus) / 8];
  }
};

}  // namespace fuzz
