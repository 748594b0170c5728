// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Soft-RoCE: opcodes and statuses of completion queue entries (Linux UAPI, rdma/ib_user_verbs.h; libibverbs,
/// infiniband/verbs.h). Status values are those of the verbs.

#include <xio/config.hpp>
#include <xio/vendors/rdma/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Operation that completed: Cqe::opcode.
enum class CqeOpcode : uint32_t {
  send = 0,
  rdma_write = 1,
  rdma_read = 2,
  compare_swap = 3,
  fetch_add = 4,
  bind = 5,
  local_invalidate = 6,
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
    case CqeOpcode::local_invalidate: return "local invalidate";
    case CqeOpcode::receive: return "receive";
    case CqeOpcode::receive_rdma_immediate: return "receive: write with immediate";
    default: return "unknown CQE opcode";
  }
}

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
