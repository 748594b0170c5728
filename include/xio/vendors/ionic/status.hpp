// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: types and statuses of completion queue entries, and their mapping to Status (rdma-core,
/// providers/ionic/ionic_fw_types.h and ionic_verbs.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/ionic/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup vendors_ionic
/// @{

/// Type of a completion queue entry: bits 7:5 of its last word.
enum class CqeType : uint8_t {
  receive = 1,           ///< ReceiveCqe
  send_msn = 2,          ///< SendCqe: remote operations, identified by message number
  send_npg = 3,          ///< SendCqe: a local operation, identified by ring index
  receive_indirect = 4,  ///< ReceiveCqe of a shared receive queue
};

/// Operation that was received: bits 28:24 of ReceiveCqe::source_operation.
enum class ReceiveOperation : uint8_t {
  send = 0,
  send_invalidate = 1,
  send_immediate = 2,
  rdma_write_immediate = 3,
};

/// Status of an entry whose error bit is set.
enum class CqeStatus : uint16_t {
  ok = 0,
  local_length = 1,
  local_qp_operation = 2,
  local_protection = 3,
  flushed = 4,  ///< the queue is being flushed: outstanding work requests get no entries of their own
  memory_operation = 5,
  bad_response = 6,
  local_access = 7,
  remote_invalid_request = 8,
  remote_access = 9,
  remote_operation = 10,
  transport_retry_exceeded = 11,
  rnr_retry_exceeded = 12,
  xrc_violation = 13,
};

/// Name of an entry type; never null.
XIO_DEVICE constexpr const char* name(CqeType type) {
  switch (type) {
    case CqeType::receive: return "receive";
    case CqeType::send_msn: return "send, by message number";
    case CqeType::send_npg: return "send, by index";
    case CqeType::receive_indirect: return "receive, indirect";
    default: return "unknown CQE type";
  }
}

/// Name of a status; never null.
XIO_DEVICE constexpr const char* name(CqeStatus status) {
  switch (status) {
    case CqeStatus::ok: return "ok";
    case CqeStatus::local_length: return "local length error";
    case CqeStatus::local_qp_operation: return "local queue pair operation error";
    case CqeStatus::local_protection: return "local protection error";
    case CqeStatus::flushed: return "work request flushed";
    case CqeStatus::memory_operation: return "memory management operation error";
    case CqeStatus::bad_response: return "bad response";
    case CqeStatus::local_access: return "local access error";
    case CqeStatus::remote_invalid_request: return "remote invalid request";
    case CqeStatus::remote_access: return "remote access error";
    case CqeStatus::remote_operation: return "remote operation error";
    case CqeStatus::transport_retry_exceeded: return "transport retries exceeded";
    case CqeStatus::rnr_retry_exceeded: return "receiver-not-ready retries exceeded";
    case CqeStatus::xrc_violation: return "XRC violation";
    default: return "unknown status";
  }
}

namespace detail {

XIO_DEVICE constexpr Status::Code status_code(CqeStatus status) {
  switch (status) {
    case CqeStatus::local_length: return Status::length_error;
    case CqeStatus::local_qp_operation:
    case CqeStatus::memory_operation: return Status::invalid_command;
    case CqeStatus::local_protection: return Status::bad_address;
    case CqeStatus::flushed: return Status::flushed;
    case CqeStatus::bad_response: return Status::path_error;
    case CqeStatus::local_access:
    case CqeStatus::remote_access: return Status::access_denied;
    case CqeStatus::remote_invalid_request:
    case CqeStatus::remote_operation: return Status::remote_error;
    case CqeStatus::transport_retry_exceeded: return Status::retry_exceeded;
    case CqeStatus::rnr_retry_exceeded: return Status::receiver_not_ready;
    default: return Status::device_error;
  }
}

XIO_DEVICE constexpr Status::Code look_up(uint32_t number) {
  constexpr uint32_t count = static_cast<uint32_t>(CqeStatus::xrc_violation) + 1;
  if (number >= count) return Status::device_error;
  return xio::detail::look_up_code<CqeStatus, status_code, count>(static_cast<CqeStatus>(number));
}

}  // namespace detail

/// The library's status for the last two words of an entry, in native byte order. If the error bit is set, the result
/// is never ok, whatever the status. Status::vendor keeps bits 15:0 of the status.
XIO_DEVICE constexpr Status to_status(uint32_t word, uint32_t status_length) {
  if ((word & cqe_word::error) == 0) return Status();
  return Status(detail::look_up(status_length), static_cast<uint16_t>(status_length));
}

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
