// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host tells a kernel about one RDMA queue pair: a trivially copyable struct, passed by value.

#include <xio/device/queue/room.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// What else changes while a send queue is used: two lines in memory that all its users share, zeroed at creation.
/// Behind the queue's links a shared queue pair of a vendor whose doorbells repeat an entry keeps as many words more:
/// send_link_bytes().
struct alignas(64) SendState {
  // Written by the wave that takes completions.
  uint64_t cq_head;        ///< completion queue entries taken
  uint64_t failed_end;     ///< producer counter after the first operation that failed; 0: none did
  uint32_t failed_status;  ///< how it failed
  uint32_t ended;          ///< 1: the device writes no more completions
  uint64_t operations;     ///< operations that ended, as far as the vendor counts them (Progress)

  uint64_t unsignaled_end;  ///< producer counter after the last operation that asked for no completion
  uint64_t claims;          ///< shared queue pairs with a side table: SequencedTickets
  uint32_t half;            ///< byte offset of the register that is rung next, of two in turn (MLX5); the ringer's

  // Exclusive queue pairs.
  uint32_t psn;         ///< next packet sequence number (BNXT)
  uint32_t msn;         ///< next entry of the message table (BNXT)
  uint64_t last_head;   ///< first 8 bytes of the last published entry (deferred ringing)
  uint64_t memory_end;  ///< producer counter after the last operation that changed a key, plus one; 0: none did
};
static_assert(sizeof(SendState) == 128, "two lines");

/// The word that claims change where operations are numbered by packet (PSN) and message (MSN) too: all three at once,
/// so that nobody waits for the numbers of those before.
///
/// | bits  | meaning                                                          |
/// |-------|------------------------------------------------------------------|
/// | 63:62 | protocol::broken_bit, protocol::wish_bit                         |
/// | 61:38 | next PSN                                                         |
/// | 37:22 | next MSN                                                         |
/// | 21:0  | tickets claimed, lower bits                                      |
struct SequencedTickets {
  static constexpr uint64_t breaks = protocol::broken_bit;
  /// What a claim takes beside its tickets.
  struct Step {
    uint32_t packets;
    uint32_t messages;
  };

  XIO_HOST_DEVICE static constexpr uint64_t begin(uint64_t ticket, uint32_t psn, uint32_t msn) {
    return uint64_t{psn & psn_mask} << 38 | uint64_t{msn & msn_mask} << 22 | (ticket & ticket_mask);
  }
  XIO_HOST_DEVICE static constexpr uint32_t psn(uint64_t word) { return static_cast<uint32_t>(word >> 38) & psn_mask; }
  XIO_HOST_DEVICE static constexpr uint32_t msn(uint64_t word) { return static_cast<uint32_t>(word >> 22) & msn_mask; }
  /// `retired` is at most half of what the bits tell apart away from it.
  XIO_HOST_DEVICE static constexpr uint64_t ticket(uint64_t word, uint64_t retired) {
    const auto distance = static_cast<int32_t>(static_cast<uint32_t>(word - retired) << 10) >> 10;
    return retired + static_cast<uint64_t>(static_cast<int64_t>(distance));
  }
  XIO_HOST_DEVICE static constexpr uint64_t after(uint64_t word, uint32_t count, Step step) {
    return (word & ~protocol::ticket_bits) | begin(word + count, psn(word) + step.packets, msn(word) + step.messages);
  }

 private:
  static constexpr uint32_t psn_mask = 0xffffff;
  static constexpr uint32_t msn_mask = 0xffff;
  static constexpr uint32_t ticket_mask = 0x3fffff;
};

/// Sets the counters of a send queue that is not new: `ticket` units were posted, all of which have ended.
XIO_HOST_DEVICE inline void begin_at(QueueState& state, SendState& send, uint64_t ticket, uint32_t psn = 0,
                                     uint32_t msn = 0) {
  protocol::begin_at(state, ticket);
  send.psn = psn;
  send.msn = msn;
  send.claims = SequencedTickets::begin(ticket, psn, msn);
}

/// Bytes that are to follow the QueueState of a send queue whose ring has so many entries.
XIO_HOST_DEVICE constexpr uint64_t send_link_bytes(uint32_t entries) { return 2 * link_bytes(entries); }

/// One completion queue, of one send or receive queue alone.
struct CompletionQueueHandle {
  const void* entries;       ///< the ring
  const uint32_t* producer;  ///< producer index in memory, where entries have no valid bit
  uint32_t* record;          ///< consumer index in memory
  void* doorbell;            ///< register
  uint32_t size;             ///< entries: a power of two, greater than the depth of the work queue
  uint32_t number;           ///< that the device knows it by
  uint64_t cookie = 0;       ///< see Identity
};

/// What QueuePair::flush_inbound() writes where: one byte out of the memory that data arrives in.
struct FlushTarget {
  uint64_t local;   ///< address in the memory that gets and atomics fill; 0: not offered
  uint64_t remote;  ///< address of a byte that may be overwritten
  uint32_t lkey;
  uint32_t rkey;
};

/// The send queue of an RDMA queue pair. Filled by the host; constants for the kernel. All pointers are addresses that
/// the executing side (GPU or CPU) can use. Parts that a vendor does not have are null.
struct QueuePairHandle {
  // What every post needs comes first: wide scalar loads fetch it.
  QueueState* state;      ///< mutable state of the send queue, zeroed before the first use
  SendState* send;        ///< the other half of it
  void* sq;               ///< send ring
  uint32_t* sq_record;    ///< producer counter in memory
  void* sq_doorbell;      ///< mapped register, or a word that a host proxy forwards
  SendShape shape;        ///< what the send queue was made with
  uint32_t depth;         ///< most units in flight; at most SendShape::entries, less what the device wants to stay free
  void* side_table;       ///< PSN or MSN table (BNXT)
  uint32_t side_entries;  ///< entries of the side table
  uint32_t
      signal_every;  ///< at least one operation in so many units is signalled: a power of two; 0: as the caller says,
                     ///< who waits for unsignalled ones only where the peer allows writes, or the vendor has a nop

  // Completions of the send queue.
  CompletionQueueHandle cq;
  uint64_t clock_hz;  ///< ticks per second of the executing side's clock, as measured; 0: not measured
  FlushTarget flush;  ///< for flush_inbound(); zero: not offered
};

/// How a receive ended. Written by the wave that takes completions, but for `lap`.
struct alignas(32) ReceiveSlot {
  uint64_t number;      ///< of the receive, counted from 1; 0: none
  uint32_t status;      ///< packed
  uint32_t flags;       ///< receive_flag
  uint32_t bytes;       ///< received
  uint32_t immediate;   ///< immediate data, or the key that was invalidated
  uint32_t source_qpn;  ///< of the sender, where the vendor tells
  uint32_t lap;         ///< low 32 bits of the number, from 0, of the first receive of the lap that may be posted here
};
static_assert(sizeof(ReceiveSlot) == 32, "half a line");

/// What else changes while a receive queue is used; behind it are the links of the queue: link_bytes().
struct alignas(64) ReceiveState {
  QueueState queue;
  uint64_t passed_over;  ///< completions that ended no receive: the completion queue is so far ahead of the receives
  uint32_t ended;        ///< 1: the device writes no more completions; what is posted was flushed
};
static_assert(sizeof(ReceiveState) == 128, "two lines");

/// The receive queue of an RDMA queue pair. Filled by the host; constants for the kernel.
struct ReceiveQueueHandle {
  ReceiveState* state;  ///< mutable state, zeroed before the first use
  void* rq;             ///< receive ring
  uint32_t* record;     ///< producer counter in memory
  void* doorbell;       ///< mapped register, or a word that a host proxy forwards
  ReceiveSlot* slots;   ///< one for each entry of the ring, zeroed; for a queue that was used before see begin_slots()
  ReceiveShape shape;   ///< what the receive queue was made with
  uint32_t depth;       ///< most receives posted and not ended
  CompletionQueueHandle cq;
  uint64_t clock_hz;  ///< ticks per second of the executing side's clock, as measured; 0: not measured
};

}  // namespace rdma

XIO_NAMESPACE_END
