// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NetXtreme-E: types and statuses of completion queue entries, and their mapping to Status (rdma-core,
/// providers/bnxt_re/bnxt_re-abi.h and verbs.c). Requester and responder number their statuses differently.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/rdma/status.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

/// Type of a completion queue entry: bits 4:1 of its CQE word.
enum class CqeType : uint8_t {
  requester = 0,             ///< RequesterCqe
  responder_rc = 1,          ///< ResponderCqe
  responder_ud = 2,          ///< DatagramCqe
  responder_raw = 3,         ///< DatagramCqe of queue pair 1
  responder_ud_cfa = 4,      ///< DatagramCqe with flow metadata
  requester_v3 = 8,          ///< later devices
  responder_rc_v3 = 9,       ///< later devices
  responder_ud_v3 = 10,      ///< later devices
  responder_raw_v3 = 11,     ///< later devices
  responder_ud_cfa_v3 = 12,  ///< later devices
  no_op = 13,                ///< nothing
  terminal = 14,             ///< TerminalCqe
  cut_off = 15,              ///< the queue continues in its new buffer
};

/// Status of a send queue entry.
enum class RequesterStatus : uint8_t {
  ok = 0x00,
  bad_response = 0x01,
  local_length = 0x02,
  local_qp_operation = 0x03,
  local_protection = 0x04,
  memory_operation = 0x05,
  remote_invalid_request = 0x06,
  remote_access = 0x07,
  remote_operation = 0x08,
  rnr_retry_exceeded = 0x09,
  transport_retry_exceeded = 0x0a,
  flushed = 0x0b,
};

/// Status of a receive queue entry.
enum class ResponderStatus : uint8_t {
  ok = 0x00,
  local_access = 0x01,
  local_length = 0x02,
  local_protection = 0x03,
  local_qp_operation = 0x04,
  memory_operation = 0x05,
  remote_invalid_request = 0x06,
  flushed = 0x07,
  hardware_flush = 0x08,  ///< the queue pair is being flushed; rdma-core does not report the entry
};

/// Name of an entry type; never null.
XIO_DEVICE constexpr const char* name(CqeType type) {
  switch (type) {
    case CqeType::requester: return "requester";
    case CqeType::responder_rc: return "responder";
    case CqeType::responder_ud: return "responder, datagram";
    case CqeType::responder_raw: return "responder, raw";
    case CqeType::responder_ud_cfa: return "responder, datagram with flow metadata";
    case CqeType::requester_v3: return "requester, version 3";
    case CqeType::responder_rc_v3: return "responder, version 3";
    case CqeType::responder_ud_v3: return "responder, datagram, version 3";
    case CqeType::responder_raw_v3: return "responder, raw, version 3";
    case CqeType::responder_ud_cfa_v3: return "responder, datagram with flow metadata, version 3";
    case CqeType::no_op: return "no operation";
    case CqeType::terminal: return "terminal";
    case CqeType::cut_off: return "cut off";
    default: return "unknown CQE type";
  }
}

/// The verbs' status for a requester's.
XIO_DEVICE constexpr rdma::VerbsStatus to_verbs(RequesterStatus status) {
  switch (status) {
    case RequesterStatus::ok: return rdma::VerbsStatus::ok;
    case RequesterStatus::bad_response: return rdma::VerbsStatus::bad_response;
    case RequesterStatus::local_length: return rdma::VerbsStatus::local_length;
    case RequesterStatus::local_qp_operation: return rdma::VerbsStatus::local_qp_operation;
    case RequesterStatus::local_protection: return rdma::VerbsStatus::local_protection;
    case RequesterStatus::memory_operation: return rdma::VerbsStatus::memory_operation;
    case RequesterStatus::remote_invalid_request: return rdma::VerbsStatus::remote_invalid_request;
    case RequesterStatus::remote_access: return rdma::VerbsStatus::remote_access;
    case RequesterStatus::remote_operation: return rdma::VerbsStatus::remote_operation;
    case RequesterStatus::rnr_retry_exceeded: return rdma::VerbsStatus::rnr_retry_exceeded;
    case RequesterStatus::transport_retry_exceeded: return rdma::VerbsStatus::transport_retry_exceeded;
    case RequesterStatus::flushed: return rdma::VerbsStatus::flushed;
    default: return rdma::VerbsStatus::unknown;
  }
}

/// The verbs' status for a responder's.
XIO_DEVICE constexpr rdma::VerbsStatus to_verbs(ResponderStatus status) {
  switch (status) {
    case ResponderStatus::ok: return rdma::VerbsStatus::ok;
    case ResponderStatus::local_access: return rdma::VerbsStatus::local_access;
    case ResponderStatus::local_length: return rdma::VerbsStatus::local_length;
    case ResponderStatus::local_protection: return rdma::VerbsStatus::local_protection;
    case ResponderStatus::local_qp_operation: return rdma::VerbsStatus::local_qp_operation;
    case ResponderStatus::memory_operation: return rdma::VerbsStatus::memory_operation;
    case ResponderStatus::remote_invalid_request: return rdma::VerbsStatus::remote_invalid_request;
    case ResponderStatus::flushed: return rdma::VerbsStatus::flushed;
    case ResponderStatus::hardware_flush: return rdma::VerbsStatus::flushed;
    default: return rdma::VerbsStatus::unknown;
  }
}

/// Name of a requester's status; never null.
XIO_DEVICE constexpr const char* name(RequesterStatus status) { return rdma::name(to_verbs(status)); }

/// Name of a responder's status; never null.
XIO_DEVICE constexpr const char* name(ResponderStatus status) {
  return status == ResponderStatus::hardware_flush ? "hardware flush" : rdma::name(to_verbs(status));
}

namespace detail {

XIO_DEVICE constexpr Status::Code look_up(RequesterStatus status) {
  return rdma::detail::look_up<RequesterStatus, to_verbs, RequesterStatus::flushed>(static_cast<uint32_t>(status));
}

XIO_DEVICE constexpr Status::Code look_up(ResponderStatus status) {
  return rdma::detail::look_up<ResponderStatus, to_verbs, ResponderStatus::hardware_flush>(
      static_cast<uint32_t>(status));
}

}  // namespace detail

/// The library's status for a requester status; Status::vendor holds the original value.
XIO_DEVICE constexpr Status to_status(RequesterStatus status) {
  return Status(detail::look_up(status), static_cast<uint16_t>(status));
}

/// The library's status for a responder status; Status::vendor holds the original value.
XIO_DEVICE constexpr Status to_status(ResponderStatus status) {
  return Status(detail::look_up(status), static_cast<uint16_t>(status));
}

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
