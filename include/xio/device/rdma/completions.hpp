// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reading an RDMA completion queue: what is new, what it says, how far it was read.

#include <xio/device/core/com.hpp>
#include <xio/device/queue/completion.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// A completion queue as one vendor's device writes it.
template <class Vendor>
struct CompletionReader {
  using Completions = typename Vendor::Completions;
  const CompletionQueueHandle& queue;
  // Once for a whole drain: the compiler fetches what the handle says again after each coherent access.
  const char* entries;
  uint32_t size;

  XIO_HOST_DEVICE explicit CompletionReader(const CompletionQueueHandle& handle)
      : queue(handle), entries(static_cast<const char*>(handle.entries)), size(handle.size) {}

  /// The word that tells whether the entry at `index` is new.
  XIO_DEVICE_INLINE uint64_t look(uint64_t index) const {
    if constexpr (Completions::by_index) {
      return arch::load<arch::Scope::system>(queue.producer);
    } else {
      return load_word(index, Completions::word_offset);
    }
  }

  /// Whether the entry `position` behind `head`, which is the first that was not read, is new. `word`: from look().
  XIO_DEVICE_INLINE bool is_new(uint64_t word, uint64_t head, uint32_t position) const {
    if constexpr (Completions::by_index) {
      return position < Vendor::available(static_cast<uint32_t>(word), head, size);
    } else {
      return (position == 0 || position < size) && Completions::is_new(word, head + position, size);
    }
  }

  /// What the new entry at `index` says; after arch::order_loads.
  XIO_DEVICE_INLINE WorkCompletion read(uint64_t word, uint64_t index) const {
    if constexpr (Completions::by_index) word = load_word(index, Completions::word_offset);
    return Completions::decode(word, [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// As read(), where the entry tells nothing but that operations of a send queue ended well; else
  /// CompletionKind::nothing.
  XIO_DEVICE_INLINE WorkCompletion read_success(uint64_t word, uint64_t index) const {
    if constexpr (Completions::by_index) word = load_word(index, Completions::word_offset);
    return Completions::decode_success(word, [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// Whether the new entry at `index`, of which read() or read_success() made `completion`, is about the queue pair
  /// `qpn`.
  XIO_DEVICE_INLINE bool is_about(uint32_t qpn, const WorkCompletion& completion, uint64_t word, uint64_t index) const {
    return Completions::is_about({qpn, queue.cookie}, completion, word,
                                 [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// Tells the device how far its ring was read. One lane calls; with Sharing::thread each for its own queue.
  template <Sharing S>
  XIO_DEVICE_INLINE void acknowledge(uint64_t head) const {
    if constexpr (Vendor::has_cq_record) {
      arch::store<arch::Scope::system>(queue.record, Vendor::cq_record(head, size));
      if constexpr (Vendor::has_cq_doorbell) arch::wait_stores();
    }
    if constexpr (Vendor::has_cq_doorbell) {
      auto* const doorbell = static_cast<typename Vendor::CqDoorbell*>(queue.doorbell);
      const auto value = Vendor::cq_doorbell(queue.number, head, size);
      if constexpr (S == Sharing::thread) {
        arch::store_mmio_each_lane(doorbell, value);
      } else {
        XioComDoorbell<order::Relaxed>(doorbell, value);
      }
    }
  }

 private:
  XIO_DEVICE_INLINE uint64_t load_word(uint64_t index, uint32_t offset) const {
    const char* const entry = entries + ring::slot(index, size - 1) * Completions::entry_bytes;
    return arch::load<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry + offset));
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
