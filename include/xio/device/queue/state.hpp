// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The counters of a queue, which all its users share.

#include <xio/device/core/ring.hpp>
#include <xio/device/queue/group.hpp>

XIO_NAMESPACE_BEGIN

/// The mutable state of one queue: one 64-byte line in memory that all its users share, zeroed at creation. Behind it
/// lie the links of a shared queue (tail.hpp): link_bytes().
struct alignas(64) QueueState {
  uint64_t reserved;      ///< tickets claimed, bits 61:0; see protocol::broken_bit and protocol::wish_bit
  uint64_t retired;       ///< completions taken
  uint64_t tail;          ///< shared queues: entries published << 1; see protocol::ringing_bit and protocol::owed_bit
  uint64_t rung;          ///< entries announced; deferred ringing only
  uint64_t acknowledged;  ///< completions that the device was told of
  uint64_t wish;          ///< shared queues: tick until which others leave room << 16 | for how many tickets; 0: none
  uint32_t error_count;   ///< failed operations that nobody has waited for
  uint32_t draining;      ///< 1 while a wave takes completions
  uint32_t broken;        ///< not 0: unusable until the host recovers the queue
  uint32_t unused;
};
static_assert(sizeof(QueueState) == 64, "hot state of a queue is one line");

/// Bytes that the links of a queue take behind its QueueState, for a ring of so many entries.
XIO_HOST_DEVICE constexpr uint64_t link_bytes(uint32_t entries) { return uint64_t{entries} * sizeof(uint64_t); }

namespace protocol {

/// Bits of QueueState::reserved above the ticket: what a claim must look at, and seldom finds.
constexpr uint64_t broken_bit = uint64_t{1} << 63;  ///< claims are refused
constexpr uint64_t wish_bit = uint64_t{1} << 62;    ///< somebody asks for room: QueueState::wish
constexpr uint64_t ticket_bits = wish_bit - 1;

/// Tickets claimed, of a value of QueueState::reserved. In a broken queue's bit 31 is the other way round, so that the
/// lower half alone shows a claim more in flight than there can be.
XIO_HOST_DEVICE constexpr uint64_t tickets(uint64_t reserved) {
  return (reserved ^ (reserved & broken_bit) >> 32) & ticket_bits;
}

/// Sets the counters of a queue that is not new: `ticket` operations were posted, all of which have ended.
XIO_HOST_DEVICE inline void begin_at(QueueState& state, uint64_t ticket) {
  state.reserved = state.retired = state.rung = ticket;
  state.tail = ticket << 1;
}

/// Reads a state word: coherently where others write it, else as a plain variable.
template <Sharing S, class T>
XIO_DEVICE_INLINE T read(const T& word) {
  if constexpr (is_shared<S>) {
    return arch::load<state_scope<S>>(&word);
  } else {
    return word;
  }
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

/// How the word that claims change counts: tickets alone.
struct PlainTickets {
  /// What changes when the queue breaks.
  static constexpr uint64_t breaks = broken_bit | broken_bit >> 32;
  /// What a claim takes beside its tickets.
  struct Step {};
  /// Tickets claimed. `retired` was read before or after, and is not far from it.
  XIO_HOST_DEVICE static constexpr uint64_t ticket(uint64_t word, uint64_t) { return tickets(word); }
  XIO_HOST_DEVICE static constexpr uint64_t after(uint64_t word, uint32_t count, Step) { return word + count; }
};

}  // namespace protocol

XIO_NAMESPACE_END
