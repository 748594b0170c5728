// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host tells a kernel about one RDMA queue pair: a trivially copyable struct, passed by value.

#include <xio/device/submission.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// What else changes while a send queue is used: one line in memory that all its users share, zeroed at creation.
/// Written by the wave whose turn it is, or by the one that takes completions.
struct alignas(64) SendState {
  uint64_t cq_head;         ///< completion queue entries taken
  uint64_t failed_end;      ///< producer counter after the first operation that failed; 0: none did
  uint32_t failed_status;   ///< how it failed
  uint32_t ended;           ///< 1: the device writes no more completions
  uint64_t last_head;       ///< first 8 bytes of the last published entry (deferred ringing)
  uint64_t unsignaled_end;  ///< producer counter after the last operation that asked for no completion
  uint64_t memory_end;      ///< producer counter after the last operation that changed a key, plus one; 0: none did
  uint32_t psn;             ///< next packet sequence number (BNXT)
  union {
    uint32_t msn;   ///< next entry of the message table (BNXT)
    uint32_t half;  ///< byte offset of the register that is rung next, of two in turn (MLX5)
  };
  uint64_t operations;  ///< operations that ended, as far as the vendor counts them (Progress)
};
static_assert(sizeof(SendState) == 64, "one line");

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

/// The receive queue of an RDMA queue pair. Filled by the host; constants for the kernel.
struct ReceiveQueueHandle {
  QueueState* state;   ///< mutable state, zeroed before the first use
  void* rq;            ///< receive ring
  uint32_t* record;    ///< producer counter in memory
  void* doorbell;      ///< mapped register, or a word that a host proxy forwards
  ReceiveSlot* slots;  ///< one for each entry of the ring, zeroed; for a queue that was used before see begin_slots()
  ReceiveShape shape;  ///< what the receive queue was made with
  uint32_t depth;      ///< most receives posted and not ended
  CompletionQueueHandle cq;
  uint64_t clock_hz;  ///< ticks per second of the executing side's clock, as measured; 0: not measured
};

}  // namespace rdma

XIO_NAMESPACE_END
