// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What formats share that follow the kernel's verbs: pieces of entries, completions with the verbs' statuses,
/// and rings that driver and device describe to each other by indices in memory.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/endian.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rdma/status.hpp>
#include <xio/vendors/rdma/traits.hpp>
#include <xio/vendors/rdma/verbs_layout.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
namespace verbs {
/// @addtogroup vendors_rdma
/// @{

/// Base of an encoder of send queue entries. Counters count entries of 1 << SendShape::entry_shift bytes.
/// @tparam Opcode the vendor's opcodes @tparam None its opcode for an operation that it does not have
template <class Opcode, Opcode None>
struct SendBase {
  XIO_HOST_DEVICE static constexpr Opcode opcode(Operation operation) {
    switch (operation) {
      case Operation::put: return Opcode::rdma_write;
      case Operation::put_immediate: return Opcode::rdma_write_immediate;
      case Operation::send: return Opcode::send;
      case Operation::send_immediate: return Opcode::send_immediate;
      case Operation::send_invalidate: return Opcode::send_invalidate;
      case Operation::get: return Opcode::rdma_read;
      case Operation::compare_swap: return Opcode::compare_swap;
      case Operation::fetch_add: return Opcode::fetch_add;
      case Operation::local_invalidate: return Opcode::local_invalidate;
      case Operation::nop: break;
    }
    return None;
  }

  template <class Payload>
  static constexpr bool one_unit = true;

  /// Units of the entry.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t units(const SendShape&, const Work&, const Payload&) {
    return 1;
  }

 protected:
  /// Why SGEs cannot be posted, or Status::ok. `room`: bytes of an entry that can hold them.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check_sges(const SendShape& shape, const Work& work, const Payload& payload,
                                                     uint64_t room) {
    const bool fits = payload.count() <= shape.max_sges && payload.count() * sizeof(Sge) <= room;
    if (!Payload::is_single && !fits) return Status::out_of_range;
    if (payload.bytes() > max_message_bytes) return Status::out_of_range;
    if (is_atomic(work.operation)) {
      if (payload.count() != 1 || payload.bytes() != atomic_bytes) return Status::invalid_argument;
    }
    return Status::ok;
  }

  /// Flags of the entry: send_flag.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t flags(const Work& work) {
    uint32_t flags = Payload::is_inline ? send_flag::inline_data : 0;
    if (work.has(work_flag::signaled)) flags |= send_flag::signaled;
    if (work.has(work_flag::fence)) flags |= send_flag::fence;
    if (work.has(work_flag::solicited)) flags |= send_flag::solicited;
    return flags;
  }
};

/// Base of an encoder of receive queue entries, of 1 << ReceiveShape::entry_shift bytes each.
/// @tparam SgeOffset offset of the SGEs in an entry
template <uint32_t SgeOffset>
struct ReceiveBase {
  /// Returns why the entry cannot be posted, or Status::ok.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const ReceiveShape& shape, const Payload& payload) {
    const uint64_t room = (uint64_t{1} << shape.entry_shift) - SgeOffset;
    if (payload.count() > shape.max_sges || payload.count() * sizeof(Sge) > room) return Status::out_of_range;
    return payload.bytes() <= max_message_bytes ? Status::ok : Status::out_of_range;
  }
};

/// Base of a decoder of completions. Entries carry no valid bit: an index in memory counts them.
/// WorkCompletion::wr_id identifies the operation.
///
/// `Format` has the vendor's `Cqe`, the type `CqeOpcode`, opcode() and status() of the 8 bytes at word_offset,
/// `qp_offset` and `message_offset` of the 8 bytes `qp` and `message` that qpn(qp), bytes(message) and
/// immediate(qp, message) take, and the flag `invalidated`.
template <class Format>
struct CompletionBase {
  static constexpr bool by_index = true;  ///< is_new() takes a producer index, not a word of the entry

  /// Decodes an entry that reports successful operations of a send queue; CompletionKind::nothing for any other entry.
  /// The short path for the common case.
  template <class Read>
  XIO_HOST_DEVICE static constexpr WorkCompletion decode_success(uint64_t word, [[maybe_unused]] Read read) {
    WorkCompletion completion;
    if (Format::status(word) != VerbsStatus::ok || is_receive(Format::opcode(word))) return completion;
    completion.kind = CompletionKind::send;
    completion.counts = Counter::none;
    completion.wr_id = read(XIO_OFFSETOF(typename Format::Cqe, wr_id));
    return completion;
  }

  /// Decodes an entry. `word`: its 8 bytes at word_offset. `read(offset)` returns 8 bytes of it; the offset is a
  /// multiple of 8.
  /// @tparam Receives whether the details of receives are read; a send queue's completions have none.
  template <bool Receives = true, class Read>
  XIO_HOST_DEVICE static constexpr WorkCompletion decode(uint64_t word, Read read) {
    WorkCompletion completion;
    completion.counts = Counter::none;
    completion.wr_id = read(XIO_OFFSETOF(typename Format::Cqe, wr_id));
    completion.status = to_status(Format::status(word));
    const uint64_t qp = read(Format::qp_offset);
    completion.qpn = Format::qpn(qp);
    if (!is_receive(Format::opcode(word))) {
      completion.kind = CompletionKind::send;
      return completion;
    }
    completion.kind = CompletionKind::receive;
    if constexpr (!Receives) return completion;
    const uint64_t message = read(Format::message_offset);
    const uint64_t source = read(XIO_OFFSETOF(typename Format::Cqe, source_qpn));
    const auto flags = static_cast<uint32_t>(source >> 32);
    completion.bytes = Format::bytes(message);
    completion.source_qpn = static_cast<uint32_t>(source);
    // A key is not wire data: it is an integer in native byte order.
    const uint32_t immediate = Format::immediate(qp, message);
    const bool is_key = (flags & Format::invalidated) != 0;
    completion.immediate = is_key ? immediate : byte_swap(immediate);
    uint32_t what = is_write(Format::opcode(word)) ? uint32_t{receive_flag::write} : 0;
    if ((flags & cqe_flag::immediate) != 0) what |= receive_flag::immediate;
    if (is_key) what |= receive_flag::invalidated;
    completion.flags = static_cast<uint8_t>(what);
    return completion;
  }

 private:
  template <class Opcode>
  XIO_HOST_DEVICE static constexpr bool is_write(Opcode opcode) {
    return opcode == Opcode::receive_rdma_immediate;
  }
  template <class Opcode>
  XIO_HOST_DEVICE static constexpr bool is_receive(Opcode opcode) {
    return opcode == Opcode::receive || is_write(opcode);
  }
};

/// Base of the traits of vendors whose rings have producer and consumer indices in memory.
/// @tparam Index index for a counter that never wraps, in a ring of `entries` (power of two)
template <uint32_t (*Index)(uint64_t counter, uint32_t entries)>
struct TraitsBase : VendorDefaults {
  static constexpr bool has_flush_completions = true;
  static constexpr bool has_send_record = true;
  static constexpr bool has_receive_record = true;
  static constexpr bool has_cq_record = true;
  using Doorbell = uint32_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const SendShape& shape) { return shape.entry_shift; }
  /// Producer index of the send queue.
  XIO_HOST_DEVICE static constexpr uint32_t send_record(const SendShape& shape, uint64_t end) {
    return Index(end, shape.entries);
  }
  /// Producer index of the receive queue.
  XIO_HOST_DEVICE static constexpr uint32_t receive_record(const ReceiveShape& shape, uint64_t end) {
    return Index(end, shape.entries);
  }
  /// Consumer index of the completion queue.
  XIO_HOST_DEVICE static constexpr uint32_t cq_record(uint64_t head, uint32_t entries) { return Index(head, entries); }

  /// Progress of the send queue after a completion. The wr_id of an entry is the producer counter after it.
  template <class Read>
  XIO_HOST_DEVICE static constexpr Progress progress(const SendShape&, Progress, const WorkCompletion& completion,
                                                     Read) {
    return {completion.wr_id, 0};
  }
};

/// @}
}  // namespace verbs
}  // namespace rdma

XIO_NAMESPACE_END
