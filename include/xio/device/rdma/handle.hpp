// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Handles of one RDMA queue pair: trivially copyable structs that the host passes to a kernel by value.

#include <xio/device/core/placement.hpp>
#include <xio/device/queue/room.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Mutable state of a send queue beside its QueueState: two cache lines in memory shared by all its users, zeroed at
/// creation. For vendors whose doorbells repeat an entry, a shared queue pair keeps as many further words after the
/// queue's links: send_link_bytes().
struct alignas(64) SendState {
  // Written by the wave that takes completions.
  uint64_t cq_head;        ///< completion queue entries taken
  uint64_t failed_end;     ///< producer counter after the first failed operation; 0: none failed
  uint32_t failed_status;  ///< its status, packed
  uint32_t ended;          ///< 1: the device writes no more completions
  uint64_t operations;     ///< operations that ended, for vendors that count them (Progress)

  uint64_t unsignaled_end;  ///< producer counter after the last unsignalled operation
  uint64_t claims;          ///< shared queue pairs with a side table: SequencedTickets
  uint32_t half;            ///< byte offset of the next doorbell register of two (MLX5); the ringer's

  // Exclusive queue pairs.
  uint32_t psn;         ///< next packet sequence number (BNXT)
  uint32_t msn;         ///< next entry of the message table (BNXT)
  uint64_t last_head;   ///< first 8 bytes of the last published entry (deferred ringing)
  uint64_t memory_end;  ///< producer counter after the last operation that changed a key, plus one; 0: none
};
static_assert(sizeof(SendState) == 128, "must be two cache lines");

/// Claim word for operations that are also numbered by packet (PSN) and message (MSN): one atomic update claims all
/// three, so that no wave waits for the numbers of earlier claims.
///
/// | bits  | meaning                                                          |
/// |-------|------------------------------------------------------------------|
/// | 63:62 | protocol::broken_bit, protocol::reservation_bit                         |
/// | 61:38 | next PSN                                                         |
/// | 37:22 | next MSN                                                         |
/// | 21:0  | tickets claimed, lower bits                                      |
struct SequencedTickets {
  static constexpr bool wraps = true;
  static constexpr uint64_t breaks = protocol::broken_bit;
  /// What a claim takes in addition to its tickets.
  struct Step {
    uint32_t packets;
    uint32_t messages;
  };

  XIO_HOST_DEVICE static constexpr uint64_t begin(uint64_t ticket, uint32_t psn, uint32_t msn) {
    return uint64_t{psn & psn_mask} << 38 | uint64_t{msn & msn_mask} << 22 | (ticket & ticket_mask);
  }
  XIO_HOST_DEVICE static constexpr uint32_t psn(uint64_t word) { return static_cast<uint32_t>(word >> 38) & psn_mask; }
  XIO_HOST_DEVICE static constexpr uint32_t msn(uint64_t word) { return static_cast<uint32_t>(word >> 22) & msn_mask; }
  /// Tickets claimed. `retired` is less than half the range of the ticket bits away.
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

/// Initialises the counters of a send queue that is not new: `ticket` units were posted, all of which have ended.
XIO_HOST_DEVICE inline void begin_at(QueueState& state, SendState& send, uint64_t ticket, uint32_t psn = 0,
                                     uint32_t msn = 0) {
  protocol::begin_at(state, ticket);
  send.psn = psn;
  send.msn = msn;
  send.claims = SequencedTickets::begin(ticket, psn, msn);
}

/// Bytes that follow the QueueState of a send queue with `entries` ring entries.
XIO_HOST_DEVICE constexpr uint64_t send_link_bytes(uint32_t entries) { return 2 * link_bytes(entries); }

/// One completion queue, used by a single send or receive queue.
struct CompletionQueueHandle {
  const void* entries;       ///< the ring
  const uint32_t* producer;  ///< producer index in memory, for entries without a valid bit
  uint32_t* record;          ///< consumer index in memory
  void* doorbell;            ///< register
  uint32_t size;             ///< entries: a power of two, greater than the depth of the work queue
  uint32_t number;           ///< identifier of the queue on the device
  uint64_t cookie = 0;       ///< see Identity
};

/// Source and destination of the one-byte write of QueuePair::flush_inbound(), which reads the memory that data arrives
/// in.
struct FlushTarget {
  uint64_t local;   ///< address in the memory that gets and atomics write to; 0: not offered
  uint64_t remote;  ///< address of a byte that may be overwritten
  uint32_t lkey;
  uint32_t rkey;
};

/// Handle of the send queue of an RDMA queue pair. Filled by the host; constant for the kernel. All pointers are
/// addresses usable by the executing side (GPU or CPU). Parts that a vendor does not have are null.
struct QueuePairHandle {
  // Members that every post needs come first: wide scalar loads fetch them.
  QueueState* state;      ///< mutable state of the send queue, zeroed before the first use
  SendState* send;        ///< more mutable state of the send queue, zeroed likewise
  void* sq;               ///< send ring
  uint32_t* sq_record;    ///< producer counter in memory
  void* sq_doorbell;      ///< mapped register, or a word that a host proxy forwards
  SendShape shape;        ///< parameters that the send queue was created with
  uint32_t depth;         ///< maximum units in flight; at most SendShape::entries, less any that must stay free
  void* side_table;       ///< PSN or MSN table (BNXT)
  uint32_t side_entries;  ///< entries of the side table
  /// At least one operation in this many units is signalled: a power of two, at most half the depth. 0: only the
  /// operations that the caller signals; others can be waited for only if the peer allows writes or the vendor has a
  /// nop.
  uint32_t signal_every;

  // Completions of the send queue.
  CompletionQueueHandle cq;
  uint64_t clock_hz;  ///< ticks per second of the executing side's clock, as measured; 0: not measured
  FlushTarget flush;  ///< for flush_inbound(); zero: not offered
  /// Parts that the host has allocated in the memory of the GPU that runs the kernels, as bits of memory_mode; a part
  /// that the vendor does not have counts as such. 0: all lies in host memory. See InGpuMemory.
  uint32_t gpu_memory = 0;

  /// The most units that one claim can wait for. Up to signal_every - 1 units more may belong to unsignalled
  /// operations, whose end nobody learns until somebody waits for them or posts more.
  XIO_HOST_DEVICE constexpr uint32_t most_units() const {
    return signal_every != 0 && signal_every <= depth ? depth - signal_every + 1 : depth;
  }
};

/// Result of a receive. Written by the wave that takes completions, except `lap`.
struct alignas(32) ReceiveSlot {
  uint64_t number;      ///< number of the receive, counted from 1; 0: none
  uint32_t status;      ///< packed Status
  uint32_t flags;       ///< receive_flag
  uint32_t bytes;       ///< bytes received
  uint32_t immediate;   ///< immediate data, or the key that was invalidated
  uint32_t source_qpn;  ///< queue pair of the sender, if the vendor reports it
  uint32_t lap;         ///< low 32 bits of the number, from 0, of the first receive of the lap that may be posted here
};
static_assert(sizeof(ReceiveSlot) == 32, "ReceiveSlot must be half a cache line");

/// Mutable state of a receive queue, followed by the links of the queue: link_bytes().
struct alignas(64) ReceiveState {
  QueueState queue;
  uint64_t passed_over;  ///< completions that ended no receive: the lead of the completion queue over the receives
  uint32_t ended;        ///< 1: the device writes no more completions; what is posted was flushed
};
static_assert(sizeof(ReceiveState) == 128, "must be two cache lines");

/// Handle of the receive queue of an RDMA queue pair. Filled by the host; constant for the kernel.
struct ReceiveQueueHandle {
  ReceiveState* state;  ///< mutable state, zeroed before the first use
  void* rq;             ///< receive ring
  uint32_t* record;     ///< producer counter in memory
  void* doorbell;       ///< mapped register, or a word that a host proxy forwards
  ReceiveSlot* slots;   ///< one per ring entry, zeroed; for a queue that was used before see begin_slots()
  ReceiveShape shape;   ///< parameters that the receive queue was created with
  uint32_t depth;       ///< maximum number of receives posted and not ended
  /// As QueuePairHandle::gpu_memory; memory_mode::sq is the receive ring.
  uint32_t gpu_memory = 0;
  CompletionQueueHandle cq;
  uint64_t clock_hz;  ///< ticks per second of the executing side's clock, as measured; 0: not measured
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
