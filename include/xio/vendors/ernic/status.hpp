// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: opcodes and statuses of completion queue entries, and their mapping to Status (Linux UAPI,
/// rdma/vmw_pvrdma-abi.h). Status values are those of the verbs.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>

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
enum class CqeStatus : uint32_t {
  ok = 0,
  local_length = 1,
  local_qp_operation = 2,
  local_eec_operation = 3,
  local_protection = 4,
  flushed = 5,
  memory_window_bind = 6,
  bad_response = 7,
  local_access = 8,
  remote_invalid_request = 9,
  remote_access = 10,
  remote_operation = 11,
  transport_retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  local_rdd_violation = 14,
  remote_invalid_rd_request = 15,
  remote_aborted = 16,
  invalid_eec_number = 17,
  invalid_eec_state = 18,
  fatal = 19,
  response_timeout = 20,
  general = 21,
};

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

/// Name of a status; never null.
XIO_DEVICE constexpr const char* name(CqeStatus status) {
  switch (status) {
    case CqeStatus::ok: return "ok";
    case CqeStatus::local_length: return "local length error";
    case CqeStatus::local_qp_operation: return "local queue pair operation error";
    case CqeStatus::local_eec_operation: return "local EE context operation error";
    case CqeStatus::local_protection: return "local protection error";
    case CqeStatus::flushed: return "work request flushed";
    case CqeStatus::memory_window_bind: return "memory window bind error";
    case CqeStatus::bad_response: return "bad response";
    case CqeStatus::local_access: return "local access error";
    case CqeStatus::remote_invalid_request: return "remote invalid request";
    case CqeStatus::remote_access: return "remote access error";
    case CqeStatus::remote_operation: return "remote operation error";
    case CqeStatus::transport_retry_exceeded: return "transport retries exceeded";
    case CqeStatus::rnr_retry_exceeded: return "receiver-not-ready retries exceeded";
    case CqeStatus::local_rdd_violation: return "local RDD violation";
    case CqeStatus::remote_invalid_rd_request: return "remote invalid RD request";
    case CqeStatus::remote_aborted: return "remote aborted";
    case CqeStatus::invalid_eec_number: return "invalid EE context number";
    case CqeStatus::invalid_eec_state: return "invalid EE context state";
    case CqeStatus::fatal: return "fatal error";
    case CqeStatus::response_timeout: return "response timeout";
    case CqeStatus::general: return "general error";
    default: return "unknown status";
  }
}

namespace detail {

XIO_DEVICE constexpr Status::Code status_code(CqeStatus status) {
  switch (status) {
    case CqeStatus::ok: return Status::ok;
    case CqeStatus::local_length: return Status::length_error;
    case CqeStatus::local_qp_operation:
    case CqeStatus::memory_window_bind: return Status::invalid_command;
    case CqeStatus::local_protection: return Status::bad_address;
    case CqeStatus::flushed: return Status::flushed;
    case CqeStatus::bad_response: return Status::path_error;
    case CqeStatus::local_access:
    case CqeStatus::remote_access: return Status::access_denied;
    case CqeStatus::remote_invalid_request:
    case CqeStatus::remote_operation: return Status::remote_error;
    case CqeStatus::transport_retry_exceeded:
    case CqeStatus::response_timeout: return Status::retry_exceeded;
    case CqeStatus::rnr_retry_exceeded: return Status::receiver_not_ready;
    case CqeStatus::remote_aborted: return Status::aborted;
    case CqeStatus::fatal: return Status::internal_error;
    default: return Status::device_error;
  }
}

XIO_DEVICE constexpr Status::Code look_up(CqeStatus number) {
  constexpr uint32_t count = static_cast<uint32_t>(CqeStatus::general) + 1;
  if (static_cast<uint32_t>(number) >= count) return Status::device_error;
  return xio::detail::look_up_code<CqeStatus, status_code, count>(number);
}

}  // namespace detail

/// The library's status for Cqe::status; Status::vendor holds bits 15:0 of the original value.
XIO_DEVICE constexpr Status to_status(CqeStatus status) {
  return Status(detail::look_up(status), static_cast<uint16_t>(status));
}

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
