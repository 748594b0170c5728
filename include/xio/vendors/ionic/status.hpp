// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: types and statuses of completion queue entries, and their mapping to Status (rdma-core,
/// providers/ionic/ionic_fw_types.h and ionic_verbs.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/rdma/status.hpp>

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

/// The verbs' status for that of an entry whose error bit is set; CqeStatus::ok is none.
XIO_DEVICE constexpr rdma::VerbsStatus to_verbs(CqeStatus status) {
  switch (status) {
    case CqeStatus::local_length: return rdma::VerbsStatus::local_length;
    case CqeStatus::local_qp_operation: return rdma::VerbsStatus::local_qp_operation;
    case CqeStatus::local_protection: return rdma::VerbsStatus::local_protection;
    case CqeStatus::flushed: return rdma::VerbsStatus::flushed;
    case CqeStatus::memory_operation: return rdma::VerbsStatus::memory_operation;
    case CqeStatus::bad_response: return rdma::VerbsStatus::bad_response;
    case CqeStatus::local_access: return rdma::VerbsStatus::local_access;
    case CqeStatus::remote_invalid_request: return rdma::VerbsStatus::remote_invalid_request;
    case CqeStatus::remote_access: return rdma::VerbsStatus::remote_access;
    case CqeStatus::remote_operation: return rdma::VerbsStatus::remote_operation;
    case CqeStatus::transport_retry_exceeded: return rdma::VerbsStatus::transport_retry_exceeded;
    case CqeStatus::rnr_retry_exceeded: return rdma::VerbsStatus::rnr_retry_exceeded;
    case CqeStatus::xrc_violation: return rdma::VerbsStatus::general;
    default: return rdma::VerbsStatus::unknown;
  }
}

/// Name of a status; never null.
XIO_DEVICE constexpr const char* name(CqeStatus status) {
  if (status == CqeStatus::ok) return "ok";
  return status == CqeStatus::xrc_violation ? "XRC violation" : rdma::name(to_verbs(status));
}

/// The library's status for the last two words of an entry, in native byte order. If the error bit is set, the result
/// is never ok, whatever the status. Status::vendor keeps bits 15:0 of the status.
XIO_DEVICE constexpr Status to_status(uint32_t word, uint32_t status_length) {
  if ((word & cqe_word::error) == 0) return Status();
  return Status(rdma::detail::look_up<CqeStatus, to_verbs, CqeStatus::xrc_violation>(status_length),
                static_cast<uint16_t>(status_length));
}

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
