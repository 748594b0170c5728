// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ConnectX: decoders for completion queue entries (rdma-core, providers/mlx5/cq.c).

#include <xio/config.hpp>
#include <xio/vendors/mlx5/layout.hpp>
#include <xio/vendors/mlx5/status.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup vendors_mlx5
/// @{

/// Completion queue entries of ConnectX. WorkCompletion::counter is the producer counter, 16 bits, of the first unit of
/// the last completed entry; for a receive queue, of the completed entry.
/// @tparam EntryBytes 64 or 128, as the queue was created
template <uint32_t EntryBytes = 64>
struct CompletionDecoder {
  static_assert(EntryBytes == 64 || EntryBytes == 128, "CQEs have 64 or 128 bytes");
  static constexpr uint32_t entry_bytes = EntryBytes;
  static constexpr uint32_t base = EntryBytes - sizeof(Cqe);              ///< offset of the Cqe in the entry
  static constexpr uint32_t word_offset = EntryBytes - sizeof(uint64_t);  ///< offset of the 8 bytes with the owner bit
  static constexpr bool by_index = false;                                 ///< is_new() takes a word of the entry
  static constexpr uint8_t initial_byte = initial_opcode_owner;           ///< set-up fills the queue's memory with it

  /// Whether the entry at consumer index `index` of a queue of `entries` is new. `word`: its 8 bytes at word_offset.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
    const auto last = static_cast<uint8_t>(word >> 56);
    // The invalid opcode is the greatest value, so one comparison of the whole byte suffices.
    static_assert(static_cast<uint32_t>(CqeOpcode::invalid) == 0xf, "four bits set");
    return last < 0xf0 && (last & owner_bit) == expected_owner(index, entries);
  }

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::WorkCompletion completion;
    if (cqe_opcode(static_cast<uint8_t>(word >> 56)) != CqeOpcode::request) return completion;
    completion.kind = rdma::CompletionKind::send;
    completion.counter = byte_swap(static_cast<uint16_t>(word >> 32));
    return completion;
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion&, uint64_t word, Read) {
    // Compared in memory byte order; the lowest byte holds an opcode.
    return (static_cast<uint32_t>(word) ^ byte_swap(of.qpn)) >> 8 == 0;
  }

  /// Decodes an entry. `read(offset)` returns 8 bytes of it; the offset is a multiple of 8.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(uint64_t word, Read read) {
    rdma::WorkCompletion completion;
    const auto last = static_cast<uint8_t>(word >> 56);
    completion.counter = byte_swap(static_cast<uint16_t>(word >> 32));
    completion.qpn = byte_swap(static_cast<uint32_t>(word)) & key_mask;
    const CqeOpcode opcode = cqe_opcode(last);
    constexpr uint32_t sends = bit(CqeOpcode::request) | bit(CqeOpcode::request_error);
    constexpr uint32_t receives = bit(CqeOpcode::response_write_immediate) | bit(CqeOpcode::response_send) |
                                  bit(CqeOpcode::response_send_immediate) | bit(CqeOpcode::response_send_invalidate) |
                                  bit(CqeOpcode::response_error);
    if ((bit(opcode) & receives) != 0) completion.kind = rdma::CompletionKind::receive;
    if ((bit(opcode) & sends) != 0) completion.kind = rdma::CompletionKind::send;
    if (Receives ? is_error(opcode) : opcode == CqeOpcode::request_error) {
      const uint64_t detail = read(base + 48);
      completion.status = to_status(static_cast<Syndrome>(detail >> 56), static_cast<uint8_t>(detail >> 48 & 0xff));
    } else if (Receives && completion.kind == rdma::CompletionKind::receive) {
      completion.bytes = high(read(base + 40));
      completion.immediate = high(read(base + 32));
      completion.source_qpn = low(read(base + 24)) & key_mask;
      completion.flags = flags(opcode);
      if ((last & 2) != 0) completion.flags |= rdma::receive_flag::solicited;
      // The data is in the CQE, not in the posted memory: set-up must disable scatter to CQE.
      if ((last & (inline_scatter_32 | inline_scatter_64)) != 0) completion.status = Status::unsupported;
    }
    return completion;
  }

 private:
  XIO_HOST_DEVICE static constexpr uint32_t bit(CqeOpcode opcode) { return 1u << static_cast<uint32_t>(opcode); }
  XIO_HOST_DEVICE static constexpr uint32_t low(uint64_t word) { return byte_swap(static_cast<uint32_t>(word)); }
  XIO_HOST_DEVICE static constexpr uint32_t high(uint64_t word) { return byte_swap(static_cast<uint32_t>(word >> 32)); }

  XIO_HOST_DEVICE static constexpr uint8_t flags(CqeOpcode opcode) {
    switch (opcode) {
      case CqeOpcode::response_write_immediate: return rdma::receive_flag::immediate | rdma::receive_flag::write;
      case CqeOpcode::response_send_immediate: return rdma::receive_flag::immediate;
      case CqeOpcode::response_send_invalidate: return rdma::receive_flag::invalidated;
      default: return 0;
    }
  }
};

/// Decodes the single entry of a collapsed completion queue (linux/mlx5/mlx5_ifc.h, cqc.cc, with cqc.oi); send queues
/// only. The device overwrites the entry with each completion. Its counter is the progress of the send queue; the owner
/// bit has no meaning. `read(offset)` returns 8 bytes of the entry; each read is performed after the reads before it.
template <uint32_t EntryBytes = 64>
struct CollapsedDecoder {
  using Ring = CompletionDecoder<EntryBytes>;
  static constexpr uint32_t entry_bytes = EntryBytes;
  static constexpr uint8_t initial_byte = Ring::initial_byte;  ///< set-up fills the entry with it

  /// The word that is_new() and decode_success() take.
  template <class Read>
  XIO_HOST_DEVICE static constexpr uint64_t look(Read read) {
    return read(Ring::word_offset);
  }

  /// Whether the entry may report progress beyond `known`: it names one of the `in_flight` units after it.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, rdma::Progress known, uint64_t in_flight) {
    const CqeOpcode opcode = cqe_opcode(static_cast<uint8_t>(word >> 56));
    return (opcode == CqeOpcode::request || opcode == CqeOpcode::request_error) &&
           is_in_flight(byte_swap(static_cast<uint16_t>(word >> 32)), known, in_flight);
  }

  /// CompletionDecoder::decode_success() for a word returned by look().
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, Read read) {
    return Ring::decode_success(word, read);
  }

  /// Decodes the current entry; CompletionKind::nothing if it is not new or was overwritten while being read.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(Read read, rdma::Progress known, uint64_t in_flight) {
    const uint64_t word = look(read);
    const rdma::WorkCompletion completion = Ring::template decode<false>(word, read);
    // check: the same entry
    if (!is_new(word, known, in_flight) || look(read) != word) return {};
    return completion;
  }

 private:
  XIO_HOST_DEVICE static constexpr bool is_in_flight(uint32_t counter, rdma::Progress known, uint64_t in_flight) {
    return ((counter - static_cast<uint32_t>(known.units)) & record_counter_mask) < in_flight;
  }
};

/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
