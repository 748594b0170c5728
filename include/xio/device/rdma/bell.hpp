// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Doorbells of RDMA queues, used to publish entries and to ring for them (queue/claim.hpp): few words.

#include <xio/device/core/com.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/device/rdma/sink.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Doorbell of a send queue.
template <class Vendor, Sharing S, class QueuePolicy>
struct SendBell {
  using Policy = QueuePolicy;
  static constexpr Sharing sharing = S;
  static constexpr bool has_heads = Vendor::doorbell_repeats_entry;
  /// Its code has no room for that (docs/internals/instruction-budgets.md).
  static constexpr bool checks_use = false;
  static constexpr uint32_t kind = 0;

  QueueState* state;
  SendState* send;
  uint32_t* record;
  void* doorbell;
  uint32_t depth;
  uint32_t qpn;
  uint32_t entries;

  XIO_HOST_DEVICE SendBell(const QueuePairHandle& q, QueueState* its_state, SendState* its_send)
      : state(its_state),
        send(its_send),
        record(q.sq_record),
        doorbell(q.sq_doorbell),
        depth(q.depth),
        qpn(q.shape.qpn),
        entries(q.shape.entries) {}

  XIO_DEVICE_INLINE uint64_t& link(uint64_t ticket) const { return word(ticket, 0); }

  /// First 8 bytes of the entry that ends at `end`.
  XIO_DEVICE_INLINE uint64_t head([[maybe_unused]] uint64_t end) const {
    if constexpr (!has_heads) {
      return 0;
    } else if constexpr (is_shared<S>) {
      // order: head before record. Once the record is stored, the device may execute the entry, and another wave
      // reuse its place.
      return arch::observe<state_scope<S>>(&word(end - 1, entries));
    } else {
      return send->last_head;
    }
  }
  XIO_DEVICE_INLINE void leave_head(uint64_t end, uint64_t head) const {
    arch::store<state_scope<S>>(&word(end - 1, entries), head);
  }

  /// `head`: first 8 bytes of the last entry.
  XIO_DEVICE_INLINE void ring(uint64_t end, [[maybe_unused]] uint64_t head) const {
    SendShape shape;
    shape.qpn = qpn;
    shape.entries = entries;
    // Computed before the record is stored, since the compiler reloads everything after that store.
    [[maybe_unused]] uint64_t value = 0;
    if constexpr (Vendor::has_send_doorbell) value = Vendor::send_doorbell(shape, end, head);
    if constexpr (Vendor::has_send_record) {
      arch::store<arch::Scope::system>(record, Vendor::send_record(shape, end));
      // order: record before doorbell. The device may read the record as soon as the doorbell has reached it.
      if constexpr (Vendor::has_send_doorbell) arch::wait_stores<Policy::in_gpu_memory>();
    }
    if constexpr (Vendor::has_send_doorbell) {
      using Word = typename Vendor::Doorbell;
      uint32_t half = 0;
      if constexpr (Vendor::doorbell_stride != 0) half = next_half();
      auto* const where = reinterpret_cast<Word*>(static_cast<char*>(doorbell) + half);
      if constexpr (S == Sharing::thread) {
        arch::store_mmio_each_lane(where, static_cast<Word>(value));
      } else {
        XioComDoorbell<order::Relaxed>(where, static_cast<Word>(value));
      }
      if constexpr (Vendor::doorbell_is_served) arch::serve_doorbell(where);
    }
  }

 private:
  /// The word at `before` plus the ticket's ring slot, among the words after the state.
  XIO_DEVICE_INLINE uint64_t& word(uint64_t ticket, uint32_t before) const {
    return reinterpret_cast<uint64_t*>(state + 1)[before + ring_slot<Vendor>(ticket, entries)];
  }

  /// Byte offset of the register to ring now, of two used in turn. Only one lane rings at a time; the last one may have
  /// been another.
  XIO_DEVICE_INLINE uint32_t next_half() const {
    const uint32_t half = arch::load<state_scope<S>>(&send->half);
    arch::store<state_scope<S>>(&send->half, half ^ Vendor::doorbell_stride);
    return half;
  }
};

/// Doorbell of a receive queue.
template <class Vendor, Sharing S, class QueuePolicy>
struct ReceiveBell {
  /// A message can arrive at any time: receives are announced with every post.
  struct Policy : QueuePolicy {
    static constexpr Ringing ringing = Ringing::immediate;
  };
  static constexpr Sharing sharing = S;
  static constexpr bool has_heads = false;
  static constexpr bool checks_use = Policy::argument_checks;
  static constexpr uint32_t kind = Policy::keeps_receives;

  QueueState* state;
  ReceiveState* receives;
  uint32_t* record;
  void* doorbell;
  uint32_t depth;
  uint32_t qpn;
  uint32_t entries;

  XIO_HOST_DEVICE explicit ReceiveBell(const ReceiveQueueHandle& q)
      : state(&q.state->queue),
        receives(q.state),
        record(q.record),
        doorbell(q.doorbell),
        depth(q.depth),
        qpn(q.shape.qpn),
        entries(q.shape.entries) {}

  XIO_DEVICE_INLINE uint64_t& link(uint64_t ticket) const {
    return reinterpret_cast<uint64_t*>(receives + 1)[ring::slot(ticket, entries - 1)];
  }
  XIO_DEVICE_INLINE static uint64_t head(uint64_t) { return 0; }

  XIO_DEVICE_INLINE void ring(uint64_t end, uint64_t) const {
    ReceiveShape shape;
    shape.qpn = qpn;
    shape.entries = entries;
    if constexpr (Vendor::has_receive_record) {
      arch::store<arch::Scope::system>(record, Vendor::receive_record(shape, end));
      // order: record before doorbell
      if constexpr (Vendor::has_receive_doorbell) arch::wait_stores<Policy::in_gpu_memory>();
    }
    if constexpr (Vendor::has_receive_doorbell) {
      auto* const where = static_cast<typename Vendor::Doorbell*>(doorbell);
      if constexpr (S == Sharing::thread) {
        arch::store_mmio_each_lane(where, Vendor::receive_doorbell(shape, end));
      } else {
        XioComDoorbell<order::Relaxed>(where, Vendor::receive_doorbell(shape, end));
      }
    }
  }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
