// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Soft-RoCE: decoder for completion queue entries (Linux UAPI, rdma/ib_user_verbs.h; rdma-core,
/// providers/rxe/rxe.c).

#include <xio/config.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rdma/verbs.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Where CompletionDecoder finds the fields of an entry.
struct CompletionFormat {
  using Cqe = rxe::Cqe;
  static constexpr uint32_t qp_offset = XIO_OFFSETOF(Cqe, immediate);
  static constexpr uint32_t message_offset = XIO_OFFSETOF(Cqe, vendor_error);
  static constexpr uint32_t invalidated = cqe_flag::invalidated;

  XIO_HOST_DEVICE static constexpr CqeOpcode opcode(uint64_t word) {
    return static_cast<CqeOpcode>(static_cast<uint32_t>(word >> 32));
  }
  XIO_HOST_DEVICE static constexpr CqeStatus status(uint64_t word) {
    return static_cast<CqeStatus>(static_cast<uint32_t>(word));
  }
  XIO_HOST_DEVICE static constexpr uint32_t qpn(uint64_t qp) { return static_cast<uint32_t>(qp >> 32); }
  XIO_HOST_DEVICE static constexpr uint32_t bytes(uint64_t message) { return static_cast<uint32_t>(message >> 32); }
  XIO_HOST_DEVICE static constexpr uint32_t immediate(uint64_t qp, uint64_t) { return static_cast<uint32_t>(qp); }
};

/// Completion queue entries of Soft-RoCE. The kernel publishes its progress in QueueHeader::producer_index.
/// @tparam EntryBytes 1 << QueueHeader::log2_entry_bytes, which is at least the kernel's cache line
template <uint32_t EntryBytes = 64>
struct CompletionDecoder : rdma::verbs::CompletionBase<CompletionFormat> {
  static_assert(EntryBytes >= sizeof(Cqe) && (EntryBytes & (EntryBytes - 1)) == 0,
                "EntryBytes must be a power of two that holds a CQE");
  static constexpr uint32_t entry_bytes = EntryBytes;
  static constexpr uint32_t word_offset = XIO_OFFSETOF(Cqe, status);  ///< offset of the 8 bytes that decode() takes
  static constexpr uint8_t initial_byte = 0;                          ///< the kernel zeroes the queue's memory

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `producer`:
  /// QueueHeader::producer_index.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t producer, uint64_t index, uint32_t entries) {
    return ((producer ^ index) & (entries - 1)) != 0;
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion&, uint64_t, Read read) {
    return static_cast<uint32_t>(read(XIO_OFFSETOF(Cqe, immediate)) >> 32) == of.qpn;
  }
};

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
