// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reading an RDMA completion queue: new entries, their contents, acknowledgement.

#include <xio/device/core/com.hpp>
#include <xio/device/queue/agree.hpp>
#include <xio/device/queue/drain.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Reader of a completion queue in one vendor's format.
template <class Vendor>
struct CompletionReader {
  using Completions = typename Vendor::Completions;
  const CompletionQueueHandle& queue;
  // Copied once per drain: the compiler reloads the handle's members after each coherent access.
  const char* entries;
  uint32_t size;
  uint32_t mask;  ///< size - 1

  XIO_HOST_DEVICE explicit CompletionReader(const CompletionQueueHandle& handle)
      : queue(handle), entries(static_cast<const char*>(handle.entries)), size(handle.size), mask(handle.size - 1) {}

  /// Loads the word that shows whether the entry at `index` is new.
  XIO_DEVICE_INLINE uint64_t look(uint64_t index) const {
    if constexpr (Completions::by_index) {
      return arch::load<arch::Scope::system>(queue.producer);
    } else {
      return load_word(index, Completions::word_offset);
    }
  }
  /// look(), which later loads of the entry follow.
  XIO_DEVICE_INLINE uint64_t observe(uint64_t index) const {
    if constexpr (Completions::by_index) {
      return arch::observe<arch::Scope::system>(queue.producer);
    } else {
      return arch::observe<arch::Scope::system>(word_at(index, Completions::word_offset));
    }
  }

  /// Whether the entry `position` entries after `head`, the first unread one, is new. `word`: from look().
  XIO_DEVICE_INLINE bool is_new(uint64_t word, uint64_t head, uint32_t position) const {
    if constexpr (Completions::by_index) {
      return position < Vendor::available(static_cast<uint32_t>(word), head, size);
    } else {
      return (position == 0 || position < size) && Completions::is_new(word, head + position, size);
    }
  }

  /// Decodes the new entry at `index`; after observe(), or look() and arch::order_loads.
  /// @tparam Receives whether the details of receives are read
  template <bool Receives>
  XIO_DEVICE_INLINE WorkCompletion read(uint64_t word, uint64_t index) const {
    if constexpr (Completions::by_index) word = load_word(index, Completions::word_offset);
    return Completions::template decode<Receives>(word, [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// Decodes the entry like read() if it only reports successful operations of a send queue; else returns
  /// CompletionKind::nothing.
  XIO_DEVICE_INLINE WorkCompletion read_success(uint64_t word, uint64_t index) const {
    if constexpr (Completions::by_index) word = load_word(index, Completions::word_offset);
    return Completions::decode_success(word, [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// Whether the new entry at `index`, decoded as `completion` by read() or read_success(), belongs to the queue pair
  /// `qpn`.
  XIO_DEVICE_INLINE bool is_about(uint32_t qpn, const WorkCompletion& completion, uint64_t word, uint64_t index) const {
    return Completions::is_about({qpn, queue.cookie}, completion, word,
                                 [&](uint32_t offset) { return load_word(index, offset); });
  }

  /// Reports to the device how far its ring was read. All lanes of the group call; with Sharing::thread each lane for
  /// its own queue.
  template <Sharing S>
  XIO_DEVICE_INLINE void acknowledge(Group<S> group, uint64_t head) const {
    if (!group.leads()) return;
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
  XIO_DEVICE_INLINE const uint64_t* word_at(uint64_t index, uint32_t offset) const {
    const char* const entry = entries + ring::slot(index, mask) * Completions::entry_bytes;
    return reinterpret_cast<const uint64_t*>(entry + offset);
  }
  XIO_DEVICE_INLINE uint64_t load_word(uint64_t index, uint32_t offset) const {
    return arch::load<arch::Scope::system>(word_at(index, offset));
  }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
