// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rows of messages: an element of a ring is one SEND, or the memory of one receive, and the number of the
/// element is that of the entry. For protocols with a ring of their own, whose messages have one length: they claim,
/// publish and ring, and the queue pair follows.

#include <xio/device/rdma/engine.hpp>
#include <xio/device/rdma/post.hpp>
#include <xio/device/rdma/receive_engine.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// A ring of messages of one length in registered memory, one behind the other.
struct MessageRing {
  uint64_t address;  ///< of the first message, as registered
  uint32_t key;      ///< local key
  uint32_t mask;     ///< number of messages - 1; a power of two
};

namespace detail {

/// The message with number `index`, of `Bytes` bytes.
template <uint32_t Bytes>
XIO_DEVICE_INLINE OneSge message_of(const MessageRing& ring, uint64_t index) {
  return {{ring.address + uint64_t{ring::slot(index, ring.mask)} * Bytes, Bytes, ring.key}};
}

/// Sink of an encoder whose first 8 bytes are asked for only.
struct NoSink {
  static constexpr bool avoids_branches = true;
  XIO_HOST_DEVICE static constexpr void put(uint32_t, const Segment&) {}
  XIO_HOST_DEVICE static constexpr void put_chosen(uint32_t, const Segment&) {}
  XIO_HOST_DEVICE static constexpr void put8(uint32_t, uint64_t) {}
};

/// Tickets of messages, as units of the send queue.
template <uint32_t Units>
struct RowTickets : protocol::PlainTickets {
  XIO_HOST_DEVICE static constexpr uint64_t ticket(uint64_t word, uint64_t) { return protocol::tickets(word) * Units; }
};

}  // namespace detail

/// The send queue of a queue pair on which nothing else is posted: message `i` of a ring is entry `i`.
///
/// Each lane stores entries anywhere before limit(). Once all entries before `end` are stored and released, one lane
/// calls ring(end), with values that increase and not before the earlier call's store is performed. drain() may be
/// called by any group at any time. Of every QueuePairHandle::signal_every units one is signalled, so this is not 0.
///
/// @tparam S     users of the queue pair
/// @tparam Bytes length of a message: one packet
template <class VendorFormats, Sharing S, class QueuePolicy, uint32_t Bytes>
class SendRow : public SendEngine<VendorFormats, S, QueuePolicy, InMemory> {
  using Base = SendEngine<VendorFormats, S, QueuePolicy, InMemory>;

  XIO_HOST_DEVICE static constexpr Work work() {
    Work send;
    send.operation = Operation::send;
    return send;
  }

 public:
  using Vendor = VendorFormats;
  /// Units of an entry.
  static constexpr uint32_t units = Vendor::Send::units(SendShape{}, work(), OneSge{{0, Bytes, 0}});
  static constexpr bool stored_each_time = false;  // so that drains are not called: a call has no word for `claims`
  static constexpr bool sequenced = false;
  using Tickets = detail::RowTickets<units>;

  /// @param claims counts the messages that have a number, as QueueState::reserved does
  XIO_DEVICE_INLINE SendRow(const QueuePairHandle& queues, uint64_t& claims)
      : Base(queues, 0), claims_(claims), alone_(is_shared<S> ? 0 : protocol::tickets(claims) * units) {}

  XIO_DEVICE_INLINE uint64_t& claims() const {
    if constexpr (is_shared<S>) {
      return claims_;
    } else {
      return alone_;
    }
  }

  /// Number of messages before which entries may be stored: those of a lap before have been sent, as far as drain() has
  /// learnt.
  XIO_DEVICE_INLINE uint64_t limit() const {
    return (protocol::read_retired<S>(this->state()) + this->handle().depth) / units;
  }

  /// Stores the entry of message `index`.
  XIO_DEVICE_INLINE void store(const MessageRing& ring, uint64_t index) const {
    const QueuePairHandle& q = this->handle();
    const uint64_t first = index * units;
    const bool signaled = detail::is_signaled(*this, work(), first, first + units, false);
    (void)detail::store_entry(*this, work(), signaled, detail::message_of<Bytes>(ring, index), first, units);
    if constexpr (Vendor::has_side_table) {
      using Table = typename Vendor::Table;
      const SendState& send = this->send();  // of message 0, and constant
      const uint32_t start = Table::next_psn(send.psn, static_cast<uint32_t>(index));
      const uint32_t place = Vendor::doorbell_index(q.shape, first);
      const uint32_t entry = Table::index(place, send.msn + static_cast<uint32_t>(index), q.side_entries);
      auto* const words = static_cast<uint64_t*>(q.side_table) + entry * Table::entry_words;
      for (uint32_t i = 0; i < Table::entry_words; ++i) {
        arch::store_entry8(words + i, Table::word(i, Operation::send, start, Table::next_psn(start, 1), place));
      }
    }
  }

  /// Announces the messages before `end`.
  XIO_DEVICE_INLINE void ring(const MessageRing& ring, uint64_t end) const {
    uint64_t head = 0;
    if constexpr (Vendor::doorbell_repeats_entry) {
      Place place;
      place.index = (end - 1) * units;
      place.wr_id = end * units;
      detail::NoSink none;
      head = Vendor::Send::encode(this->handle().shape, work(), detail::message_of<Bytes>(ring, end - 1), place, none);
    }
    this->bell().ring(end * units, head);
  }

  /// Takes completions of the queue pair, at most one per lane of `group`, whose lanes all call. Returns how many.
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const {
    protocol::Glimpse seen = protocol::glimpse_before_call(*this, group);
    if (!protocol::nobody_drains(*this, group, seen)) return 0;
    return detail::drain_here(*this, group, seen).count;
  }

 private:
  uint64_t& claims_;
  mutable uint64_t alone_;  ///< units claimed, of a queue pair that is not shared
};

/// The receive queue of a queue pair on which nothing else is posted: receive `i` fills message `i` of a ring. One
/// group at a time calls.
/// @tparam Bytes length of a message at most
template <class Vendor, Sharing S, class QueuePolicy, uint32_t Bytes>
class ReceiveRow {
 public:
  XIO_HOST_DEVICE explicit ReceiveRow(const ReceiveQueueHandle& queue) : queue_(queue) {}

  /// Posts the receives `first` to `end` - 1 with one doorbell. All lanes of `group` call. What they have loaded from
  /// the messages that are filled again, they have loaded.
  XIO_DEVICE_INLINE void post(Group<S> group, const MessageRing& ring, uint64_t first, uint64_t end) const {
    using Policy = typename ReceiveBell<Vendor, S, QueuePolicy>::Policy;
    SendShape shape;
    shape.entries = queue_.shape.entries;
    shape.entry_shift = queue_.shape.entry_shift;
    for (uint64_t index = first + group.rank(); index < end; index += group.lanes()) {
      Place place;
      place.index = place.wr_id = index;
      const RingSink<detail::ReceiveRing, Policy> sink(queue_.rq, shape, index, 1);
      Vendor::Receive::encode(queue_.shape, detail::message_of<Bytes>(ring, index), place, sink);
    }
    group.converge();
    protocol::release_entries<Policy>();  // order: receives before doorbell
    if (group.leads()) ReceiveBell<Vendor, S, QueuePolicy>(queue_).ring(end, 0);
  }

 private:
  const ReceiveQueueHandle& queue_;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
