// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor-independent types of emulated RDMA NICs: operations, outcomes, work requests, completions.

#include <cstdint>
#include <string>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

constexpr uint64_t longest_message = uint64_t{1} << 31;  ///< maximum message size in bytes

/// Operation of a send work request.
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

/// Outcome of an operation.
enum class RdmaOutcome : uint8_t {
  ok,
  local_length,        ///< message longer than the receive buffer or than the device supports
  local_operation,     ///< the entry is malformed
  local_protection,    ///< a local key is invalid or does not cover the memory
  bad_response,        ///< the responder returned an invalid response
  remote_invalid,      ///< the responder rejected the request as invalid
  remote_access,       ///< a remote key is invalid or does not cover the memory
  remote_operation,    ///< the responder failed to execute the request
  retry_exceeded,      ///< the responder does not respond
  receiver_not_ready,  ///< the responder has posted no receive
  flushed,             ///< an earlier operation failed
};

/// A scatter/gather element.
struct RdmaPiece {
  uint64_t address;
  uint32_t length;
  uint32_t lkey;
};

/// Decoded entry of a send ring.
struct RdmaWork {
  RdmaOperation operation = RdmaOperation::nop;
  bool signaled = false;
  bool solicited = false;
  bool is_inline = false;
  uint64_t index = 0;  ///< ring counter of the entry's first unit
  uint32_t units = 1;
  uint64_t wr_id = 0;
  uint64_t remote = 0;
  uint32_t rkey = 0;
  uint32_t immediate = 0;  ///< immediate data in CPU byte order, or the key to invalidate
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  std::vector<RdmaPiece> pieces;
  std::vector<uint8_t> bytes;  ///< inline data
  std::string fault;           ///< why the entry is invalid; empty if it is valid

  uint64_t length() const {
    if (is_inline) return bytes.size();
    uint64_t sum = 0;
    for (const RdmaPiece& piece : pieces) sum += piece.length;
    return sum;
  }
};

/// Decoded entry of a receive ring.
struct RdmaReceive {
  uint64_t index = 0;
  uint64_t wr_id = 0;
  std::vector<RdmaPiece> pieces;
  std::string fault;
};

/// Completion of a send queue operation.
struct RdmaSendCompletion {
  RdmaOutcome outcome = RdmaOutcome::ok;
  RdmaWork work;
  uint64_t messages = 0;  ///< ended operations with a message number, including this one
};

/// Completion of a receive.
struct RdmaReceiveCompletion {
  RdmaOutcome outcome = RdmaOutcome::ok;
  RdmaReceive receive;
  RdmaOperation operation = RdmaOperation::send;
  uint32_t bytes = 0;
  uint32_t immediate = 0;
  uint32_t source_qpn = 0;
  bool solicited = false;
};

/// Returns whether an operation consumes a receive of the peer.
inline bool takes_receive(RdmaOperation operation) {
  return operation == RdmaOperation::send || operation == RdmaOperation::send_immediate ||
         operation == RdmaOperation::send_invalidate || operation == RdmaOperation::write_immediate;
}

}  // namespace emulation

XIO_NAMESPACE_END
