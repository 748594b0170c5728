// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What one completion queue entry says, the same for all RDMA vendors.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// What an entry is about.
enum class CompletionKind : uint8_t {
  send,     ///< operations of the send queue ended: all up to the one that `counter` or `wr_id` names
  receive,  ///< a message arrived, or a receive failed
  ended,    ///< the queue pair is in error: what is still posted gets no entries of its own
  nothing,  ///< to be passed over
  unknown,  ///< of no kind that the device has: device and driver no longer agree on the queue
};

/// What Completion::counter counts where an entry is about the send queue.
enum class Counter : uint8_t {
  last_unit,     ///< producer counter of the first unit of the last operation that ended (MLX5)
  next_unit,     ///< ring index after the last operation that ended (BNXT)
  next_message,  ///< number of the message after the last that ended; local operations have no number (IONIC)
  entry,         ///< ring index of the one operation that ended (IONIC: local operations)
  none,          ///< nothing: `wr_id` names the operation (ERNIC, RXE)
};

/// What entries name the queue pair by that they are about.
struct Identity {
  uint32_t qpn;     ///< its number; ERNIC: its handle
  uint64_t cookie;  ///< BNXT: the 64 bits that were given when it was made; 0: not known, and not compared
};

/// How far a send queue got. Counters since the queue's creation.
struct Progress {
  uint64_t units;       ///< producer counter after the last operation that ended
  uint64_t operations;  ///< operations that ended, as far as the vendor counts them
};

/// What came with a received message.
namespace receive_flag {
/// @addtogroup vendors_rdma
/// @{
constexpr uint8_t immediate = 1;    ///< `immediate` holds immediate data
constexpr uint8_t invalidated = 2;  ///< `immediate` holds the local key that the sender invalidated
constexpr uint8_t write = 4;        ///< an RDMA write with immediate: the data lies where the sender said
constexpr uint8_t solicited = 8;    ///< the sender asked for an event
/// @}
}  // namespace receive_flag

/// One completion queue entry, decoded.
struct WorkCompletion {
  CompletionKind kind = CompletionKind::nothing;
  uint8_t flags = 0;                    ///< receive_flag
  Counter counts = Counter::last_unit;  ///< what `counter` counts, where the entry is about the send queue
  Status status;                        ///< how it ended; Status::vendor as the vendor's status.hpp says
  uint32_t counter = 0;                 ///< which entry of the work queue, as the vendor counts; see its decoder
  uint64_t wr_id = 0;                   ///< those vendors that repeat it
  uint32_t bytes = 0;                   ///< bytes received
  uint32_t immediate = 0;               ///< see receive_flag
  uint32_t source_qpn = 0;              ///< of the sender, where the vendor tells
  uint32_t qpn = 0;                     ///< of our queue pair, where the vendor tells; ERNIC: bits 15:0 of its handle
  uint64_t queue = 0;                   ///< BNXT: the 64 bits that were given when our queue pair was made
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
