// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What emulated RDMA NICs of all vendors have in common: operations, statuses, messages.

#include <cstdint>
#include <string>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

constexpr uint64_t longest_message = uint64_t{1} << 31;  ///< bytes

/// Operation that a NIC found in a send ring.
enum class RdmaOperation : uint8_t {
  write,
  write_immediate,
  send,
  send_immediate,
  send_invalidate,
  read,
  compare_swap,
  fetch_add,
  local_invalidate,
  nop,
};

/// How an operation ended.
enum class RdmaOutcome : uint8_t {
  ok,
  local_length,        ///< message longer than the receive, or than the device takes
  local_operation,     ///< the entry makes no sense
  local_protection,    ///< a local key is wrong, or the memory is not within it
  bad_response,        ///< the other side answered nonsense
  remote_invalid,      ///< the other side did not understand
  remote_access,       ///< a remote key is wrong, or the memory is not within it
  remote_operation,    ///< the other side failed
  retry_exceeded,      ///< the other side does not answer
  receiver_not_ready,  ///< the other side has posted no receive
  flushed,             ///< an earlier operation failed
};

/// A piece of local memory as an entry names it.
struct RdmaPiece {
  uint64_t address;
  uint32_t length;
  uint32_t lkey;
};

/// An entry of a send ring, read.
struct RdmaWork {
  RdmaOperation operation = RdmaOperation::nop;
  bool signaled = false;
  bool solicited = false;
  bool is_inline = false;
  uint64_t index = 0;  ///< producer counter of its first unit
  uint32_t units = 1;
  uint64_t wr_id = 0;
  uint64_t remote = 0;
  uint32_t rkey = 0;
  uint32_t immediate = 0;  ///< as the CPU counts; or the key to invalidate
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  std::vector<RdmaPiece> pieces;
  std::vector<uint8_t> bytes;  ///< inline data
  std::string fault;           ///< why the entry cannot be right; empty where it can

  uint64_t length() const {
    if (is_inline) return bytes.size();
    uint64_t sum = 0;
    for (const RdmaPiece& piece : pieces) sum += piece.length;
    return sum;
  }
};

/// An entry of a receive ring, read.
struct RdmaReceive {
  uint64_t index = 0;
  uint64_t wr_id = 0;
  std::vector<RdmaPiece> pieces;
  std::string fault;
};

/// A completion that a NIC writes for its send queue.
struct RdmaSendCompletion {
  RdmaOutcome outcome = RdmaOutcome::ok;
  RdmaWork work;
  uint64_t messages = 0;  ///< operations with a message number that ended, this one included
};

/// A completion that a NIC writes for its receive queue.
struct RdmaReceiveCompletion {
  RdmaOutcome outcome = RdmaOutcome::ok;
  RdmaReceive receive;
  RdmaOperation operation = RdmaOperation::send;
  uint32_t bytes = 0;
  uint32_t immediate = 0;
  uint32_t source_qpn = 0;
  bool solicited = false;
};

/// Whether an operation changes the peer's receive queue.
inline bool takes_receive(RdmaOperation operation) {
  return operation == RdmaOperation::send || operation == RdmaOperation::send_immediate ||
         operation == RdmaOperation::send_invalidate || operation == RdmaOperation::write_immediate;
}

}  // namespace emulation

XIO_NAMESPACE_END
