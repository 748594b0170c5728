// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Names of statuses as in the specification, for messages on the host.

#include <xio/config.hpp>
#include <xio/vendors/nvme/status.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Name of a status code type.
XIO_DEVICE constexpr const char* status_type_name(uint32_t sct) {
  switch (sct) {
    case sct::generic: return "generic";
    case sct::command_specific: return "command specific";
    case sct::media: return "media and data integrity";
    case sct::path: return "path related";
    case sct::vendor: return "vendor specific";
    default: return "reserved";
  }
}

/// Name of a status: `sct` 0 to 7, `sc` 0 to 255. Values without a name yield "reserved status" or "vendor specific
/// status"; never null.
XIO_DEVICE constexpr const char* status_name(uint32_t sct, uint32_t sc) {
  if (sct == sct::vendor) return "vendor specific status";
  switch (sct << 8 | sc) {
    case sc::success: return "successful completion";
    case sc::invalid_opcode: return "invalid command opcode";
    case sc::invalid_field: return "invalid field in command";
    case sc::command_id_conflict: return "command identifier conflict";
    case sc::data_transfer_error: return "data transfer error";
    case sc::aborted_power_loss: return "command aborted due to power loss notification";
    case sc::internal_error: return "internal error";
    case sc::abort_requested: return "command abort requested";
    case sc::aborted_sq_deletion: return "command aborted due to submission queue deletion";
    case sc::aborted_failed_fused: return "command aborted due to failed fused command";
    case sc::aborted_missing_fused: return "command aborted due to missing fused command";
    case sc::invalid_namespace_or_format: return "invalid namespace or format";
    case sc::command_sequence_error: return "command sequence error";
    case sc::invalid_sgl_segment_descriptor: return "invalid SGL segment descriptor";
    case sc::invalid_number_of_sgl_descriptors: return "invalid number of SGL descriptors";
    case sc::data_sgl_length_invalid: return "data SGL length invalid";
    case sc::metadata_sgl_length_invalid: return "metadata SGL length invalid";
    case sc::sgl_descriptor_type_invalid: return "SGL descriptor type invalid";
    case sc::invalid_use_of_cmb: return "invalid use of controller memory buffer";
    case sc::prp_offset_invalid: return "PRP offset invalid";
    case sc::atomic_write_unit_exceeded: return "atomic write unit exceeded";
    case sc::operation_denied: return "operation denied";
    case sc::sgl_offset_invalid: return "SGL offset invalid";
    case sc::host_identifier_inconsistent_format: return "host identifier inconsistent format";
    case sc::keep_alive_expired: return "keep alive timer expired";
    case sc::keep_alive_timeout_invalid: return "keep alive timeout invalid";
    case sc::aborted_preempt_and_abort: return "command aborted due to preempt and abort";
    case sc::sanitize_failed: return "sanitize failed";
    case sc::sanitize_in_progress: return "sanitize in progress";
    case sc::sgl_granularity_invalid: return "SGL data block granularity invalid";
    case sc::command_not_supported_in_cmb_queue: return "command not supported for queue in controller memory buffer";
    case sc::namespace_write_protected: return "namespace is write protected";
    case sc::command_interrupted: return "command interrupted";
    case sc::transient_transport_error: return "transient transport error";
    case sc::prohibited_by_lockdown: return "command prohibited by command and feature lockdown";
    case sc::admin_command_media_not_ready: return "admin command media not ready";
    case sc::invalid_key_tag: return "invalid key tag";
    case sc::dispersed_namespaces_not_enabled: return "host dispersed namespace support not enabled";
    case sc::host_identifier_not_initialized: return "host identifier not initialized";
    case sc::incorrect_key: return "incorrect key";
    case sc::fdp_disabled: return "flexible data placement disabled";
    case sc::invalid_placement_handle_list: return "invalid placement handle list";
    case sc::lba_out_of_range: return "LBA out of range";
    case sc::capacity_exceeded: return "capacity exceeded";
    case sc::namespace_not_ready: return "namespace not ready";
    case sc::reservation_conflict: return "reservation conflict";
    case sc::format_in_progress: return "format in progress";
    case sc::invalid_value_size: return "invalid value size";
    case sc::invalid_key_size: return "invalid key size";
    case sc::key_does_not_exist: return "key does not exist";
    case sc::unrecovered_error: return "unrecovered error";
    case sc::key_exists: return "key exists";
    case sc::completion_queue_invalid: return "completion queue invalid";
    case sc::invalid_queue_identifier: return "invalid queue identifier";
    case sc::invalid_queue_size: return "invalid queue size";
    case sc::abort_limit_exceeded: return "abort command limit exceeded";
    case sc::abort_command_missing: return "abort command is missing";
    case sc::async_event_limit_exceeded: return "asynchronous event request limit exceeded";
    case sc::invalid_firmware_slot: return "invalid firmware slot";
    case sc::invalid_firmware_image: return "invalid firmware image";
    case sc::invalid_interrupt_vector: return "invalid interrupt vector";
    case sc::invalid_log_page: return "invalid log page";
    case sc::invalid_format: return "invalid format";
    case sc::firmware_needs_conventional_reset: return "firmware activation requires conventional reset";
    case sc::invalid_queue_deletion: return "invalid queue deletion";
    case sc::feature_not_saveable: return "feature identifier not saveable";
    case sc::feature_not_changeable: return "feature not changeable";
    case sc::feature_not_namespace_specific: return "feature not namespace specific";
    case sc::firmware_needs_subsystem_reset: return "firmware activation requires NVM subsystem reset";
    case sc::firmware_needs_controller_reset: return "firmware activation requires controller level reset";
    case sc::firmware_needs_maximum_time: return "firmware activation requires maximum time violation";
    case sc::firmware_activation_prohibited: return "firmware activation prohibited";
    case sc::overlapping_range: return "overlapping range";
    case sc::namespace_insufficient_capacity: return "namespace insufficient capacity";
    case sc::namespace_identifier_unavailable: return "namespace identifier unavailable";
    case sc::namespace_already_attached: return "namespace already attached";
    case sc::namespace_is_private: return "namespace is private";
    case sc::namespace_not_attached: return "namespace not attached";
    case sc::thin_provisioning_not_supported: return "thin provisioning not supported";
    case sc::controller_list_invalid: return "controller list invalid";
    case sc::self_test_in_progress: return "device self-test in progress";
    case sc::boot_partition_write_prohibited: return "boot partition write prohibited";
    case sc::invalid_controller_identifier: return "invalid controller identifier";
    case sc::invalid_secondary_controller_state: return "invalid secondary controller state";
    case sc::invalid_number_of_controller_resources: return "invalid number of controller resources";
    case sc::invalid_resource_identifier: return "invalid resource identifier";
    case sc::sanitize_prohibited_with_pmr: return "sanitize prohibited while persistent memory region is enabled";
    case sc::ana_group_identifier_invalid: return "ANA group identifier invalid";
    case sc::ana_attach_failed: return "ANA attach failed";
    case sc::insufficient_capacity: return "insufficient capacity";
    case sc::namespace_attachment_limit_exceeded: return "namespace attachment limit exceeded";
    case sc::prohibition_not_supported: return "prohibition of command execution not supported";
    case sc::command_set_not_supported: return "I/O command set not supported";
    case sc::command_set_not_enabled: return "I/O command set not enabled";
    case sc::command_set_combination_rejected: return "I/O command set combination rejected";
    case sc::invalid_command_set: return "invalid I/O command set";
    case sc::identifier_unavailable: return "identifier unavailable";
    case sc::namespace_is_dispersed: return "namespace is dispersed";
    case sc::invalid_discovery_information: return "invalid discovery information";
    case sc::zoning_data_structure_locked: return "zoning data structure locked";
    case sc::zoning_data_structure_not_found: return "zoning data structure not found";
    case sc::insufficient_discovery_resources: return "insufficient discovery resources";
    case sc::requested_function_disabled: return "requested function disabled";
    case sc::zone_group_originator_invalid: return "ZoneGroup originator invalid";
    case sc::invalid_host: return "invalid host";
    case sc::invalid_nvm_subsystem: return "invalid NVM subsystem";
    case sc::invalid_controller_data_queue: return "invalid controller data queue";
    case sc::not_enough_resources: return "not enough resources";
    case sc::controller_suspended: return "controller suspended";
    case sc::controller_not_suspended: return "controller not suspended";
    case sc::controller_data_queue_full: return "controller data queue full";
    case sc::stream_resource_allocation_failed: return "stream resource allocation failed";
    case sc::conflicting_attributes: return "conflicting attributes";
    case sc::invalid_protection_information: return "invalid protection information";
    case sc::write_to_read_only_range: return "attempted write to read only range";
    case sc::command_size_limit_exceeded: return "command size limit exceeded";
    case sc::invalid_command_identifier: return "invalid command identifier";
    case sc::incompatible_namespace_or_format: return "incompatible namespace or format";
    case sc::fast_copy_not_possible: return "fast copy not possible";
    case sc::overlapping_io_range: return "overlapping I/O range";
    case sc::namespace_not_reachable: return "namespace not reachable";
    case sc::insufficient_resources: return "insufficient resources";
    case sc::discovery_restart: return "discover restart";
    case sc::authentication_required: return "authentication required";
    case sc::zone_invalid_operation_request: return "zone invalid operation request";
    case sc::zone_random_write_area_unavailable: return "zone random write area resources unavailable";
    case sc::zone_boundary_error: return "zone boundary error";
    case sc::zone_is_full: return "zone is full";
    case sc::zone_is_read_only: return "zone is read only";
    case sc::zone_is_offline: return "zone is offline";
    case sc::zone_invalid_write: return "zone invalid write";
    case sc::too_many_active_zones: return "too many active zones";
    case sc::too_many_open_zones: return "too many open zones";
    case sc::invalid_zone_state_transition: return "invalid zone state transition";
    case sc::write_fault: return "write fault";
    case sc::unrecovered_read_error: return "unrecovered read error";
    case sc::guard_check_error: return "end-to-end guard check error";
    case sc::application_tag_check_error: return "end-to-end application tag check error";
    case sc::reference_tag_check_error: return "end-to-end reference tag check error";
    case sc::compare_failure: return "compare failure";
    case sc::access_denied: return "access denied";
    case sc::deallocated_or_unwritten_block: return "deallocated or unwritten logical block";
    case sc::storage_tag_check_error: return "end-to-end storage tag check error";
    case sc::internal_path_error: return "internal path error";
    case sc::ana_persistent_loss: return "asymmetric access persistent loss";
    case sc::ana_inaccessible: return "asymmetric access inaccessible";
    case sc::ana_transition: return "asymmetric access transition";
    case sc::controller_path_error: return "controller pathing error";
    case sc::host_path_error: return "host pathing error";
    case sc::aborted_by_host: return "command aborted by host";
    default: return sc >= 0xc0 ? "vendor specific status" : "reserved status";
  }
}

/// Name of a status field without the phase bit, as in Status::vendor.
XIO_DEVICE constexpr const char* status_name(uint32_t field) { return status_name(field >> 8 & 7, field & 0xff); }

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
