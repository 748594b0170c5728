// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NetXtreme-E: decoder for completion queue entries (rdma-core, providers/bnxt_re/verbs.c).

#include <xio/config.hpp>
#include <xio/vendors/bnxt/encode.hpp>
#include <xio/vendors/bnxt/layout.hpp>
#include <xio/vendors/bnxt/status.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

/// Completion queue entries of NetXtreme-E. WorkCompletion::counter of a send queue is the index after the last
/// completed entry, 16 bits, modulo the ring. It counts entries in fixed mode; rdma-core takes it as a count of
/// entries, not of slots, in variable mode too, which is not confirmed by hardware. For a receive queue it is the
/// entry's index.
struct CompletionDecoder {
  static constexpr bool by_index = false;
  static constexpr uint32_t entry_bytes = 32;
  static constexpr uint32_t word_offset = 24;   ///< offset of the 8 bytes that show whether an entry is new
  static constexpr uint8_t initial_byte = 0;    ///< set-up fills the queue's memory with it
  static constexpr uint32_t counter_bits = 16;  ///< of WorkCompletion::counter, send queues

  /// Whether the entry at consumer index `index` of a queue of `entries` is new. `word`: its 8 bytes at word_offset.
  /// `PowerOfTwo`: see ring_position().
  template <bool PowerOfTwo = false>
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
    return (word & cqe_word::phase) != ring_position<PowerOfTwo>(index, entries).epoch;
  }

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    rdma::WorkCompletion completion;
    constexpr uint32_t what = cqe_word::type_mask << cqe_word::type_shift | cqe_word::status_mask
                                                                                << cqe_word::status_shift;
    constexpr uint32_t success = static_cast<uint32_t>(CqeType::requester) << cqe_word::type_shift |
                                 static_cast<uint32_t>(RequesterStatus::ok) << cqe_word::status_shift;
    if ((static_cast<uint32_t>(word) & what) != success) return completion;
    completion.queue = read(0);
    if (completion.queue == 0) return completion;
    completion.kind = rdma::CompletionKind::send;
    completion.counts = rdma::Counter::next_unit;
    completion.counter = static_cast<uint32_t>(read(8) & 0xffff);
    return completion;
  }

  /// Whether the entry belongs to the queue pair `of`. `completion`: from decode() or decode_success(), not
  /// CompletionKind::nothing.
  template <class Read>
  XIO_HOST_DEVICE static constexpr bool is_about(rdma::Identity of, const rdma::WorkCompletion& completion, uint64_t,
                                                 Read) {
    return of.cookie == 0 || completion.queue == of.cookie;
  }

  /// Decodes an entry. `read(offset)` returns 8 bytes of it; the offset is a multiple of 8. An entry whose queue pair
  /// handle (64 bits) is 0 is stale.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr rdma::WorkCompletion decode(uint64_t word, Read read) {
    rdma::WorkCompletion completion;
    const auto status = static_cast<uint8_t>(word >> cqe_word::status_shift);
    switch (static_cast<CqeType>(word >> cqe_word::type_shift & cqe_word::type_mask)) {
      case CqeType::requester:
        completion.queue = read(0);
        if (completion.queue == 0) break;
        completion.kind = rdma::CompletionKind::send;
        completion.counts = rdma::Counter::next_unit;
        completion.counter = static_cast<uint32_t>(read(8) & 0xffff);
        completion.status = to_status(static_cast<RequesterStatus>(status));
        break;
      case CqeType::responder_rc: {
        completion.queue = read(8);
        // The device flushes internally: no receive completed.
        if (completion.queue == 0 || static_cast<ResponderStatus>(status) == ResponderStatus::hardware_flush) break;
        completion.kind = rdma::CompletionKind::receive;
        completion.status = to_status(static_cast<ResponderStatus>(status));
        if constexpr (!Receives) break;
        completion.counter = static_cast<uint32_t>(word >> 32) & cqe_word::wr_id_mask;
        const uint64_t message = read(0);
        completion.bytes = static_cast<uint32_t>(message);
        completion.immediate = static_cast<uint32_t>(message >> 32);
        completion.flags = flags(static_cast<uint32_t>(word >> cqe_word::flags_shift & 0xffff));
        break;
      }
      case CqeType::terminal:
        completion.queue = read(0);
        if (completion.queue == 0) break;
        completion.kind = rdma::CompletionKind::ended;
        completion.counts = rdma::Counter::none;
        completion.status = Status::flushed;
        break;
      default: break;
    }
    return completion;
  }

 private:
  XIO_HOST_DEVICE static constexpr uint8_t flags(uint32_t response) {
    uint32_t flags = 0;
    if ((response & response_flag::immediate) != 0) flags |= rdma::receive_flag::immediate;
    if ((response & response_flag::invalidated) != 0) flags |= rdma::receive_flag::invalidated;
    if ((response & response_flag::rdma_write) != 0) flags |= rdma::receive_flag::write;
    return static_cast<uint8_t>(flags);
  }
};

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
