// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Decoding of completion queue entries: phase, status field, and the mapping to Status (NVM Express Base
/// Specification 2.0, section 3.3.3.2).
///
/// "Field" is the 15-bit status field without the phase bit: SC 7:0, SCT 10:8, CRD 12:11, more 13, do not retry 14.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/nvme/layout.hpp>
#include <xio/vendors/nvme/status.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Phase bit of an entry's last 16 bits.
XIO_DEVICE constexpr bool phase(uint16_t status) { return status & 1; }
XIO_DEVICE constexpr bool phase(const Cqe& entry) { return phase(entry.status); }

/// Phase of new entries on lap `lap` of a completion queue whose memory was zeroed at set-up: 1 on lap 0, then
/// alternating.
XIO_DEVICE constexpr bool expected_phase(uint64_t lap) { return (lap & 1) == 0; }

/// Status field of an entry's last 16 bits.
XIO_DEVICE constexpr uint16_t status_field(uint16_t status) { return static_cast<uint16_t>(status >> 1); }
XIO_DEVICE constexpr uint16_t status_field(const Cqe& entry) { return status_field(entry.status); }

XIO_DEVICE constexpr uint32_t status_code(uint16_t field) { return field & 0xffu; }
XIO_DEVICE constexpr uint32_t status_code_type(uint16_t field) { return field >> 8 & 7u; }
/// Which of the controller's retry delays applies, 1 to 3 (IdentifyController::crdt); 0: none.
XIO_DEVICE constexpr uint32_t retry_delay(uint16_t field) { return field >> 11 & 3u; }
XIO_DEVICE constexpr bool more(uint16_t field) { return field >> 13 & 1; }
XIO_DEVICE constexpr bool do_not_retry(uint16_t field) { return field >> 14 & 1; }

/// Composes a status field; for controller models and tests.
XIO_DEVICE constexpr uint16_t make_status_field(uint32_t type_and_code, bool do_not_retry = false, bool more = false,
                                                uint32_t retry_delay = 0) {
  return static_cast<uint16_t>(type_and_code | retry_delay << 11 | static_cast<uint32_t>(more) << 13 |
                               static_cast<uint32_t>(do_not_retry) << 14);
}

namespace detail {

XIO_DEVICE constexpr Status::Code generic_code(uint32_t value) {
  switch (value) {
    case sc::data_transfer_error: return Status::bad_address;
    case sc::aborted_power_loss:
    case sc::abort_requested:
    case sc::aborted_sq_deletion:
    case sc::keep_alive_expired:
    case sc::aborted_preempt_and_abort:
    case sc::command_interrupted: return Status::aborted;
    case sc::aborted_failed_fused: return Status::flushed;
    case sc::internal_error: return Status::internal_error;
    case sc::command_sequence_error:
    case sc::reservation_conflict:
    case sc::key_exists: return Status::conflict;
    case sc::operation_denied:
    case sc::namespace_write_protected:
    case sc::prohibited_by_lockdown:
    case sc::invalid_key_tag:
    case sc::incorrect_key: return Status::access_denied;
    case sc::sanitize_failed:
    case sc::sanitize_in_progress:
    case sc::admin_command_media_not_ready:
    case sc::namespace_not_ready:
    case sc::format_in_progress: return Status::not_ready;
    case sc::transient_transport_error: return Status::path_error;
    case sc::lba_out_of_range:
    case sc::capacity_exceeded: return Status::capacity;
    case sc::key_does_not_exist: return Status::unwritten;
    case sc::unrecovered_error: return Status::read_error;
    case 0x017: return Status::device_error;  // Reserved.
    default: break;
  }
  return value <= sc::invalid_placement_handle_list || value == sc::invalid_value_size || value == sc::invalid_key_size
             ? Status::invalid_command
             : Status::device_error;
}

XIO_DEVICE constexpr Status::Code command_specific_code(uint32_t value) {
  if (value >= sc::zone_invalid_operation_request && value <= sc::invalid_zone_state_transition) {
    return Status::zone_error;
  }
  switch (value) {
    case sc::abort_limit_exceeded:
    case sc::async_event_limit_exceeded:
    case sc::self_test_in_progress:
    case sc::namespace_not_reachable: return Status::not_ready;
    case sc::firmware_needs_conventional_reset:
    case sc::firmware_needs_subsystem_reset:
    case sc::firmware_needs_controller_reset:
    case sc::firmware_needs_maximum_time: return Status::device_error;
    case sc::invalid_queue_deletion:
    case sc::firmware_activation_prohibited:
    case sc::overlapping_range:
    case sc::overlapping_io_range:
    case sc::namespace_already_attached:
    case sc::namespace_is_private:
    case sc::namespace_not_attached: return Status::conflict;
    case sc::namespace_insufficient_capacity:
    case sc::insufficient_capacity:
    case sc::namespace_attachment_limit_exceeded:
    case sc::not_enough_resources:
    case sc::insufficient_resources:
    case sc::stream_resource_allocation_failed: return Status::capacity;
    case sc::boot_partition_write_prohibited:
    case sc::sanitize_prohibited_with_pmr:
    case sc::requested_function_disabled:
    case sc::write_to_read_only_range:
    case sc::authentication_required: return Status::access_denied;
    default: break;
  }
  return (value & 0xff) >= 0xc0 ? Status::device_error : Status::invalid_command;
}

XIO_DEVICE constexpr Status::Code media_code(uint32_t value) {
  switch (value) {
    case sc::write_fault: return Status::write_error;
    case sc::unrecovered_read_error: return Status::read_error;
    case sc::guard_check_error:
    case sc::application_tag_check_error:
    case sc::reference_tag_check_error:
    case sc::storage_tag_check_error: return Status::integrity_error;
    case sc::compare_failure: return Status::compare_failed;
    case sc::access_denied: return Status::access_denied;
    case sc::deallocated_or_unwritten_block: return Status::unwritten;
    default: return Status::device_error;
  }
}

constexpr uint32_t known_codes = 0x300;  // status code types 0 to 2

XIO_DEVICE constexpr Status::Code known_code(uint32_t value) {
  if (value < 0x100) return generic_code(value);
  return value < 0x200 ? command_specific_code(value) : media_code(value);
}

}  // namespace detail

/// The library's status for a status field without its phase bit; Status::vendor holds the field unchanged.
XIO_DEVICE constexpr Status to_status(uint16_t field) {
  const uint32_t value = field & 0x7ffu;
  if (XIO_LIKELY(value == sc::success)) return Status(Status::ok, field);
  Status::Code code = value == sc::aborted_by_host ? Status::aborted : Status::path_error;
  if (status_code_type(field) != sct::path) code = Status::device_error;
  if (value < detail::known_codes)
    code = xio::detail::look_up_code<uint32_t, detail::known_code, detail::known_codes>(value);
  return Status(code, field);
}

/// Whether the command may succeed if it is submitted again: the device reported the status and did not set "do not
/// retry".
XIO_DEVICE constexpr bool retryable(Status status) { return status.from_device() && !do_not_retry(status.vendor); }

/// Whether the Error Information log page holds more information about this status.
XIO_DEVICE constexpr bool more(Status status) {
  return (status.is_ok() || status.from_device()) && more(status.vendor);
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
