// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Soft-RoCE: decoder for completion queue entries (Linux UAPI, rdma/ib_user_verbs.h; rdma-core,
/// providers/rxe/rxe.c).

#include <xio/config.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Completion queue entries of Soft-RoCE. Entries carry no valid bit: the kernel publishes its progress in
/// QueueHeader::producer_index. WorkCompletion::wr_id identifies the operation.
/// @tparam EntryBytes 1 << QueueHeader::log2_entry_bytes, which is at least the kernel's cache line
template <uint32_t EntryBytes = 64>
struct CompletionDecoder {
  static_assert(EntryBytes >= sizeof(Cqe) && (EntryBytes & (EntryBytes - 1)) == 0,
                "EntryBytes must be a power of two that holds a CQE");
  static constexpr bool by_index = true;  ///< is_new() takes a producer index, not a word of the entry
  static constexpr uint32_t entry_bytes = EntryBytes;
  static constexpr uint32_t word_offset = XIO_OFFSETOF(Cqe, status);  ///< offset of the 8 bytes that decode() takes
  static constexpr uint8_t initial_byte = 0;                          ///< the kernel zeroes the queue's memory

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `producer`:
  /// QueueHeader::producer_index.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t producer, uint64_t index, uint32_t entries) {
    return ((producer ^ index) & (entries - 1)) != 0;
  }

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::WorkCompletion completion;
    const auto opcode = static_cast<CqeOpcode>(static_cast<uint32_t>(word >> 32));
    const auto status = static_cast<CqeStatus>(static_cast<uint32_t>(word));
    if (status != CqeStatus::ok || is_receive(opcode)) return completion;
    completion.kind = rdma::CompletionKind::send;
    completion.counts = rdma::Counter::none;
    completion.wr_id = read(XIO_OFFSETOF(Cqe, wr_id));
    return completion;
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion&, uint64_t, Read read) {
    return static_cast<uint32_t>(read(XIO_OFFSETOF(Cqe, immediate)) >> 32) == of.qpn;
  }

  /// Decodes an entry. `word`: its 8 bytes at word_offset. `read(offset)` returns 8 bytes of it; the offset is a
  /// multiple of 8.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(uint64_t word, Read read) {
    rdma::WorkCompletion completion;
    const auto opcode = static_cast<CqeOpcode>(static_cast<uint32_t>(word >> 32));
    completion.counts = rdma::Counter::none;
    completion.wr_id = read(XIO_OFFSETOF(Cqe, wr_id));
    completion.status = to_status(static_cast<CqeStatus>(static_cast<uint32_t>(word)));
    const uint64_t immediate_qpn = read(XIO_OFFSETOF(Cqe, immediate));
    completion.qpn = static_cast<uint32_t>(immediate_qpn >> 32);
    if (!is_receive(opcode)) {
      completion.kind = rdma::CompletionKind::send;
      return completion;
    }
    completion.kind = rdma::CompletionKind::receive;
    if constexpr (!Receives) return completion;
    completion.bytes = static_cast<uint32_t>(read(XIO_OFFSETOF(Cqe, vendor_error)) >> 32);
    const uint64_t source = read(XIO_OFFSETOF(Cqe, source_qpn));
    completion.source_qpn = static_cast<uint32_t>(source);
    const auto flags = static_cast<uint32_t>(source >> 32);
    const bool is_key = (flags & cqe_flag::invalidated) != 0;
    const auto immediate = static_cast<uint32_t>(immediate_qpn);
    completion.immediate = is_key ? immediate : byte_swap(immediate);
    uint32_t what = opcode == CqeOpcode::receive_rdma_immediate ? uint32_t{rdma::receive_flag::write} : 0;
    if ((flags & cqe_flag::immediate) != 0) what |= rdma::receive_flag::immediate;
    if (is_key) what |= rdma::receive_flag::invalidated;
    completion.flags = static_cast<uint8_t>(what);
    return completion;
  }

 private:
  XIO_HOST_DEVICE static constexpr bool is_receive(CqeOpcode opcode) {
    return opcode == CqeOpcode::receive || opcode == CqeOpcode::receive_rdma_immediate;
  }
};

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
