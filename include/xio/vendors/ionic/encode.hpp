// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: encoders for work queue entries (rdma-core, providers/ionic/ionic_verbs.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup vendors_ionic
/// @{

/// ABI version that the kernel reports; opcodes and atomics differ.
enum class Version : uint8_t { v1 = 1, v2 = 2 };

/// How entries with more than spec_first_sges SGEs repeat the lengths of the SGEs before them.
enum class SpecFormat : uint8_t {
  none,
  up_to_8,   ///< eight 32-bit lengths
  up_to_16,  ///< eight 32-bit lengths, or sixteen 16-bit lengths for more than eight SGEs
};

constexpr uint32_t segment_bytes = 16;        ///< unit of the encoders' stores
constexpr uint32_t spec32_sges = 8;           ///< largest number of SGEs with flag::spec32
constexpr uint32_t spec16_sges = 16;          ///< largest number of SGEs with flag::spec16
constexpr uint32_t spec16_max_bytes = 65535;  ///< longest SGE with flag::spec16

namespace detail {

/// Flags that select the format of an entry's SGEs.
template <SpecFormat Spec>
XIO_DEVICE constexpr uint32_t spec_flags(uint32_t sges) {
  if (Spec == SpecFormat::none || sges <= spec_first_sges) return 0;
  return sges <= spec32_sges ? flag::spec32 : flag::spec16;
}

/// Whether the format can describe the SGEs of a payload, regardless of the entry's size.
template <SpecFormat Spec, class Payload>
XIO_DEVICE constexpr bool spec_fits([[maybe_unused]] const Payload& payload) {
  if constexpr (Spec == SpecFormat::none) {
    return true;
  } else {
    const uint32_t count = payload.count();
    if (count > (Spec == SpecFormat::up_to_8 ? spec32_sges : spec16_sges)) return false;
    for (uint32_t i = 0; count > spec32_sges && i < count; ++i) {
      if (payload.at(i).length > spec16_max_bytes) return false;
    }
    return true;
  }
}

/// Four bytes of the list of lengths: one length with flag::spec32, else two.
template <class Payload>
XIO_DEVICE constexpr uint32_t spec_word(const Payload& payload, bool wide, uint32_t i) {
  const uint32_t count = payload.count();
  if (wide) return i < count ? byte_swap(payload.at(i).length) : 0;
  const uint32_t high = 2 * i < count ? payload.at(2 * i).length : 0;
  const uint32_t low = 2 * i + 1 < count ? payload.at(2 * i + 1).length : 0;
  return byte_swap(high << 16 | (low & 0xffffu));
}

/// Stores lengths and SGEs; returns the next free segment.
template <SpecFormat Spec, class Payload, class Sink>
XIO_DEVICE constexpr uint32_t put_sges(const Payload& payload, uint32_t next, Sink& sink) {
  const uint32_t count = payload.count();
  if (const uint32_t spec = spec_flags<Spec>(count); spec != 0) {
    const bool wide = spec == flag::spec32;
    for (uint32_t i = 0; i < spec_list_bytes / sizeof(uint32_t); i += 4) {
      sink.put(next++, rdma::Segment{{spec_word(payload, wide, i), spec_word(payload, wide, i + 1),
                                      spec_word(payload, wide, i + 2), spec_word(payload, wide, i + 3)}});
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const rdma::Sge piece = payload.at(i);
    sink.put(next++,
             __builtin_bit_cast(rdma::Segment, (Sge{Be64(piece.address), Be32(piece.length), Be32(piece.lkey)})));
  }
  return next;
}

/// Sink that adds an express doorbell to the last segment.
template <bool Express, class Sink>
struct LastSegment {
  Sink& sink;
  uint32_t last;
  uint64_t doorbell;

  XIO_HOST_DEVICE constexpr void put(uint32_t i, rdma::Segment value) {
    if (Express && i == last) {
      value.word[2] = static_cast<uint32_t>(doorbell);
      value.word[3] = static_cast<uint32_t>(doorbell >> 32);
    }
    sink.put(i, value);
  }
};

}  // namespace detail

/// Doorbell that announces all entries of a queue before `counter`, which never wraps. `entries`: power of two.
XIO_DEVICE constexpr uint64_t doorbell_at(uint32_t qid, uint64_t counter, uint32_t entries) {
  return doorbell(qid, static_cast<uint32_t>(counter & (entries - 1)));
}

/// Entries of a Pensando send queue. Counters count entries of 1 << SendShape::entry_shift bytes.
/// @tparam V ABI version that the kernel reports
/// @tparam Spec format that the queue pair was created with
/// @tparam Express whether the last 8 bytes of an entry ring its doorbell: the ring lies in controller memory, and
/// these bytes must be stored last
template <Version V = Version::v1, SpecFormat Spec = SpecFormat::none, bool Express = false>
struct SendEncoder {
  static constexpr uint32_t express_bytes = Express ? 8 : 0;  ///< bytes at the end of an entry that cannot hold data
  static constexpr uint32_t least_segments = 4;               ///< of any entry

  XIO_HOST_DEVICE static constexpr uint8_t opcode(rdma::Operation operation) {
    switch (operation) {
      case rdma::Operation::put: return pick(OpcodeV1::rdma_write, OpcodeV2::rdma_write);
      case rdma::Operation::put_immediate: return pick(OpcodeV1::rdma_write_immediate, OpcodeV2::rdma_write_immediate);
      case rdma::Operation::send: return pick(OpcodeV1::send, OpcodeV2::send);
      case rdma::Operation::send_immediate: return pick(OpcodeV1::send_immediate, OpcodeV2::send_immediate);
      case rdma::Operation::send_invalidate: return pick(OpcodeV1::send_invalidate, OpcodeV2::send_invalidate);
      case rdma::Operation::get: return pick(OpcodeV1::rdma_read, OpcodeV2::rdma_read);
      case rdma::Operation::compare_swap: return pick(OpcodeV1::compare_swap, OpcodeV2::compare_swap);
      case rdma::Operation::fetch_add: return pick(OpcodeV1::fetch_add, OpcodeV2::fetch_add);
      case rdma::Operation::local_invalidate: return pick(OpcodeV1::local_invalidate, OpcodeV2::local_invalidate);
      case rdma::Operation::nop: break;
    }
    return 0xff;
  }

  /// Whether the operation has a message number, by which it completes; local operations complete by ring index.
  XIO_HOST_DEVICE static constexpr bool has_message_number(rdma::Operation operation) {
    return operation != rdma::Operation::local_invalidate;
  }

  template <class Payload>
  static constexpr bool one_unit = true;

  /// Units of the entry.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t units(const rdma::SendShape&, const rdma::Work&, const Payload&) {
    return 1;
  }

  /// Returns why the operation cannot be posted, or Status::ok; called before a ticket is claimed. Only operations that
  /// consume a receive can request a solicited event. Atomics of version 1 leave no space for an express doorbell in 64
  /// bytes.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::SendShape& shape, const rdma::Work& work,
                                                const Payload& payload) {
    if (work.operation == rdma::Operation::nop) return Status::unsupported;
    if (work.has(rdma::work_flag::solicited) && !reaches_receiver(work.operation)) return Status::invalid_argument;
    // The express doorbell would overlap the SGE's length and key.
    if (Express && V == Version::v1 && rdma::is_atomic(work.operation) && shape.entry_shift == 6) {
      return Status::unsupported;
    }
    const uint32_t room = (1u << shape.entry_shift) - payload_offset - express_bytes;
    if constexpr (Payload::is_inline) {
      if (rdma::fills_local(work.operation) || work.operation == rdma::Operation::local_invalidate) {
        return Status::invalid_argument;
      }
      if (payload.bytes() > shape.max_inline || payload.bytes() > room) return Status::out_of_range;
    } else {
      const uint32_t count = payload.count();
      if (rdma::is_atomic(work.operation)) {
        return count == 1 && payload.bytes() == rdma::atomic_bytes ? Status::ok : Status::invalid_argument;
      }
      const uint32_t list = detail::spec_flags<Spec>(count) != 0 ? spec_list_bytes : 0;
      const bool fits = count <= shape.max_sges && uint64_t{count} * sizeof(Sge) + list <= room;
      if (!Payload::is_single && !fits) return Status::out_of_range;
      if (payload.bytes() > rdma::max_message_bytes) return Status::out_of_range;
      if (!detail::spec_fits<Spec>(payload)) return Status::out_of_range;
    }
    return Status::ok;
  }

  /// Stores all segments of the entry, unused ones as zeros: the device reads the whole entry. With express doorbells
  /// the last segment, which is stored last, rings. Returns the doorbell value to use if this entry is the last one
  /// announced.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint64_t encode(const rdma::SendShape& shape, const rdma::Work& work,
                                                   const Payload& payload, const rdma::Place& place, Sink& sink) {
    const auto index = static_cast<uint32_t>(place.index & (shape.entries - 1));
    const auto next_index = static_cast<uint32_t>((place.index + 1) & (shape.entries - 1));
    const uint32_t count = (1u << shape.entry_shift) / segment_bytes;
    const uint64_t bell = Express ? express_doorbell(shape.queue_type, shape.qpn, next_index) : 0;
    detail::LastSegment<Express, Sink> entry{sink, count - 1, bell};
    const bool lap_is_odd = (place.index & shape.entries) != 0;
    BaseHeader base{};
    base.wqe_index = index;
    base.opcode = opcode(work.operation);
    base.sges_or_key = static_cast<uint8_t>(sges(work, payload));
    base.flags = Be16(static_cast<uint16_t>(flags(work, payload)));
    if (rdma::has_immediate(work.operation) || rdma::has_invalidate_key(work.operation)) {
      base.immediate_key = Be32(work.immediate);
    }
    auto head = __builtin_bit_cast(rdma::Segment, base);
    // The color is added separately: the rest of its word is known at compile time.
    head.word[2] |= lap_is_odd ? 0 : color_bit;
    entry.put(0, head);
    uint32_t next = 1;
    if (rdma::is_atomic(work.operation)) {
      if constexpr (!Payload::is_inline) next = atomic(work, payload, entry);
    } else if (work.operation != rdma::Operation::local_invalidate) {
      next = message(work, payload, entry);
    }
    // An entry has at least 64 bytes, so this part needs no size check.
    for (; next < least_segments; ++next) entry.put(next, rdma::Segment{});
    for (; next < count; ++next) entry.put(next, rdma::Segment{});
    return doorbell(shape.qpn, next_index);
  }

 private:
  /// flag::color at the position of BaseHeader::flags in the third word of the entry.
  static constexpr uint32_t color_bit = static_cast<uint32_t>(Be16(flag::color).raw) << 16;

  XIO_HOST_DEVICE static constexpr uint8_t pick(OpcodeV1 v1, OpcodeV2 v2) {
    return V == Version::v1 ? static_cast<uint8_t>(v1) : static_cast<uint8_t>(v2);
  }
  XIO_HOST_DEVICE static constexpr bool reaches_receiver(rdma::Operation operation) {
    return operation == rdma::Operation::send || operation == rdma::Operation::send_immediate ||
           operation == rdma::Operation::send_invalidate || operation == rdma::Operation::put_immediate;
  }

  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t sges(const rdma::Work& work, const Payload& payload) {
    return work.operation == rdma::Operation::local_invalidate ? 0 : payload.count();
  }

  template <class Payload>
  XIO_HOST_DEVICE static constexpr uint32_t flags(const rdma::Work& work, const Payload& payload) {
    uint32_t flags = Payload::is_inline ? uint32_t{flag::inline_data} : detail::spec_flags<Spec>(sges(work, payload));
    if (work.has(rdma::work_flag::signaled)) flags |= flag::signaled;
    if (work.has(rdma::work_flag::fence)) flags |= flag::fence;
    if (work.has(rdma::work_flag::solicited)) flags |= flag::solicited;
    return flags;
  }

  /// Stores what follows the base header of reads, writes and sends.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint32_t message(const rdma::Work& work, const Payload& payload, Sink& sink) {
    RdmaHeader head{};
    if (rdma::is_remote(work.operation)) {
      head.remote_address = Be64(work.remote);
      head.rkey = Be32(work.rkey);
    }
    // A send has its length at the same offset.
    head.length = Be32(static_cast<uint32_t>(payload.bytes()));
    sink.put(1, __builtin_bit_cast(rdma::Segment, head));
    uint32_t next = 2;
    if constexpr (Payload::is_inline) {
      const auto bytes = static_cast<int32_t>(payload.bytes());
      for (int32_t done = 0; done < bytes; done += 16) sink.put(next++, rdma::inline_segment(payload, done));
      return next;
    } else {
      return detail::put_sges<Spec>(payload, next, sink);
    }
  }

  /// Stores what follows the base header of atomics: bytes 16 to 63.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint32_t atomic(const rdma::Work& work, const Payload& payload, Sink& sink) {
    const rdma::Sge piece = payload.at(0);
    const uint64_t compare = work.operation == rdma::Operation::compare_swap ? work.compare : 0;
    sink.put(1, rdma::Segment{{high(work.remote), low(work.remote), low(work.rkey), high(work.swap_add)}});
    sink.put(2,
             rdma::Segment{{low(work.swap_add), high(compare), low(compare), V == Version::v1 ? 0 : low(piece.lkey)}});
    if (V == Version::v1) {
      const Sge sge{Be64(piece.address), Be32(rdma::atomic_bytes), Be32(piece.lkey)};
      sink.put(3, __builtin_bit_cast(rdma::Segment, sge));
    } else {
      sink.put(3, rdma::Segment{{high(piece.address), low(piece.address), 0, 0}});
    }
    return 4;
  }

  XIO_HOST_DEVICE static constexpr uint32_t high(uint64_t value) { return low(value >> 32); }
  XIO_HOST_DEVICE static constexpr uint32_t low(uint64_t value) { return byte_swap(static_cast<uint32_t>(value)); }
};

/// Entries of a Pensando receive queue.
/// @tparam Spec format that the queue pair was created with
template <SpecFormat Spec = SpecFormat::none>
struct ReceiveEncoder {
  /// Returns why the entry cannot be posted, or Status::ok.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::ReceiveShape& shape, const Payload& payload) {
    const uint32_t count = payload.count();
    const uint32_t list = detail::spec_flags<Spec>(count) != 0 ? spec_list_bytes : 0;
    const uint32_t room = (1u << shape.entry_shift) - payload_offset;
    if (count > shape.max_sges || uint64_t{count} * sizeof(Sge) + list > room) return Status::out_of_range;
    if (payload.bytes() > rdma::max_message_bytes) return Status::out_of_range;
    return detail::spec_fits<Spec>(payload) ? Status::ok : Status::out_of_range;
  }

  /// Stores all segments of the entry, unused ones as zeros. The completion returns the index.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void encode(const rdma::ReceiveShape& shape, const Payload& payload,
                                               const rdma::Place& place, Sink& sink) {
    BaseHeader base{};
    base.wqe_index = place.index & (shape.entries - 1);
    base.sges_or_key = static_cast<uint8_t>(payload.count());
    base.flags = Be16(static_cast<uint16_t>(detail::spec_flags<Spec>(payload.count())));
    base.immediate_key = Be32(static_cast<uint32_t>(payload.bytes()));
    sink.put(0, __builtin_bit_cast(rdma::Segment, base));
    sink.put(1, rdma::Segment{});
    const uint32_t segments = (1u << shape.entry_shift) / segment_bytes;
    for (uint32_t next = detail::put_sges<Spec>(payload, 2, sink); next < segments; ++next)
      sink.put(next, rdma::Segment{});
  }
};

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
