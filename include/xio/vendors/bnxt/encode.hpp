// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NetXtreme-E: encoders for work queue entries, side table entries and doorbells (rdma-core,
/// providers/bnxt_re/verbs.c and db.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/bnxt/layout.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

constexpr uint32_t max_message_bytes = 0x7fffffff;  ///< longest message: rdma-core refuses one byte more

/// Position of a counter in a ring.
struct RingPosition {
  uint32_t index;  ///< 0 to entries - 1
  uint32_t epoch;  ///< doorbell epoch bit; flips each time the index wraps
};

/// Position of `counter`, which never wraps, in a ring of `entries` units. Rings need not be powers of two, but a
/// division is expensive on a GPU.
/// @tparam PowerOfTwo `entries` is known to be a power of two; skips the check
template <bool PowerOfTwo = false>
XIO_DEVICE_INLINE constexpr RingPosition ring_position(uint64_t counter, uint32_t entries) {
  if (PowerOfTwo || (entries & (entries - 1)) == 0) {
    return {static_cast<uint32_t>(counter & (entries - 1)), (counter & entries) != 0 ? 1u : 0u};
  }
  const uint64_t lap = counter / entries;
  return {static_cast<uint32_t>(counter - lap * entries), static_cast<uint32_t>(lap & 1)};
}

/// Doorbell for all units of a queue before `counter`: a send or receive queue's producer counter, or the number of
/// completion queue entries read. `PowerOfTwo`: see ring_position().
template <bool PowerOfTwo = false>
XIO_DEVICE_INLINE constexpr uint64_t doorbell_at(DoorbellType type, uint32_t qid, uint64_t counter, uint32_t entries,
                                                 uint32_t toggle = 0) {
  const RingPosition at = ring_position<PowerOfTwo>(counter, entries);
  return doorbell(type, qid, at.index, at.epoch, toggle);
}

/// Doorbell around the copy of an entry to a push buffer: DoorbellType::push_start with the index of the entry, then
/// DoorbellType::push_end with the index after it. `push_id` (12 bits) replaces epoch and toggle.
XIO_DEVICE constexpr uint64_t push_doorbell(DoorbellType type, uint32_t qid, uint32_t index, uint32_t push_id) {
  return doorbell(type, qid, index, 0) | uint64_t{push_id & 0xffu} << 24 | uint64_t{push_id >> 8 & 0xfu} << 52;
}

/// Entries of a NetXtreme-E send queue.
/// @tparam Mode layout of entries in the ring. Counters count entries of eight slots (fixed) or slots of 16 bytes
/// (variable).
template <WqeMode Mode = WqeMode::fixed>
struct SendEncoder {
  static constexpr uint32_t unit_shift = Mode == WqeMode::fixed ? 7 : 4;

  XIO_HOST_DEVICE static constexpr WqeType type(rdma::Operation operation) {
    switch (operation) {
      case rdma::Operation::put: return WqeType::rdma_write;
      case rdma::Operation::put_immediate: return WqeType::rdma_write_immediate;
      case rdma::Operation::send: return WqeType::send;
      case rdma::Operation::send_immediate: return WqeType::send_immediate;
      case rdma::Operation::send_invalidate: return WqeType::send_invalidate;
      case rdma::Operation::get: return WqeType::rdma_read;
      case rdma::Operation::compare_swap: return WqeType::compare_swap;
      case rdma::Operation::fetch_add: return WqeType::fetch_add;
      case rdma::Operation::local_invalidate: return WqeType::local_invalidate;
      case rdma::Operation::nop: break;
    }
    return WqeType::send;
  }

  /// Slots that the entry uses, including both headers.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t slots(const Payload& payload) {
    if constexpr (Payload::is_inline) {
      return header_slots + (static_cast<uint32_t>(payload.bytes()) + slot_bytes - 1) / slot_bytes;
    } else {
      return header_slots + payload.count();
    }
  }

  template <class Payload>
  static constexpr bool one_unit = Mode == WqeMode::fixed;

  /// Units of the entry: 1 (fixed), or slots (variable).
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t units(const rdma::SendShape&, const rdma::Work&, const Payload& payload) {
    return Mode == WqeMode::fixed ? 1 : slots(payload);
  }

  /// Returns why the operation cannot be posted, or Status::ok; called before a ticket is claimed. Local invalidates
  /// are not supported: rdma-core rejects them, so the behaviour of devices is unknown.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::SendShape& shape, const rdma::Work& work,
                                                const Payload& payload) {
    if (rdma::is_local(work.operation)) return Status::unsupported;
    if constexpr (Payload::is_inline) {
      if (rdma::fills_local(work.operation)) return Status::invalid_argument;
      if (payload.bytes() > shape.max_inline) return Status::out_of_range;
      if (Mode == WqeMode::fixed && payload.bytes() > max_inline_bytes) return Status::out_of_range;
    } else {
      if (!Payload::is_single && payload.count() > shape.max_sges) return Status::out_of_range;
      if (Mode == WqeMode::fixed && payload.count() > static_max_sges) return Status::out_of_range;
      if (payload.bytes() > max_message_bytes) return Status::out_of_range;
      if (rdma::is_atomic(work.operation)) {
        if (payload.count() != 1 || payload.bytes() != rdma::atomic_bytes) return Status::invalid_argument;
      }
    }
    return Status::ok;
  }

  /// Stores the entry's slots; a send's second header is unused and left unchanged. Returns the doorbell value to use
  /// if this entry is the last one announced.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint64_t encode(const rdma::SendShape& shape, const rdma::Work& work,
                                                   const Payload& payload, const rdma::Place& place, Sink& sink) {
    const bool atomic = rdma::is_atomic(work.operation);
    SqHeader header{};
    header.type_flags_slots = header_word(type(work.operation), flags<Payload>(work), slots(payload));
    if (atomic) {
      header.immediate_key = work.rkey;
      header.lower = work.remote;
    } else {
      if (rdma::has_immediate(work.operation) || rdma::has_invalidate_key(work.operation)) {
        header.immediate_key = work.immediate;
      }
      header.lower = payload.bytes();
    }
    sink.put(0, __builtin_bit_cast(rdma::Segment, header));
    if (atomic) {
      const AtomicHeader second{work.swap_add,
                                work.operation == rdma::Operation::compare_swap ? work.compare : uint64_t{0}};
      sink.put(1, __builtin_bit_cast(rdma::Segment, second));
    } else if (rdma::is_remote(work.operation)) {
      const RdmaHeader second{work.remote, work.rkey, 0};
      sink.put(1, __builtin_bit_cast(rdma::Segment, second));
    }
    uint32_t next = header_slots;
    if constexpr (Payload::is_inline) {
      const auto bytes = static_cast<int32_t>(payload.bytes());
      for (int32_t done = 0; done < bytes; done += static_cast<int32_t>(slot_bytes)) {
        sink.put(next++, rdma::inline_segment(payload, done));
      }
    } else {
      for (uint32_t i = 0; i < payload.count(); ++i) {
        const rdma::Sge piece = payload.at(i);
        sink.put(next++, __builtin_bit_cast(rdma::Segment, (Sge{piece.address, piece.lkey, piece.length})));
      }
    }
    return doorbell_at(DoorbellType::sq, shape.qpn, place.index + (Mode == WqeMode::fixed ? 1 : next), shape.entries);
  }

 private:
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t flags(const rdma::Work& work) {
    uint32_t flags = Payload::is_inline ? wqe_flag::inline_data : 0;
    if (work.has(rdma::work_flag::signaled)) flags |= wqe_flag::signaled;
    if (work.has(rdma::work_flag::fence)) flags |= wqe_flag::unordered_fence;
    if (work.has(rdma::work_flag::solicited)) flags |= wqe_flag::solicited;
    return flags;
  }
};

/// Format of a send queue's side table; determined by the chip and the kernel.
enum class SideTableKind : uint8_t {
  psn8,   ///< PsnEntry, indexed by the entry's doorbell index
  psn16,  ///< ExtendedPsnEntry, indexed likewise
  msn,    ///< msn_entry(), indexed by message sequence number (MSN)
};

/// Side table of a send queue, one entry per operation. The device reads it to retransmit packets, so it must be stored
/// before the doorbell.
template <SideTableKind Kind>
struct SideTable {
  static constexpr uint32_t entry_words = Kind == SideTableKind::psn16 ? 2 : 1;  ///< 8-byte words

  /// Packets of a message of `bytes`, by which it advances the PSN. At least one; a get counts its response packets.
  XIO_HOST_DEVICE static constexpr uint32_t packets(uint64_t bytes, uint32_t mtu_shift) {
    // No message is longer than max_message_bytes.
    const auto length = static_cast<uint32_t>(bytes);
    return ((length != 0 ? length - 1 : 0) >> mtu_shift) + 1;
  }
  /// PSN after a message; 24 bits.
  XIO_HOST_DEVICE static constexpr uint32_t next_psn(uint32_t start_psn, uint32_t packets) {
    return (start_psn + packets) & psn_mask;
  }

  /// Index in the table. `start_index`: doorbell index of the operation's first unit; `message`: number of operations
  /// posted before it; `entries`: size of the table, a power of two for SideTableKind::msn.
  XIO_HOST_DEVICE static constexpr uint32_t index(uint32_t start_index, uint64_t message, uint32_t entries) {
    return Kind == SideTableKind::msn ? static_cast<uint32_t>(message & (entries - 1)) : start_index;
  }

  /// Word `i` of the entry, below entry_words. PSNs before and after the message have 24 bits.
  XIO_HOST_DEVICE static constexpr uint64_t word(uint32_t i, rdma::Operation operation, uint32_t start_psn,
                                                 uint32_t next_psn, uint32_t start_index) {
    if (Kind == SideTableKind::msn) return msn_entry(start_psn, next_psn, start_index);
    if (i != 0) return start_index & 0xffffu;
    return uint64_t{verbs_opcode(operation)} << 24 | (start_psn & psn_mask) | uint64_t{next_psn & psn_mask} << 32;
  }

  /// Verbs opcode of an operation, as stored in the table.
  XIO_HOST_DEVICE static constexpr uint32_t verbs_opcode(rdma::Operation operation) {
    switch (operation) {
      case rdma::Operation::put: return 0;
      case rdma::Operation::put_immediate: return 1;
      case rdma::Operation::send: return 2;
      case rdma::Operation::send_immediate: return 3;
      case rdma::Operation::get: return 4;
      case rdma::Operation::compare_swap: return 5;
      case rdma::Operation::fetch_add: return 6;
      case rdma::Operation::local_invalidate: return 7;
      case rdma::Operation::nop: break;
      case rdma::Operation::send_invalidate: return 9;
    }
    return 0;
  }
};

/// Entries of a NetXtreme-E receive queue. Counters count entries; the doorbell type is DoorbellType::rq.
struct ReceiveEncoder {
  /// Returns why the entry cannot be posted, or Status::ok.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::ReceiveShape& shape, const Payload& payload) {
    return payload.count() <= shape.max_sges ? Status::ok : Status::out_of_range;
  }

  /// Stores the entry's slots; the second header is unused and left unchanged. The completion returns the entry's
  /// index.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void encode(const rdma::ReceiveShape& shape, const Payload& payload,
                                               const rdma::Place& place, Sink& sink) {
    const uint32_t count = payload.count();
    RqHeader header{};
    header.type_flags_slots = header_word(WqeType::receive, 0, header_slots + (count != 0 ? count : 1));
    header.wr_id = ring_position(place.index, shape.entries).index & cqe_word::wr_id_mask;
    sink.put(0, __builtin_bit_cast(rdma::Segment, header));
    for (uint32_t i = 0; i < count; ++i) {
      const rdma::Sge piece = payload.at(i);
      sink.put(header_slots + i, __builtin_bit_cast(rdma::Segment, (Sge{piece.address, piece.lkey, piece.length})));
    }
    // An entry has at least one SGE.
    if (count == 0) sink.put(header_slots, rdma::Segment{});
  }
};

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
