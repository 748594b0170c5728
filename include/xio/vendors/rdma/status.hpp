// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statuses of the verbs, to which each vendor maps its own, with their names and their mapping to Status
/// (libibverbs, infiniband/verbs.h: ibv_wc_status).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// Outcome of an operation; the values of the verbs.
enum class VerbsStatus : uint32_t {
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
  memory_operation = 0x100,  ///< none of the verbs' own, which report it as memory_window_bind
  unknown = 0x101,           ///< a number that the vendor does not define
};

/// Name of a status; never null.
XIO_DEVICE constexpr const char* name(VerbsStatus status) {
  switch (status) {
    case VerbsStatus::ok: return "ok";
    case VerbsStatus::local_length: return "local length error";
    case VerbsStatus::local_qp_operation: return "local queue pair operation error";
    case VerbsStatus::local_eec_operation: return "local EE context operation error";
    case VerbsStatus::local_protection: return "local protection error";
    case VerbsStatus::flushed: return "work request flushed";
    case VerbsStatus::memory_window_bind: return "memory window bind error";
    case VerbsStatus::bad_response: return "bad response";
    case VerbsStatus::local_access: return "local access error";
    case VerbsStatus::remote_invalid_request: return "remote invalid request";
    case VerbsStatus::remote_access: return "remote access error";
    case VerbsStatus::remote_operation: return "remote operation error";
    case VerbsStatus::transport_retry_exceeded: return "transport retries exceeded";
    case VerbsStatus::rnr_retry_exceeded: return "receiver-not-ready retries exceeded";
    case VerbsStatus::local_rdd_violation: return "local RDD violation";
    case VerbsStatus::remote_invalid_rd_request: return "remote invalid RD request";
    case VerbsStatus::remote_aborted: return "remote aborted";
    case VerbsStatus::invalid_eec_number: return "invalid EE context number";
    case VerbsStatus::invalid_eec_state: return "invalid EE context state";
    case VerbsStatus::fatal: return "fatal error";
    case VerbsStatus::response_timeout: return "response timeout";
    case VerbsStatus::general: return "general error";
    case VerbsStatus::memory_operation: return "memory management operation error";
    default: return "unknown status";
  }
}

namespace detail {

/// The library's code for a status of the verbs.
XIO_DEVICE constexpr Status::Code status_code(VerbsStatus status) {
  switch (status) {
    case VerbsStatus::ok: return Status::ok;
    case VerbsStatus::local_length: return Status::length_error;
    case VerbsStatus::local_qp_operation:
    case VerbsStatus::memory_operation:
    case VerbsStatus::memory_window_bind: return Status::invalid_command;
    case VerbsStatus::local_protection: return Status::bad_address;
    case VerbsStatus::flushed: return Status::flushed;
    case VerbsStatus::bad_response: return Status::path_error;
    case VerbsStatus::local_access:
    case VerbsStatus::remote_access: return Status::access_denied;
    case VerbsStatus::remote_invalid_request:
    case VerbsStatus::remote_operation: return Status::remote_error;
    case VerbsStatus::transport_retry_exceeded:
    case VerbsStatus::response_timeout: return Status::retry_exceeded;
    case VerbsStatus::rnr_retry_exceeded: return Status::receiver_not_ready;
    case VerbsStatus::remote_aborted: return Status::aborted;
    case VerbsStatus::fatal: return Status::internal_error;
    default: return Status::device_error;
  }
}

template <class Number, VerbsStatus (*ToVerbs)(Number)>
XIO_DEVICE constexpr Status::Code status_code_of(Number number) {
  return status_code(ToVerbs(number));
}

/// The library's code for a vendor's number, of which `Last` is the greatest. `ToVerbs`: the verbs' status for it.
template <class Number, VerbsStatus (*ToVerbs)(Number), Number Last>
XIO_DEVICE constexpr Status::Code look_up(uint32_t number) {
  constexpr uint32_t count = static_cast<uint32_t>(Last) + 1;
  if (number >= count) return Status::device_error;
  return xio::detail::look_up_code<Number, status_code_of<Number, ToVerbs>, count>(static_cast<Number>(number));
}

XIO_DEVICE constexpr VerbsStatus as_it_is(VerbsStatus status) { return status; }

}  // namespace detail

/// The library's status for a status of the verbs; Status::vendor holds bits 15:0 of the original value.
XIO_DEVICE constexpr Status to_status(VerbsStatus status) {
  return Status(detail::look_up<VerbsStatus, detail::as_it_is, VerbsStatus::general>(static_cast<uint32_t>(status)),
                static_cast<uint16_t>(status));
}

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
