// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Decoded completion queue entry, common to all RDMA vendors.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// Kind of event that an entry reports.
enum class CompletionKind : uint8_t {
  send,     ///< operations of the send queue completed: all up to the one that `counter` or `wr_id` names
  receive,  ///< a message arrived, or a receive failed
  ended,    ///< the queue pair is in error: outstanding work requests get no entries of their own
  nothing,  ///< to be skipped
  unknown,  ///< not a kind that the device defines: device and library disagree about the queue's state
};

/// Meaning of WorkCompletion::counter in an entry of the send queue.
enum class Counter : uint8_t {
  last_unit,     ///< producer counter of the first unit of the last completed operation (MLX5)
  next_unit,     ///< ring index after the last completed operation (BNXT)
  next_message,  ///< number after the last completed message; local operations have no number (IONIC)
  entry,         ///< ring index of the one completed operation (IONIC: local operations)
  none,          ///< nothing: `wr_id` identifies the operation (ERNIC, RXE)
};

/// Identification of a queue pair in completion queue entries.
struct Identity {
  uint32_t qpn;     ///< queue pair number; ERNIC: its handle
  uint64_t cookie;  ///< BNXT: 64-bit handle given at creation; 0: unknown, not compared
};

/// Progress of a send queue: counters since the queue's creation.
struct Progress {
  uint64_t units;       ///< producer counter after the last completed operation
  uint64_t operations;  ///< completed operations, if the vendor counts them
};

/// Properties of a received message.
namespace receive_flag {
/// @addtogroup vendors_rdma
/// @{
constexpr uint8_t immediate = 1;    ///< `immediate` holds immediate data
constexpr uint8_t invalidated = 2;  ///< `immediate` holds the local key that the sender invalidated
constexpr uint8_t write = 4;        ///< an RDMA write with immediate: the sender chose the address
constexpr uint8_t solicited = 8;    ///< the sender requested an event
/// @}
}  // namespace receive_flag

/// One completion queue entry, decoded.
struct WorkCompletion {
  CompletionKind kind = CompletionKind::nothing;
  uint8_t flags = 0;                    ///< receive_flag
  Counter counts = Counter::last_unit;  ///< meaning of `counter` in an entry of the send queue
  Status status;                        ///< completion status; Status::vendor as defined in the vendor's status.hpp
  uint32_t counter = 0;                 ///< position in the work queue, vendor-specific; see its decoder
  uint64_t wr_id = 0;                   ///< for vendors that return it
  uint32_t bytes = 0;                   ///< bytes received
  uint32_t immediate = 0;               ///< see receive_flag
  uint32_t source_qpn = 0;              ///< queue pair number of the sender, if reported
  uint32_t qpn = 0;                     ///< local queue pair number, if reported; ERNIC: bits 15:0 of its handle
  uint64_t queue = 0;                   ///< BNXT: 64-bit handle given at creation of the local queue pair
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
