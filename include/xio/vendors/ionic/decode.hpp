// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: decoders for completion queue entries (rdma-core, providers/ionic/ionic_verbs.c).

#include <xio/config.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/ionic/status.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup vendors_ionic
/// @{

/// Completion queue entries of Pensando DSC. Operations that are sent on the wire complete by message number:
/// WorkCompletion::counter is the number after the last completed message (Counter::next_message), 24 bits; a failed
/// operation is the one before it. Local operations, and operations that fail before they are sent, complete by ring
/// index (Counter::entry), 16 bits. Both kinds execute concurrently, so they complete in posting order only if software
/// enforces it. For a receive queue, the counter is the entry's ring index.
struct CompletionDecoder {
  static constexpr bool by_index = false;
  static constexpr uint32_t entry_bytes = 32;
  static constexpr uint32_t word_offset = 24;   ///< offset of the 8 bytes that show whether an entry is new
  static constexpr uint8_t initial_byte = 0;    ///< set-up fills the queue's memory with it
  static constexpr uint32_t message_bits = 24;  ///< of WorkCompletion::counter by message number

  /// Whether the entry at consumer index `index` of a queue of `entries` (power of two) is new. `word`: its 8 bytes at
  /// word_offset.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
    const bool color = (static_cast<uint32_t>(word >> 32) & byte_swap(cqe_word::color)) != 0;
    return color == ((index & entries) == 0);
  }

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::WorkCompletion completion;
    constexpr uint32_t what = cqe_word::type_mask << cqe_word::type_shift | cqe_word::error;
    constexpr uint32_t success = static_cast<uint32_t>(CqeType::send_msn) << cqe_word::type_shift;
    if ((static_cast<uint32_t>(word >> 32) & byte_swap(what)) != byte_swap(success)) return completion;
    completion.kind = rdma::CompletionKind::send;
    completion.counts = rdma::Counter::next_message;
    completion.counter = byte_swap(static_cast<uint32_t>(read(0) >> 32)) & msn_mask;
    return completion;
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion&, uint64_t word, Read) {
    // Compared in memory byte order; the highest byte holds type, error and color.
    return (static_cast<uint32_t>(word >> 32) ^ byte_swap(of.qpn << cqe_word::qid_shift)) << 8 == 0;
  }

  /// Decodes an entry. `read(offset)` returns 8 bytes of it; the offset is a multiple of 8.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(uint64_t word, Read read) {
    rdma::WorkCompletion completion;
    const uint32_t what = byte_swap(static_cast<uint32_t>(word >> 32));
    const uint32_t status_length = byte_swap(static_cast<uint32_t>(word));
    completion.qpn = what >> cqe_word::qid_shift;
    completion.status = to_status(what, status_length);
    const auto type = static_cast<CqeType>(what >> cqe_word::type_shift & cqe_word::type_mask);
    switch (type) {
      case CqeType::send_msn:
      case CqeType::send_npg: {
        const bool message = type == CqeType::send_msn;
        const uint64_t place = read(message ? 0 : 16);
        // A flush is reported once and names no operation.
        const bool over = !message && completion.status == Status::flushed;
        completion.kind = over ? rdma::CompletionKind::ended : rdma::CompletionKind::send;
        completion.counts = message ? rdma::Counter::next_message : rdma::Counter::entry;
        completion.counter = message ? byte_swap(static_cast<uint32_t>(place >> 32)) & msn_mask
                                     : static_cast<uint32_t>(place) & cqe_index_mask;
        break;
      }
      case CqeType::receive: {
        completion.kind = rdma::CompletionKind::receive;
        if constexpr (!Receives) break;
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
      case CqeType::receive_indirect: break;
      default: completion.kind = rdma::CompletionKind::unknown; completion.status = Status();
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

/// Decodes the single entry of a collapsed completion queue (ROCm/rocm-xio, rdma-core/ionic-gda:
/// IONIC_CQ_INIT_ATTR_CCQE); send queues only. The device overwrites the entry with each completion. Its message number
/// is the progress of the send queue; the color has no meaning. `read(offset)` returns 8 bytes of the entry; each read
/// is performed after the reads before it.
///
/// The device stores the 32 bytes in one access, but no load covers all of them. An entry therefore counts as a success
/// only if its flags still report success after the message number was read.
struct CollapsedDecoder {
  using Ring = CompletionDecoder;
  static constexpr uint32_t entry_bytes = Ring::entry_bytes;
  static constexpr uint8_t initial_byte = Ring::initial_byte;  ///< set-up fills the entry with it

  /// The word that is_new() and decode_success() take: flags in bits 63:32, message number in bits 31:0.
  template <class Read>
  XIO_HOST_DEVICE static constexpr uint64_t look(Read read) {
    return read(Ring::word_offset) >> 32 << 32 | read(0) >> 32;
  }

  /// Whether the entry may report progress beyond `known`: it names, or may name, one of the `in_flight` units after
  /// it.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, rdma::Progress known, uint64_t in_flight) {
    switch (type(word)) {
      case CqeType::send_msn: {
        const uint32_t next = byte_swap(static_cast<uint32_t>(word));
        return ((next - 1 - static_cast<uint32_t>(known.operations)) & msn_mask) < in_flight;
      }
      case CqeType::send_npg: return true;
      default: return false;
    }
  }

  /// CompletionDecoder::decode_success() for a word returned by look().
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, Read read) {
    return Ring::decode_success(read(Ring::word_offset), [word](uint32_t) { return word << 32; });
  }

  /// Decodes the current entry; CompletionKind::nothing if it is not new or was overwritten while being read.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(Read read, rdma::Progress known, uint64_t in_flight) {
    const uint64_t flags = read(Ring::word_offset);
    const rdma::WorkCompletion completion = Ring::template decode<false>(flags, read);
    if (read(Ring::word_offset) != flags) return {};
    const uint64_t distance = completion.counts == rdma::Counter::next_message
                                  ? (completion.counter - 1 - static_cast<uint32_t>(known.operations)) & msn_mask
                                  : 0;
    return distance < in_flight ? completion : rdma::WorkCompletion{};
  }

 private:
  XIO_HOST_DEVICE static constexpr CqeType type(uint64_t word) {
    return static_cast<CqeType>(byte_swap(static_cast<uint32_t>(word >> 32)) >> cqe_word::type_shift &
                                cqe_word::type_mask);
  }
};

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
