// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: completion queue entries read (rdma-core, providers/ionic/ionic_verbs.c).

#include <xio/config.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/ionic/status_codes.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {

/// Completion queue entries of Pensando DSC. Operations that reach the wire end by message number: Completion::counter
/// is the number after the last that ended (Counter::next_message), 24 bits; a failed one is that before it. Local
/// operations, and those that fail before they reach the wire, end by ring index (Counter::entry), 16 bits. Both
/// run at once, so operations end in the order posted only where software keeps to it. Of a receive queue, the counter
/// is the entry's ring index.
struct CompletionDecoder {
  static constexpr bool by_index = false;
  static constexpr uint32_t entry_bytes = 32;
  static constexpr uint32_t word_offset = 24;   ///< of the 8 bytes that tell a new entry
  static constexpr uint8_t initial_byte = 0;    ///< set-up fills the queue's memory with it
  static constexpr uint32_t message_bits = 24;  ///< of Completion::counter by message number

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `word`: its 8 bytes at
  /// word_offset.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
    const bool color = (static_cast<uint32_t>(word >> 32) & byte_swap(cqe_word::color)) != 0;
    return color == ((index & entries) == 0);
  }

  /// As decode(), where an entry tells nothing but that operations of a send queue ended well; else
  /// CompletionKind::nothing. The usual case, kept short.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Completion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::Completion completion;
    constexpr uint32_t what = cqe_word::type_mask << cqe_word::type_shift | cqe_word::error;
    constexpr uint32_t success = static_cast<uint32_t>(CqeType::send_msn) << cqe_word::type_shift;
    if ((static_cast<uint32_t>(word >> 32) & byte_swap(what)) != byte_swap(success)) return completion;
    completion.kind = rdma::CompletionKind::send;
    completion.counts = rdma::Counter::next_message;
    completion.counter = byte_swap(static_cast<uint32_t>(read(0) >> 32)) & msn_mask;
    return completion;
  }

  /// What an entry says. `read(offset)` gives 8 bytes of it; the offset is a multiple of 8.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Completion decode(uint64_t word, Read read) {
    rdma::Completion completion;
    const uint32_t what = byte_swap(static_cast<uint32_t>(word >> 32));
    const uint32_t status_length = byte_swap(static_cast<uint32_t>(word));
    completion.qpn = what >> cqe_word::qid_shift;
    completion.status = to_status(what, status_length);
    switch (static_cast<CqeType>(what >> cqe_word::type_shift & cqe_word::type_mask)) {
      case CqeType::send_msn:
        completion.kind = rdma::CompletionKind::send;
        completion.counts = rdma::Counter::next_message;
        completion.counter = byte_swap(static_cast<uint32_t>(read(0) >> 32)) & msn_mask;
        break;
      case CqeType::send_npg:
        // A flushed queue says it once, and names no operation.
        completion.kind =
            completion.status == Status::flushed ? rdma::CompletionKind::ended : rdma::CompletionKind::send;
        completion.counts = rdma::Counter::entry;
        completion.counter = static_cast<uint32_t>(read(16)) & cqe_index_mask;
        break;
      case CqeType::receive: {
        completion.kind = rdma::CompletionKind::receive;
        completion.counts = rdma::Counter::entry;
        completion.counter = static_cast<uint32_t>(read(0)) & cqe_index_mask;
        const uint32_t source = byte_swap(static_cast<uint32_t>(read(8)));
        completion.source_qpn = source & receive_qpn_mask;
        completion.flags =
            flags(static_cast<ReceiveOperation>(source >> receive_operation_shift & receive_operation_mask));
        completion.immediate = byte_swap(static_cast<uint32_t>(read(16) >> 32));
        if ((what & cqe_word::error) == 0) completion.bytes = status_length;
        break;
      }
      default: break;
    }
    return completion;
  }

 private:
  XIO_HOST_DEVICE static constexpr uint8_t flags(ReceiveOperation operation) {
    switch (operation) {
      case ReceiveOperation::send_invalidate: return rdma::receive_flag::invalidated;
      case ReceiveOperation::send_immediate: return rdma::receive_flag::immediate;
      case ReceiveOperation::rdma_write_immediate: return rdma::receive_flag::immediate | rdma::receive_flag::write;
      default: return 0;
    }
  }
};

}  // namespace ionic

XIO_NAMESPACE_END
