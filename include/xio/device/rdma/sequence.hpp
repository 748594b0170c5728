// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Packet and message numbers of posted operations, for vendors with a side table (BNXT). For other vendors
/// nothing is done here.

#include <xio/device/rdma/engine.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

/// Packet and message numbers of a claim's entries, relative to the claim's begin.
template <class Vendor, Sharing S, bool Needed = Vendor::has_side_table>
struct Numbers {
  template <class Payload>
  XIO_DEVICE_INLINE Numbers(Group<S>, const SendShape&, bool, const Payload&) {}
};
template <class Vendor, Sharing S>
struct Numbers<Vendor, S, true> {
  uint32_t packets;         ///< packets of the calling lane's operation
  uint32_t packets_before;  ///< packets of earlier lanes
  uint32_t messages_before;
  SequencedTickets::Step all;

  /// @param fits whether the calling lane has an operation in the claim
  template <class Payload>
  XIO_DEVICE_INLINE Numbers(Group<S> group, const SendShape& shape, bool fits, const Payload& payload)
      : packets(fits ? Vendor::Table::packets(payload.bytes(), shape.mtu_shift) : 0),
        packets_before(0),
        messages_before(0),
        all{packets, 1} {
    if constexpr (S != Sharing::thread) {
      const uint64_t row = group.members(fits);
      messages_before = Group<S>::rank_in(row);
      all.messages = arch::count_lanes(row);
      const uint32_t common = group.from_lane(packets, arch::first_lane(row));
      if (XIO_LIKELY(!group.any(fits && packets != common))) {
        packets_before = messages_before * common;
        all.packets = all.messages * common;
        return;
      }
      all.packets = 0;
      for (uint64_t left = row; left != 0; left &= left - 1) {
        const uint32_t lane = arch::first_lane(left);
        const uint32_t count = group.from_lane(packets, lane);
        if (lane < arch::lane()) packets_before += count;
        all.packets += count;
      }
    }
  }
};

template <class Engine>
using NumbersOf = Numbers<typename Engine::Vendor, Engine::sharing>;

/// What a claim takes in addition to its tickets.
template <class Engine>
XIO_DEVICE_INLINE typename Engine::Tickets::Step step_of([[maybe_unused]] const NumbersOf<Engine>& numbers) {
  if constexpr (Engine::sequenced) {
    return numbers.all;
  } else {
    return {};
  }
}

/// Numbers of the first packet and the first message of a claim.
struct Sequence {
  uint32_t psn;
  uint32_t msn;
};

template <class Engine>
XIO_DEVICE_INLINE Sequence sequence_of([[maybe_unused]] const Engine& engine,
                                       [[maybe_unused]] const protocol::Claim& claim) {
  if constexpr (Engine::sequenced) {
    return {SequencedTickets::psn(claim.word), SequencedTickets::msn(claim.word)};
  } else if constexpr (Engine::Vendor::has_side_table) {
    return {engine.send().psn, engine.send().msn};
  } else {
    return {0, 0};
  }
}

/// The numbers that follow those of a row of entries.
template <class Engine>
XIO_DEVICE_INLINE Sequence after(Sequence sequence, [[maybe_unused]] const NumbersOf<Engine>& numbers) {
  if constexpr (Engine::Vendor::has_side_table) {
    sequence.psn = Engine::Vendor::Table::next_psn(sequence.psn, numbers.all.packets);
    sequence.msn += numbers.all.messages;
  }
  return sequence;
}

/// Stores the calling lane's entry of the side table.
/// @param first producer counter of its entry in the ring
template <class Engine>
XIO_DEVICE_INLINE void store_number([[maybe_unused]] const Engine& engine,
                                    [[maybe_unused]] const NumbersOf<Engine>& numbers,
                                    [[maybe_unused]] const Sequence& sequence, [[maybe_unused]] uint64_t first,
                                    [[maybe_unused]] const Work& work) {
  using Vendor = typename Engine::Vendor;
  if constexpr (Vendor::has_side_table) {
    using Table = typename Vendor::Table;
    const QueuePairHandle& q = engine.handle();
    const uint32_t start =
        Engine::sharing == Sharing::thread ? sequence.psn : Table::next_psn(sequence.psn, numbers.packets_before);
    const uint32_t next = Table::next_psn(start, numbers.packets);
    const uint32_t place = Vendor::doorbell_index(q.shape, first);
    const uint32_t entry = Table::index(place, sequence.msn + numbers.messages_before, q.side_entries);
    auto* const words = static_cast<uint64_t*>(q.side_table) + entry * Table::entry_words;
    for (uint32_t i = 0; i < Table::entry_words; ++i) {
      arch::store_entry8(words + i, Table::word(i, work.operation, start, next, place));
    }
  }
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
