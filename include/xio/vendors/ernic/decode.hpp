// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: decoder for completion queue entries (rdma-core, providers/vmw_pvrdma/cq.c).

#include <xio/config.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/ernic/status.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// Completion queue entries of ERNIC. Entries carry no valid bit: the device publishes its progress in the ring state's
/// rx.producer_tail and reads rx.consumer_head; both count modulo twice the number of entries. WorkCompletion::wr_id
/// identifies the operation; WorkCompletion::qpn holds bits 15:0 of the queue pair's handle.
struct CompletionDecoder {
  static constexpr bool by_index = true;  ///< is_new() takes a producer index, not a word of the entry
  static constexpr uint32_t entry_bytes = 64;
  static constexpr uint32_t word_offset = XIO_OFFSETOF(Cqe, opcode);  ///< offset of the 8 bytes that decode() takes
  static constexpr uint8_t initial_byte = 0;  ///< set-up fills the queue's memory and ring state with it

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `producer`: the ring
  /// state's rx.producer_tail. A value that is out of range for a ring of this size is ignored.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t producer, uint64_t index, uint32_t entries) {
    return producer < 2 * uint64_t{entries} && producer != (index & (2 * uint64_t{entries} - 1));
  }

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::WorkCompletion completion;
    const auto opcode = static_cast<CqeOpcode>(static_cast<uint32_t>(word));
    const auto status = static_cast<CqeStatus>(static_cast<uint32_t>(word >> 32));
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
    return ((read(XIO_OFFSETOF(Cqe, qp)) ^ of.qpn) & 0xffff) == 0;
  }

  /// Decodes an entry. `word`: its 8 bytes at word_offset. `read(offset)` returns 8 bytes of it; the offset is a
  /// multiple of 8.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(uint64_t word, Read read) {
    rdma::WorkCompletion completion;
    const auto opcode = static_cast<CqeOpcode>(static_cast<uint32_t>(word));
    completion.counts = rdma::Counter::none;
    completion.wr_id = read(XIO_OFFSETOF(Cqe, wr_id));
    completion.qpn = static_cast<uint32_t>(read(XIO_OFFSETOF(Cqe, qp)) & 0xffff);
    completion.status = to_status(static_cast<CqeStatus>(static_cast<uint32_t>(word >> 32)));
    if (!is_receive(opcode)) {
      completion.kind = rdma::CompletionKind::send;
      return completion;
    }
    completion.kind = rdma::CompletionKind::receive;
    if constexpr (!Receives) return completion;
    const uint64_t message = read(XIO_OFFSETOF(Cqe, byte_count));
    const uint64_t source = read(XIO_OFFSETOF(Cqe, source_qpn));
    const auto flags = static_cast<uint32_t>(source >> 32);
    completion.bytes = static_cast<uint32_t>(message);
    completion.source_qpn = static_cast<uint32_t>(source);
    // A key is not wire data: the device writes it as a little-endian integer.
    const auto immediate = static_cast<uint32_t>(message >> 32);
    const bool is_key = (flags & cqe_flag::invalidated) != 0;
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
}  // namespace ernic

XIO_NAMESPACE_END
