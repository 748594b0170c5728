// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Commands of the admin queue (NVM Express Base Specification 2.0, section 5). The address of a queue or of the
/// data is passed to encode() as data pointer; admin queues accept PRPs only. CommandWords::data does not include rings
/// and doorbell pages, which a command only points to.

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/encode_sizes.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Any command of the admin queue; set its words with dword(), and its data size with moves().
/// @snippet host.cpp admin_command
XIO_DEVICE constexpr Command command(AdminOpcode opcode) {
  Command result;
  result.cdw0 = static_cast<uint32_t>(opcode);
  return result;
}

/// Parameters of create_io_cq. PRP 1 is the ring if it is contiguous, otherwise a list of its pages.
struct CompletionQueueRequest {
  uint32_t qid = 0;         ///< 1 to 65535
  uint32_t entries = 0;     ///< 2 to 65536
  bool contiguous = true;   ///< PC; must be set if CAP.CQR is
  bool interrupts = false;  ///< IEN; false: the queue is polled
  uint32_t vector = 0;      ///< interrupt vector
};

XIO_DEVICE constexpr Command create_io_cq(const CompletionQueueRequest& queue) {
  return command(AdminOpcode::create_io_cq)
      .dword(10, (queue.entries - 1) << 16 | queue.qid)
      .dword(11, queue.vector << 16 | static_cast<uint32_t>(queue.interrupts) << 1 |
                     static_cast<uint32_t>(queue.contiguous))
      .moves(0);
}

/// Parameters of create_io_sq. PRP 1 is the ring if it is contiguous, otherwise a list of its pages.
struct SubmissionQueueRequest {
  uint32_t qid = 0;        ///< 1 to 65535
  uint32_t entries = 0;    ///< 2 to 65536
  uint32_t cqid = 0;       ///< existing completion queue
  bool contiguous = true;  ///< PC; must be set if CAP.CQR is
  uint32_t priority = 0;   ///< 0 urgent to 3 low, with weighted round robin
  uint32_t nvm_set = 0;    ///< 0: none
};

XIO_DEVICE constexpr Command create_io_sq(const SubmissionQueueRequest& queue) {
  return command(AdminOpcode::create_io_sq)
      .dword(10, (queue.entries - 1) << 16 | queue.qid)
      .dword(11, queue.cqid << 16 | (queue.priority & 3) << 1 | static_cast<uint32_t>(queue.contiguous))
      .dword(12, queue.nvm_set)
      .moves(0);
}

/// Deletes a submission queue; its commands in flight are aborted. Must precede the deletion of its completion queue.
XIO_DEVICE constexpr Command delete_io_sq(uint32_t qid) {
  return command(AdminOpcode::delete_io_sq).dword(10, qid).moves(0);
}
XIO_DEVICE constexpr Command delete_io_cq(uint32_t qid) {
  return command(AdminOpcode::delete_io_cq).dword(10, qid).moves(0);
}

/// Parameters of identify.
struct IdentifyRequest {
  Cns cns = Cns::controller;
  uint32_t nsid = 0;
  uint32_t cntid = 0;  ///< controller identifier, or the start of a list of controllers
  CommandSet command_set = CommandSet::nvm;
  uint32_t specific = 0;  ///< CNS specific identifier, 16 bits (NVM set, endurance group, …)
  uint32_t uuid_index = 0;
};

/// Fetches 4096 bytes of identify data.
/// @snippet host.cpp fetch
XIO_DEVICE constexpr Command identify(const IdentifyRequest& request) {
  return command(AdminOpcode::identify)
      .nsid(request.nsid)
      .dword(10, request.cntid << 16 | static_cast<uint32_t>(request.cns))
      .dword(11, static_cast<uint32_t>(request.command_set) << 24 | (request.specific & 0xffff))
      .dword(14, request.uuid_index & 0x7f)
      .moves(4096);
}
XIO_DEVICE constexpr Command identify_controller() { return identify(IdentifyRequest{}); }
XIO_DEVICE constexpr Command identify_namespace(uint32_t nsid) {
  return identify(IdentifyRequest{Cns::namespace_data, nsid});
}
/// Fetches the identifiers of active namespaces larger than `above`, at most 1024.
XIO_DEVICE constexpr Command identify_active_namespaces(uint32_t above = 0) {
  return identify(IdentifyRequest{Cns::active_namespaces, above});
}

namespace detail {
/// Size of a feature's data structure in bytes; 0: the feature is held in dwords only.
XIO_DEVICE constexpr uint32_t feature_data(FeatureId feature) {
  switch (feature) {
    case FeatureId::lba_range_type: return 4096;
    case FeatureId::autonomous_power_state: return 256;
    case FeatureId::timestamp:
    case FeatureId::host_identifier: return 8;  // 16 with EXHID, which dword() sets
    case FeatureId::predictable_latency_config:
    case FeatureId::host_behavior: return 512;
    case FeatureId::flexible_data_placement_events: return data_size::unknown;  // in dword 11
    default: break;
  }
  const auto number = static_cast<uint32_t>(feature);
  const bool common = number >= 1 && number <= static_cast<uint32_t>(FeatureId::flexible_data_placement);
  return common || (number >= 0x80 && number <= 0x84) ? 0 : data_size::unknown;
}
}  // namespace detail

/// Sets a feature to `value` (command dword 11); `save` makes it persistent across power cycles.
XIO_DEVICE constexpr Command set_features(FeatureId feature, uint32_t value, bool save = false) {
  const bool extended_identifier = feature == FeatureId::host_identifier && (value & 1) != 0;
  return command(AdminOpcode::set_features)
      .dword(10, static_cast<uint32_t>(save) << 31 | static_cast<uint32_t>(feature))
      .dword(11, value)
      .moves(extended_identifier ? 16 : detail::feature_data(feature));
}
/// Reads a feature; most are returned in dw0 of the completion.
/// @snippet host.cpp execute
XIO_DEVICE constexpr Command get_features(FeatureId feature, FeatureSelect select = FeatureSelect::current) {
  uint32_t data = feature == FeatureId::host_memory_buffer ? 4096 : detail::feature_data(feature);
  if (select == FeatureSelect::capabilities) data = 0;
  return command(AdminOpcode::get_features)
      .dword(10, static_cast<uint32_t>(select) << 8 | static_cast<uint32_t>(feature))
      .moves(data);
}
/// Requests numbers of I/O queues, 1 to 65535 each; the completion's dw0 holds the granted numbers, less one, in the
/// same format.
XIO_DEVICE constexpr Command set_number_of_queues(uint32_t submission, uint32_t completion) {
  return set_features(FeatureId::number_of_queues, (completion - 1) << 16 | ((submission - 1) & 0xffff));
}

/// Parameters of get_log_page.
struct LogPageRequest {
  LogId log = LogId::error_information;
  uint32_t bytes = 0;                ///< a multiple of 4, at least 4
  uint64_t offset = 0;               ///< bytes, a multiple of 4
  uint32_t nsid = all_namespaces;    ///< all_namespaces: the controller's log page
  uint32_t specific = 0;             ///< LSP, 7 bits
  uint32_t specific_identifier = 0;  ///< LSI, 16 bits
  bool retain_event = false;         ///< RAE: the asynchronous event stays pending
  bool index_offset = false;         ///< `offset` counts entries rather than bytes
  CommandSet command_set = CommandSet::nvm;
  uint32_t uuid_index = 0;
};

XIO_DEVICE constexpr Command get_log_page(const LogPageRequest& request) {
  const uint32_t last_dword = detail::last_dword(request.bytes);
  return command(AdminOpcode::get_log_page)
      .nsid(request.nsid)
      .dword(10, last_dword << 16 | static_cast<uint32_t>(request.retain_event) << 15 | (request.specific & 0x7f) << 8 |
                     static_cast<uint32_t>(request.log))
      .dword(11, request.specific_identifier << 16 | last_dword >> 16)
      .dword(12, static_cast<uint32_t>(request.offset))
      .dword(13, static_cast<uint32_t>(request.offset >> 32))
      .dword(14, static_cast<uint32_t>(request.command_set) << 24 | static_cast<uint32_t>(request.index_offset) << 23 |
                     (request.uuid_index & 0x7f))
      .moves(detail::data_of_dwords(request.bytes));
}

/// Asks the device to abort command `cid` of submission queue `sqid`; bit 0 of the completion's dw0 is set if it was
/// not aborted.
XIO_DEVICE constexpr Command abort(uint32_t sqid, uint32_t cid) {
  return command(AdminOpcode::abort).dword(10, cid << 16 | (sqid & 0xffff)).moves(0);
}
/// Completes when an asynchronous event occurs.
XIO_DEVICE constexpr Command async_event_request() { return command(AdminOpcode::async_event_request).moves(0); }
XIO_DEVICE constexpr Command keep_alive() { return command(AdminOpcode::keep_alive).moves(0); }

/// Enables shadow doorbells: PRP 1 of the data pointer is the page of shadow doorbells, PRP 2 the EventIdx page.
XIO_DEVICE constexpr Command doorbell_buffer_config() { return command(AdminOpcode::doorbell_buffer_config).moves(0); }

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
