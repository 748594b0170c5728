// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Soft-RoCE: encoders for work queue entries (Linux UAPI, rdma/rdma_user_rxe.h; rdma-core,
/// providers/rxe/rxe.c).
///
/// Entries are stored as 8-byte words: SGEs start at byte 208 of a send queue entry and at byte 40 of a receive queue
/// entry, and the kernel's memory guarantees no stricter alignment. The sink of these encoders has `put8(i, value)`,
/// which stores the word at byte 8 * i.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/rdma/verbs.hpp>
#include <xio/vendors/rdma/work.hpp>
#include <xio/vendors/rxe/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Producer or consumer index for a queue's header, from a counter that never wraps. `entries`: power of two.
XIO_DEVICE constexpr uint32_t ring_index(uint64_t counter, uint32_t entries) {
  return static_cast<uint32_t>(counter & (entries - 1));
}

namespace detail {

/// An 8-byte word from its halves in memory order.
XIO_DEVICE constexpr uint64_t halves(uint32_t first, uint32_t second) { return first | uint64_t{second} << 32; }

/// Number of the word at byte `offset` of an entry.
XIO_DEVICE constexpr uint32_t at(uint64_t offset) { return static_cast<uint32_t>(offset / 8); }

/// Stores the initial DmaState.
template <class Sink>
XIO_DEVICE_INLINE constexpr void put_dma(uint32_t next, uint32_t bytes, uint32_t sges, Sink& sink) {
  sink.put8(next, halves(bytes, bytes));
  sink.put8(next + 1, halves(0, sges));
  sink.put8(next + 2, 0);
}

/// Stores SGEs.
template <class Payload, class Sink>
XIO_DEVICE_INLINE constexpr void put_sges(uint32_t next, const Payload& payload, Sink& sink) {
  for (uint32_t i = 0; i < payload.count(); ++i) {
    const rdma::Sge piece = payload.at(i);
    sink.put8(next++, piece.address);
    sink.put8(next++, halves(piece.length, piece.lkey));
  }
}

}  // namespace detail

/// Entries of a Soft-RoCE send queue. Counters count entries of 1 << SendShape::entry_shift bytes. A ring of n entries
/// holds at most n - 1.
struct SendEncoder : rdma::verbs::SendBase<Opcode, Opcode::send> {
  /// Returns why the operation cannot be posted, or Status::ok; called before a ticket is claimed.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::SendShape& shape, const rdma::Work& work,
                                                const Payload& payload) {
    if (work.operation == rdma::Operation::nop) return Status::unsupported;
    const uint64_t room = (uint64_t{1} << shape.entry_shift) - sizeof(SendWqe);
    if constexpr (Payload::is_inline) {
      if (rdma::fills_local(work.operation) || work.operation == rdma::Operation::local_invalidate) {
        return Status::invalid_argument;
      }
      if (payload.bytes() > shape.max_inline || payload.bytes() > room) return Status::out_of_range;
    } else {
      const Status refusal = check_sges(shape, work, payload, room);
      if (!refusal.is_ok()) return refusal;
      if (rdma::is_atomic(work.operation) && (work.remote & 7) != 0) return Status::invalid_argument;
    }
    return Status::ok;
  }

  /// Stores the entry's words; words of SendWqe::operation that the operation does not use are left unchanged. Returns
  /// 0: there is no doorbell register, the kernel must be called.
  template <class Payload, class Sink>
  XIO_DEVICE_INLINE static constexpr uint64_t encode(const rdma::SendShape&, const rdma::Work& work,
                                                     const Payload& payload, const rdma::Place& place, Sink& sink) {
    using detail::at;
    using detail::halves;
    sink.put8(at(XIO_OFFSETOF(SendHeader, wr_id)), place.wr_id);
    sink.put8(at(XIO_OFFSETOF(SendHeader, reserved)), halves(0, static_cast<uint32_t>(opcode(work.operation))));
    sink.put8(at(XIO_OFFSETOF(SendHeader, send_flags)), halves(flags<Payload>(work), immediate(work)));
    constexpr uint32_t operation = at(XIO_OFFSETOF(SendWqe, operation));
    if (rdma::is_atomic(work.operation)) {
      const bool swap = work.operation == rdma::Operation::compare_swap;
      sink.put8(operation, work.remote);
      sink.put8(operation + 1, swap ? work.compare : work.swap_add);
      sink.put8(operation + 2, swap ? work.swap_add : 0);
      sink.put8(operation + 3, work.rkey);
    } else if (rdma::is_remote(work.operation)) {
      sink.put8(operation, work.remote);
      sink.put8(operation + 1, work.rkey);
    }
    // The kernel's own fields must initially be zero.
    sink.put8(at(XIO_OFFSETOF(SendWqe, status)), 0);
    sink.put8(at(XIO_OFFSETOF(SendWqe, iova)), rdma::is_remote(work.operation) ? work.remote : 0);
    sink.put8(at(XIO_OFFSETOF(SendWqe, mask)), 0);
    sink.put8(at(XIO_OFFSETOF(SendWqe, last_psn)), 0);
    sink.put8(at(XIO_OFFSETOF(SendWqe, ssn)), static_cast<uint32_t>(place.index));
    constexpr uint32_t data = sizeof(SendWqe) / 8;
    detail::put_dma(at(XIO_OFFSETOF(SendWqe, dma)), static_cast<uint32_t>(payload.bytes()), payload.count(), sink);
    if constexpr (Payload::is_inline) {
      const auto bytes = static_cast<int32_t>(payload.bytes());
      for (int32_t done = 0; done < bytes; done += 8) {
        sink.put8(data + static_cast<uint32_t>(done) / 8, halves(payload.word(done), payload.word(done + 4)));
      }
    } else {
      detail::put_sges(data, payload, sink);
    }
    return 0;
  }

 private:
  /// Immediate data in network byte order; a key in native byte order.
  XIO_HOST_DEVICE static constexpr uint32_t immediate(const rdma::Work& work) {
    if (rdma::has_immediate(work.operation)) return byte_swap(work.immediate);
    return rdma::has_invalidate_key(work.operation) ? work.immediate : 0;
  }
};
static_assert(XIO_OFFSETOF(SendHeader, send_flags) % 8 == 0 && XIO_OFFSETOF(SendWqe, mask) % 8 == 0 &&
                  XIO_OFFSETOF(SendWqe, ssn) % 8 == 0 && sizeof(SendWqe) % 8 == 0 && sizeof(ReceiveWqe) % 8 == 0,
              "words begin at these fields");

/// Entries of a Soft-RoCE receive queue, of 1 << ReceiveShape::entry_shift bytes each.
struct ReceiveEncoder : rdma::verbs::ReceiveBase<sizeof(ReceiveWqe)> {
  /// Stores the entry's words.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void encode(const rdma::ReceiveShape&, const Payload& payload,
                                               const rdma::Place& place, Sink& sink) {
    sink.put8(0, place.wr_id);
    sink.put8(1, 0);
    detail::put_dma(2, static_cast<uint32_t>(payload.bytes()), payload.count(), sink);
    detail::put_sges(sizeof(ReceiveWqe) / 8, payload, sink);
  }
};

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
