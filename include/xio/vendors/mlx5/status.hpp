// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ConnectX: opcodes and syndromes of completion queue entries, and their mapping to Status (rdma-core,
/// providers/mlx5/mlx5dv.h and cq.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/rdma/status.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup vendors_mlx5
/// @{

/// Opcode of a completion queue entry: bits 7:4 of its last byte.
enum class CqeOpcode : uint8_t {
  request = 0,                   ///< send queue entry completed
  response_write_immediate = 1,  ///< received: write with immediate
  response_send = 2,             ///< received: send
  response_send_immediate = 3,   ///< received: send with immediate
  response_send_invalidate = 4,  ///< received: send with invalidate
  resize = 5,                    ///< the queue moved to its new buffer
  no_packet = 6,                 ///< tag matching
  signature_error = 12,          ///< end-to-end protection
  request_error = 13,            ///< send queue entry failed
  response_error = 14,           ///< receive queue entry failed
  invalid = 15,                  ///< not written yet
};

/// CQE opcode from an entry's last byte.
XIO_DEVICE constexpr CqeOpcode cqe_opcode(uint8_t opcode_owner) { return static_cast<CqeOpcode>(opcode_owner >> 4); }

/// Whether an entry is an ErrorCqe.
XIO_DEVICE constexpr bool is_error(CqeOpcode opcode) {
  return opcode == CqeOpcode::request_error || opcode == CqeOpcode::response_error;
}

/// Why an operation failed: ErrorCqe::syndrome.
enum class Syndrome : uint8_t {
  local_length = 0x01,
  local_qp_operation = 0x02,
  local_protection = 0x04,
  flushed = 0x05,
  memory_window_bind = 0x06,
  bad_response = 0x10,
  local_access = 0x11,
  remote_invalid_request = 0x12,
  remote_access = 0x13,
  remote_operation = 0x14,
  transport_retry_exceeded = 0x15,
  rnr_retry_exceeded = 0x16,
  remote_aborted = 0x22,
};

/// Name of a CQE opcode; never null.
XIO_DEVICE constexpr const char* name(CqeOpcode opcode) {
  switch (opcode) {
    case CqeOpcode::request: return "request";
    case CqeOpcode::response_write_immediate: return "response: write with immediate";
    case CqeOpcode::response_send: return "response: send";
    case CqeOpcode::response_send_immediate: return "response: send with immediate";
    case CqeOpcode::response_send_invalidate: return "response: send with invalidate";
    case CqeOpcode::resize: return "resize";
    case CqeOpcode::no_packet: return "no packet";
    case CqeOpcode::signature_error: return "signature error";
    case CqeOpcode::request_error: return "request error";
    case CqeOpcode::response_error: return "response error";
    case CqeOpcode::invalid: return "invalid";
    default: return "unknown CQE opcode";
  }
}

/// The verbs' status for a syndrome.
XIO_DEVICE constexpr rdma::VerbsStatus to_verbs(Syndrome syndrome) {
  switch (syndrome) {
    case Syndrome::local_length: return rdma::VerbsStatus::local_length;
    case Syndrome::local_qp_operation: return rdma::VerbsStatus::local_qp_operation;
    case Syndrome::local_protection: return rdma::VerbsStatus::local_protection;
    case Syndrome::flushed: return rdma::VerbsStatus::flushed;
    case Syndrome::memory_window_bind: return rdma::VerbsStatus::memory_window_bind;
    case Syndrome::bad_response: return rdma::VerbsStatus::bad_response;
    case Syndrome::local_access: return rdma::VerbsStatus::local_access;
    case Syndrome::remote_invalid_request: return rdma::VerbsStatus::remote_invalid_request;
    case Syndrome::remote_access: return rdma::VerbsStatus::remote_access;
    case Syndrome::remote_operation: return rdma::VerbsStatus::remote_operation;
    case Syndrome::transport_retry_exceeded: return rdma::VerbsStatus::transport_retry_exceeded;
    case Syndrome::rnr_retry_exceeded: return rdma::VerbsStatus::rnr_retry_exceeded;
    case Syndrome::remote_aborted: return rdma::VerbsStatus::remote_aborted;
    default: return rdma::VerbsStatus::unknown;
  }
}

/// Name of a syndrome; never null.
XIO_DEVICE constexpr const char* name(Syndrome syndrome) { return rdma::name(to_verbs(syndrome)); }

/// The library's status for the syndrome of an ErrorCqe. Every syndrome, including 0, is an error. Status::vendor holds
/// the syndrome in 7:0 and the vendor syndrome in 15:8.
XIO_DEVICE constexpr Status to_status(Syndrome syndrome, uint8_t vendor_syndrome = 0) {
  return Status(rdma::detail::look_up<Syndrome, to_verbs, Syndrome::remote_aborted>(static_cast<uint32_t>(syndrome)),
                static_cast<uint16_t>(static_cast<uint32_t>(syndrome) | uint32_t{vendor_syndrome} << 8));
}

/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
