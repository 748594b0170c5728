// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The counters of a queue, shared by all its users.

#include <xio/device/core/ring.hpp>
#include <xio/device/queue/group.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// The mutable state of one queue: a 64-byte line in memory shared by all its users, zeroed at creation. The links of a
/// shared queue follow it (tail.hpp): link_bytes().
struct alignas(64) QueueState {
  uint64_t reserved;      ///< tickets claimed, bits 61:0; see protocol::broken_bit and protocol::reservation_bit
  uint64_t retired;       ///< completions taken, bits 62:0; see protocol::draining_bit
  uint64_t tail;          ///< shared queues: entries published << 1; see protocol::ringing_bit and protocol::owed_bit
  uint64_t rung;          ///< entries announced; deferred ringing only
  uint64_t acknowledged;  ///< completions acknowledged to the device
  uint64_t reservation;   ///< shared queues: of a waiter: end of its time << 16 | number of tickets; 0: none
  uint32_t error_count;   ///< failed operations that no caller has waited for
  uint32_t way_of_use;    ///< shared queues: protocol::way_of_use, 0: not known yet; or protocol::has_abandoned
  uint32_t broken;        ///< not 0: unusable until the host recovers the queue; not 1: others use it differently
  uint32_t unused;        ///< 0
};
static_assert(sizeof(QueueState) == 64, "QueueState must be one cache line");

/// Size in bytes of a queue's links after its QueueState, for a ring of `entries` entries.
XIO_HOST_DEVICE constexpr uint64_t link_bytes(uint32_t entries) { return uint64_t{entries} * sizeof(uint64_t); }

namespace detail {
/// A word of any state.
using StateWord __attribute__((may_alias)) = uint64_t;
}  // namespace detail

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Bits of QueueState::reserved above the ticket, which a claim must check and rarely finds set.
constexpr uint64_t broken_bit = uint64_t{1} << 63;       ///< claims are refused
constexpr uint64_t reservation_bit = uint64_t{1} << 62;  ///< somebody has a QueueState::reservation
constexpr uint64_t ticket_bits = reservation_bit - 1;
/// Bit of QueueState::retired of a shared queue: a wave takes completions. Whoever sets it finds out that nobody has
/// taken any since it loaded the word.
constexpr uint64_t draining_bit = uint64_t{1} << 63;
/// Value of QueueState::way_of_use of an exclusive queue once the wait for a command of the library's own has given up.
constexpr uint32_t has_abandoned = 1;

/// Tickets claimed in a value of QueueState::reserved. In a broken queue bit 31 is inverted, so that the lower half
/// alone shows more operations in flight than are possible.
XIO_HOST_DEVICE constexpr uint64_t tickets(uint64_t reserved) {
  return (reserved ^ (reserved & broken_bit) >> 32) & ticket_bits;
}

/// Number of completions taken in a value of QueueState::retired.
XIO_HOST_DEVICE constexpr uint64_t retired(uint64_t word) { return word & ~draining_bit; }

/// Initialises the counters of a queue that is not new: `ticket` operations were posted, all of which have ended.
XIO_HOST_DEVICE inline void begin_at(QueueState& state, uint64_t ticket) {
  state.reserved = state.retired = state.rung = ticket;
  state.tail = ticket << 1;
}

/// Reads a state word: coherently if the queue is shared, else as a plain variable.
template <Sharing S, class T>
XIO_DEVICE_INLINE T read(const T& word) {
  if constexpr (is_shared<S>) {
    return arch::load<state_scope<S>>(&word);
  } else {
    return word;
  }
}

/// Number of completions taken.
template <Sharing S>
XIO_DEVICE_INLINE uint64_t read_retired(const QueueState& state) {
  return is_shared<S> ? retired(read<S>(state.retired)) : state.retired;
}

/// Writes a state word; a plain variable is written by all lanes, so that copies in registers stay the same in all.
template <Sharing S, class T>
XIO_DEVICE_INLINE void write(T& word, T value) {
  if constexpr (is_shared<S>) {
    arch::store<state_scope<S>>(&word, value);
  } else {
    word = value;
  }
}

/// write() by the leader, for all lanes of the group, which pass the same value and have read the word before.
template <Sharing S, class T>
XIO_DEVICE_INLINE void write_by_leader(Group<S> group, T& word, T value) {
  if constexpr (is_shared<S>) {
    if (group.leads()) arch::store<state_scope<S>>(&word, value);
  } else {
    group.before_writing();
    word = value;
  }
}

/// write_by_leader(), ordered after the leader's earlier writes.
template <Sharing S, class T>
XIO_DEVICE_INLINE void publish_by_leader(Group<S> group, T& word, T value) {
  if constexpr (is_shared<S>) {
    if (group.leads()) arch::publish<state_scope<S>>(&word, value);
  } else {
    write_by_leader(group, word, value);
  }
}

/// Whether the queue is broken.
template <Sharing S>
XIO_DEVICE_INLINE bool is_broken(const QueueState& state) {
  return read<S>(state.broken) != 0;
}

/// Whether the queue is of no use to the caller: it is broken, or others share a queue that the calling wave has taken
/// for its own, and take its completions. Threads with a queue each are not told: their waits would become longer.
template <Sharing S>
XIO_DEVICE_INLINE bool is_lost(const QueueState& state) {
  const uint32_t broken = read<S>(state.broken);
  return (S == Sharing::wave ? broken | state.retired >> 63 : broken) != 0;
}

/// Format of the claim word that counts tickets only.
struct PlainTickets {
  /// Whether the word holds the lower bits of a ticket only.
  static constexpr bool wraps = false;
  /// Bits that are inverted when the queue breaks.
  static constexpr uint64_t breaks = broken_bit | broken_bit >> 32;
  /// What a claim takes in addition to its tickets.
  struct Step {};
  /// Tickets claimed. `retired` was read before or after and is close.
  XIO_HOST_DEVICE static constexpr uint64_t ticket(uint64_t word, uint64_t) { return tickets(word); }
  XIO_HOST_DEVICE static constexpr uint64_t after(uint64_t word, uint32_t count, Step) { return word + count; }
};

/// @}
}  // namespace protocol

/// @}
XIO_NAMESPACE_END
