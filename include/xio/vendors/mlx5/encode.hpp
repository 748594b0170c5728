// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ConnectX: encoders for work queue entries (rdma-core, providers/mlx5/qp.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/mlx5/layout.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup vendors_mlx5
/// @{

/// Entries of a ConnectX send queue. Counters count WQEBBs of 64 bytes.
/// @tparam Signature        whether the queue pair was created with work queue signatures
/// @tparam MemoryOperations whether local invalidates are supported
template <bool Signature = false, bool MemoryOperations = true>
struct SendEncoder {
  static constexpr uint32_t unit_shift = 6;

  XIO_HOST_DEVICE static constexpr Opcode opcode(rdma::Operation operation) {
    switch (operation) {
      case rdma::Operation::put: return Opcode::rdma_write;
      case rdma::Operation::put_immediate: return Opcode::rdma_write_immediate;
      case rdma::Operation::send: return Opcode::send;
      case rdma::Operation::send_immediate: return Opcode::send_immediate;
      case rdma::Operation::send_invalidate: return Opcode::send_invalidate;
      case rdma::Operation::get: return Opcode::rdma_read;
      case rdma::Operation::compare_swap: return Opcode::compare_swap;
      case rdma::Operation::fetch_add: return Opcode::fetch_add;
      case rdma::Operation::local_invalidate: return Opcode::umr;
      case rdma::Operation::nop: break;
    }
    return Opcode::nop;
  }

  /// 16-byte segments of the entry.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t segments(const rdma::SendShape&, const rdma::Work& work,
                                                     const Payload& payload) {
    if (work.operation == rdma::Operation::local_invalidate) return umr_segments;
    uint32_t count = 1;
    if (work.operation == rdma::Operation::nop) return count;
    if (rdma::is_remote(work.operation)) ++count;
    if (rdma::is_atomic(work.operation)) ++count;
    if constexpr (Payload::is_inline) {
      const auto bytes = static_cast<uint32_t>(payload.bytes());
      if (bytes != 0)
        count += (static_cast<uint32_t>(sizeof(InlineHeader)) + bytes + segment_bytes - 1) / segment_bytes;
    } else {
      for (uint32_t i = 0; i < payload.count(); ++i) count += payload.at(i).length != 0 ? 1 : 0;
    }
    return count;
  }

  /// Whether every entry with such a payload has one unit: without data of unknown size, all but a UMR do.
  template <class Payload>
  static constexpr bool one_unit = Payload::is_single || (IsSame<Payload, rdma::NoPayload>::value && !MemoryOperations);

  /// WQEBBs of the entry.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t units(const rdma::SendShape& shape, const rdma::Work& work,
                                                  const Payload& payload) {
    return (segments(shape, work, payload) + 3) / 4;
  }

  /// Returns why the operation cannot be posted, or Status::ok; called before a ticket is claimed.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::SendShape& shape, const rdma::Work& work,
                                                const Payload& payload) {
    if (!MemoryOperations && work.operation == rdma::Operation::local_invalidate) return Status::unsupported;
    if (rdma::is_local(work.operation) && (Payload::is_inline || payload.count() != 0)) return Status::invalid_argument;
    if constexpr (Payload::is_inline) {
      if (rdma::fills_local(work.operation)) return Status::invalid_argument;
      if (payload.bytes() > shape.max_inline) return Status::out_of_range;
    } else {
      if (!Payload::is_single && payload.count() > shape.max_sges) return Status::out_of_range;
      if (payload.bytes() > rdma::max_message_bytes) return Status::out_of_range;
      for (uint32_t i = 0; i < payload.count(); ++i) {
        if (payload.at(i).length > max_sge_bytes) return Status::out_of_range;
        if (rdma::is_atomic(work.operation) && payload.at(i).length == 0) return Status::invalid_argument;
      }
      if (rdma::is_atomic(work.operation) && payload.count() != 1) return Status::invalid_argument;
    }
    return Status::ok;
  }

  /// Stores the entry's segments; returns the first 8 bytes in memory byte order, which the doorbell repeats.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint64_t encode(const rdma::SendShape& shape, const rdma::Work& work,
                                                   const Payload& payload, const rdma::Place& place, Sink& sink) {
    const uint32_t count = segments(shape, work, payload);
    uint32_t flags = 0;
    if (work.has(rdma::work_flag::signaled)) flags |= control_flag::completion;
    if (work.has(rdma::work_flag::solicited)) flags |= control_flag::solicited;
    if (work.has(rdma::work_flag::fence)) {
      flags |= control_flag::fence;
    } else if (place.after_memory_operation) {
      flags |= control_flag::small_fence;
    }
    ControlSegment control{};
    control.opmod_index_opcode = control_word0(opcode(work.operation), place.index);
    control.qpn_ds = control_word1(shape.qpn, count);
    control.immediate = rdma::has_immediate(work.operation) || rdma::has_invalidate_key(work.operation)
                            ? Be32(work.immediate)
                            : Be32(0);
    uint32_t parity = 0;
    if constexpr (Signature) {
      control.signature_flags = Be32(flags);
      Parity rehearsal;
      rest(work, payload, rehearsal);
      parity = rehearsal.of(bits(control));
      flags |= (~parity & 0xff) << 24;
    }
    control.signature_flags = Be32(flags);
    if constexpr (Payload::is_single && Sink::avoids_branches && !Signature) {
      // An SGE of length 0 has no segment: a segment stored later overwrites it.
      const rdma::Sge sge = payload.at(0);
      const uint32_t before = segments(shape, work, rdma::NoPayload{});
      sink.put_chosen(sge.length == 0 ? before - 1 : before, bits(pointer(work, sge)));
      sink.put(0, bits(control));
      middle(work, sink);
    } else {
      sink.put(0, bits(control));
      rest(work, payload, sink);
    }
    return send_doorbell(control);
  }

 private:
  static constexpr uint32_t umr_segments = 1 + sizeof(UmrControlSegment) / 16 + sizeof(MkeySegment) / 16;

  template <class Part>
  XIO_HOST_DEVICE static constexpr rdma::Segment bits(const Part& part) {
    static_assert(sizeof(Part) == sizeof(rdma::Segment), "one segment");
    return __builtin_bit_cast(rdma::Segment, part);
  }

  /// Sink that only computes the signature: the XOR of all bytes.
  struct Parity {
    uint32_t sum = 0;
    XIO_HOST_DEVICE constexpr void put(uint32_t, const rdma::Segment& value) {
      sum ^= value.word[0] ^ value.word[1] ^ value.word[2] ^ value.word[3];
    }
    XIO_HOST_DEVICE constexpr uint32_t of(const rdma::Segment& control) {
      put(0, control);
      return (sum ^ sum >> 8 ^ sum >> 16 ^ sum >> 24) & 0xff;
    }
  };

  XIO_HOST_DEVICE static constexpr DataSegment pointer(const rdma::Work& work, const rdma::Sge& sge) {
    DataSegment data{};
    data.byte_count = Be32(rdma::is_atomic(work.operation) ? rdma::atomic_bytes : sge.length);
    data.lkey = Be32(sge.lkey);
    data.address = Be64(sge.address);
    return data;
  }

  /// Stores what follows the control segment, except for data; returns the number of the next segment.
  template <class Sink>
  XIO_HOST_DEVICE static constexpr uint32_t middle(const rdma::Work& work, Sink& sink) {
    if (work.operation == rdma::Operation::local_invalidate) {
      invalidate(sink);
      return umr_segments;
    }
    uint32_t next = 1;
    if (rdma::is_remote(work.operation)) {
      RemoteAddressSegment remote{};
      remote.address = Be64(work.remote);
      remote.rkey = Be32(work.rkey);
      sink.put(next++, bits(remote));
    }
    if (rdma::is_atomic(work.operation)) {
      AtomicSegment atomic{};
      atomic.swap_add = Be64(work.swap_add);
      atomic.compare = Be64(work.operation == rdma::Operation::compare_swap ? work.compare : 0);
      sink.put(next++, bits(atomic));
    }
    return next;
  }

  /// Stores what follows the control segment.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void rest(const rdma::Work& work, const Payload& payload, Sink& sink) {
    uint32_t next = middle(work, sink);
    if (rdma::is_local(work.operation)) return;
    if constexpr (Payload::is_inline) {
      const auto bytes = static_cast<uint32_t>(payload.bytes());
      if (bytes == 0) return;
      // The header shifts the data by 4 bytes.
      constexpr auto header = static_cast<uint32_t>(sizeof(InlineHeader));
      for (uint32_t done = 0; done < header + bytes; done += segment_bytes) {
        rdma::Segment part = rdma::inline_segment(payload, static_cast<int32_t>(done) - static_cast<int32_t>(header));
        if (done == 0) part.word[0] = Be32(bytes | inline_bit).raw;
        sink.put(next++, part);
      }
    } else {
      for (uint32_t i = 0; i < payload.count(); ++i) {
        const rdma::Sge sge = payload.at(i);
        // The device does not interpret a length of 0 as "no data".
        if (sge.length == 0) continue;
        sink.put(next++, bits(pointer(work, sge)));
      }
    }
  }

  /// Stores a memory operation that frees the key named by the control segment; devices have no "local invalidate".
  template <class Sink>
  XIO_HOST_DEVICE static constexpr void invalidate(Sink& sink) {
    struct Head {
      rdma::Segment part[sizeof(UmrControlSegment) / 16];
    };
    struct Body {
      rdma::Segment part[sizeof(MkeySegment) / 16];
    };
    UmrControlSegment head{};
    head.flags = umr_check_qpn | umr_translation_offset | umr_inline;
    head.mkey_mask = Be64(umr_mask_mkey | umr_mask_qpn | umr_mask_free);
    MkeySegment body{};
    body.free = mkey_free;
    body.qpn_mkey = Be32(0xffffff00);  // any queue pair
    const auto first = __builtin_bit_cast(Head, head);
    const auto second = __builtin_bit_cast(Body, body);
    uint32_t next = 1;
    for (const rdma::Segment& part : first.part) sink.put(next++, part);
    for (const rdma::Segment& part : second.part) sink.put(next++, part);
  }
};

/// Entries of a ConnectX receive queue: data segments only.
struct ReceiveEncoder {
  /// Returns why the entry cannot be posted, or Status::ok.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::ReceiveShape& shape, const Payload& payload) {
    if (payload.count() > shape.max_sges) return Status::out_of_range;
    if (payload.count() > (1u << shape.entry_shift) / segment_bytes) return Status::out_of_range;
    for (uint32_t i = 0; i < payload.count(); ++i) {
      if (payload.at(i).length > max_sge_bytes) return Status::out_of_range;
    }
    return Status::ok;
  }

  /// Stores the entry's segments. The shape gives the number of segments per entry.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void encode(const rdma::ReceiveShape& shape, const Payload& payload,
                                               const rdma::Place&, Sink& sink) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < payload.count(); ++i) {
      const rdma::Sge sge = payload.at(i);
      if (sge.length == 0) continue;
      DataSegment data{};
      data.byte_count = Be32(sge.length);
      data.lkey = Be32(sge.lkey);
      data.address = Be64(sge.address);
      sink.put(next++, __builtin_bit_cast(rdma::Segment, data));
    }
    if (next < (1u << shape.entry_shift) / segment_bytes) {
      DataSegment end{};
      end.lkey = Be32(invalid_lkey);
      sink.put(next, __builtin_bit_cast(rdma::Segment, end));
    }
  }
};

/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
