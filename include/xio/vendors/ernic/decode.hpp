// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: decoder for completion queue entries (rdma-core, providers/vmw_pvrdma/cq.c).

#include <xio/config.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/ernic/status.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rdma/verbs.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// Where CompletionDecoder finds the fields of an entry.
struct CompletionFormat {
  using Cqe = ernic::Cqe;
  static constexpr uint32_t qp_offset = XIO_OFFSETOF(Cqe, qp);
  static constexpr uint32_t message_offset = XIO_OFFSETOF(Cqe, byte_count);
  static constexpr uint32_t invalidated = cqe_flag::invalidated;

  XIO_HOST_DEVICE static constexpr CqeOpcode opcode(uint64_t word) {
    return static_cast<CqeOpcode>(static_cast<uint32_t>(word));
  }
  XIO_HOST_DEVICE static constexpr CqeStatus status(uint64_t word) {
    return static_cast<CqeStatus>(static_cast<uint32_t>(word >> 32));
  }
  XIO_HOST_DEVICE static constexpr uint32_t qpn(uint64_t qp) { return static_cast<uint32_t>(qp & 0xffff); }
  XIO_HOST_DEVICE static constexpr uint32_t bytes(uint64_t message) { return static_cast<uint32_t>(message); }
  XIO_HOST_DEVICE static constexpr uint32_t immediate(uint64_t, uint64_t message) {
    return static_cast<uint32_t>(message >> 32);
  }
};

/// Completion queue entries of ERNIC. The device publishes its progress in the ring state's rx.producer_tail and reads
/// rx.consumer_head; both count modulo twice the number of entries. WorkCompletion::qpn holds bits 15:0 of the queue
/// pair's handle.
struct CompletionDecoder : rdma::verbs::CompletionBase<CompletionFormat> {
  static constexpr uint32_t entry_bytes = 64;
  static constexpr uint32_t word_offset = XIO_OFFSETOF(Cqe, opcode);  ///< offset of the 8 bytes that decode() takes
  static constexpr uint8_t initial_byte = 0;  ///< set-up fills the queue's memory and ring state with it

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `producer`: the ring
  /// state's rx.producer_tail. A value that is out of range for a ring of this size is ignored.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t producer, uint64_t index, uint32_t entries) {
    return producer < 2 * uint64_t{entries} && producer != (index & (2 * uint64_t{entries} - 1));
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion&, uint64_t, Read read) {
    return ((read(XIO_OFFSETOF(Cqe, qp)) ^ of.qpn) & 0xffff) == 0;
  }
};

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
