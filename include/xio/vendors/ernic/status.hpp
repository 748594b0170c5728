// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: opcodes and statuses of completion queue entries (Linux UAPI, rdma/vmw_pvrdma-abi.h). Status values
/// are those of the verbs.

#include <xio/config.hpp>
#include <xio/vendors/rdma/status.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// Operation that completed: Cqe::opcode.
enum class CqeOpcode : uint32_t {
  send = 0,
  rdma_write = 1,
  rdma_read = 2,
  compare_swap = 3,
  fetch_add = 4,
  bind = 5,
  lso = 6,
  local_invalidate = 7,
  fast_register = 8,
  masked_compare_swap = 9,
  masked_fetch_add = 10,
  receive = 128,
  receive_rdma_immediate = 129,
};

/// Status of the completed operation: Cqe::status.
using CqeStatus = rdma::VerbsStatus;
using rdma::name;
using rdma::to_status;

/// Name of a CQE opcode; never null.
XIO_DEVICE constexpr const char* name(CqeOpcode opcode) {
  switch (opcode) {
    case CqeOpcode::send: return "send";
    case CqeOpcode::rdma_write: return "write";
    case CqeOpcode::rdma_read: return "read";
    case CqeOpcode::compare_swap: return "compare and swap";
    case CqeOpcode::fetch_add: return "fetch and add";
    case CqeOpcode::bind: return "bind";
    case CqeOpcode::lso: return "large send offload";
    case CqeOpcode::local_invalidate: return "local invalidate";
    case CqeOpcode::fast_register: return "fast register";
    case CqeOpcode::masked_compare_swap: return "masked compare and swap";
    case CqeOpcode::masked_fetch_add: return "masked fetch and add";
    case CqeOpcode::receive: return "receive";
    case CqeOpcode::receive_rdma_immediate: return "receive: write with immediate";
    default: return "unknown CQE opcode";
  }
}

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
