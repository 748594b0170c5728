// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Status codes of completion queue entries (NVM Express Base Specification 2.0, figures 93 to 98, and later
/// additions; NVM, Key Value and Zoned Namespace command sets).
///
/// A value is the status code type in bits 10:8 and the status code in bits 7:0. For a value with several meanings, the
/// name is the meaning that an NVM or zoned namespace on PCIe can return.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Status code types: bits 10:8.
namespace sct {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t generic = 0;
constexpr uint32_t command_specific = 1;
constexpr uint32_t media = 2;
constexpr uint32_t path = 3;
constexpr uint32_t vendor = 7;
/// @}
}  // namespace sct

namespace sc {
/// @addtogroup vendors_nvme
/// @{
// Generic.
constexpr uint32_t success = 0x000;
constexpr uint32_t invalid_opcode = 0x001;
constexpr uint32_t invalid_field = 0x002;
constexpr uint32_t command_id_conflict = 0x003;
constexpr uint32_t data_transfer_error = 0x004;
constexpr uint32_t aborted_power_loss = 0x005;
constexpr uint32_t internal_error = 0x006;
constexpr uint32_t abort_requested = 0x007;
constexpr uint32_t aborted_sq_deletion = 0x008;
constexpr uint32_t aborted_failed_fused = 0x009;
constexpr uint32_t aborted_missing_fused = 0x00a;
constexpr uint32_t invalid_namespace_or_format = 0x00b;
constexpr uint32_t command_sequence_error = 0x00c;
constexpr uint32_t invalid_sgl_segment_descriptor = 0x00d;
constexpr uint32_t invalid_number_of_sgl_descriptors = 0x00e;
constexpr uint32_t data_sgl_length_invalid = 0x00f;
constexpr uint32_t metadata_sgl_length_invalid = 0x010;
constexpr uint32_t sgl_descriptor_type_invalid = 0x011;
constexpr uint32_t invalid_use_of_cmb = 0x012;
constexpr uint32_t prp_offset_invalid = 0x013;
constexpr uint32_t atomic_write_unit_exceeded = 0x014;
constexpr uint32_t operation_denied = 0x015;
constexpr uint32_t sgl_offset_invalid = 0x016;
constexpr uint32_t host_identifier_inconsistent_format = 0x018;
constexpr uint32_t keep_alive_expired = 0x019;
constexpr uint32_t keep_alive_timeout_invalid = 0x01a;
constexpr uint32_t aborted_preempt_and_abort = 0x01b;
constexpr uint32_t sanitize_failed = 0x01c;
constexpr uint32_t sanitize_in_progress = 0x01d;
constexpr uint32_t sgl_granularity_invalid = 0x01e;
constexpr uint32_t command_not_supported_in_cmb_queue = 0x01f;
constexpr uint32_t namespace_write_protected = 0x020;
constexpr uint32_t command_interrupted = 0x021;
constexpr uint32_t transient_transport_error = 0x022;
constexpr uint32_t prohibited_by_lockdown = 0x023;
constexpr uint32_t admin_command_media_not_ready = 0x024;
constexpr uint32_t invalid_key_tag = 0x025;
constexpr uint32_t dispersed_namespaces_not_enabled = 0x026;
constexpr uint32_t host_identifier_not_initialized = 0x027;
constexpr uint32_t incorrect_key = 0x028;
constexpr uint32_t fdp_disabled = 0x029;
constexpr uint32_t invalid_placement_handle_list = 0x02a;
constexpr uint32_t lba_out_of_range = 0x080;
constexpr uint32_t capacity_exceeded = 0x081;
constexpr uint32_t namespace_not_ready = 0x082;
constexpr uint32_t reservation_conflict = 0x083;
constexpr uint32_t format_in_progress = 0x084;
constexpr uint32_t invalid_value_size = 0x085;
constexpr uint32_t invalid_key_size = 0x086;
constexpr uint32_t key_does_not_exist = 0x087;
constexpr uint32_t unrecovered_error = 0x088;
constexpr uint32_t key_exists = 0x089;

// Command specific.
constexpr uint32_t completion_queue_invalid = 0x100;
constexpr uint32_t invalid_queue_identifier = 0x101;
constexpr uint32_t invalid_queue_size = 0x102;
constexpr uint32_t abort_limit_exceeded = 0x103;
constexpr uint32_t abort_command_missing = 0x104;
constexpr uint32_t async_event_limit_exceeded = 0x105;
constexpr uint32_t invalid_firmware_slot = 0x106;
constexpr uint32_t invalid_firmware_image = 0x107;
constexpr uint32_t invalid_interrupt_vector = 0x108;
constexpr uint32_t invalid_log_page = 0x109;
constexpr uint32_t invalid_format = 0x10a;
constexpr uint32_t firmware_needs_conventional_reset = 0x10b;
constexpr uint32_t invalid_queue_deletion = 0x10c;
constexpr uint32_t feature_not_saveable = 0x10d;
constexpr uint32_t feature_not_changeable = 0x10e;
constexpr uint32_t feature_not_namespace_specific = 0x10f;
constexpr uint32_t firmware_needs_subsystem_reset = 0x110;
constexpr uint32_t firmware_needs_controller_reset = 0x111;
constexpr uint32_t firmware_needs_maximum_time = 0x112;
constexpr uint32_t firmware_activation_prohibited = 0x113;
constexpr uint32_t overlapping_range = 0x114;
constexpr uint32_t namespace_insufficient_capacity = 0x115;
constexpr uint32_t namespace_identifier_unavailable = 0x116;
constexpr uint32_t namespace_already_attached = 0x118;
constexpr uint32_t namespace_is_private = 0x119;
constexpr uint32_t namespace_not_attached = 0x11a;
constexpr uint32_t thin_provisioning_not_supported = 0x11b;
constexpr uint32_t controller_list_invalid = 0x11c;
constexpr uint32_t self_test_in_progress = 0x11d;
constexpr uint32_t boot_partition_write_prohibited = 0x11e;
constexpr uint32_t invalid_controller_identifier = 0x11f;
constexpr uint32_t invalid_secondary_controller_state = 0x120;
constexpr uint32_t invalid_number_of_controller_resources = 0x121;
constexpr uint32_t invalid_resource_identifier = 0x122;
constexpr uint32_t sanitize_prohibited_with_pmr = 0x123;
constexpr uint32_t ana_group_identifier_invalid = 0x124;
constexpr uint32_t ana_attach_failed = 0x125;
constexpr uint32_t insufficient_capacity = 0x126;
constexpr uint32_t namespace_attachment_limit_exceeded = 0x127;
constexpr uint32_t prohibition_not_supported = 0x128;
constexpr uint32_t command_set_not_supported = 0x129;
constexpr uint32_t command_set_not_enabled = 0x12a;
constexpr uint32_t command_set_combination_rejected = 0x12b;
constexpr uint32_t invalid_command_set = 0x12c;
constexpr uint32_t identifier_unavailable = 0x12d;
constexpr uint32_t namespace_is_dispersed = 0x12e;
constexpr uint32_t invalid_discovery_information = 0x12f;
constexpr uint32_t zoning_data_structure_locked = 0x130;
constexpr uint32_t zoning_data_structure_not_found = 0x131;
constexpr uint32_t insufficient_discovery_resources = 0x132;
constexpr uint32_t requested_function_disabled = 0x133;
constexpr uint32_t zone_group_originator_invalid = 0x134;
constexpr uint32_t invalid_host = 0x135;
constexpr uint32_t invalid_nvm_subsystem = 0x136;
constexpr uint32_t invalid_controller_data_queue = 0x137;
constexpr uint32_t not_enough_resources = 0x138;
constexpr uint32_t controller_suspended = 0x139;
constexpr uint32_t controller_not_suspended = 0x13a;
constexpr uint32_t controller_data_queue_full = 0x13b;
constexpr uint32_t stream_resource_allocation_failed = 0x17f;
constexpr uint32_t conflicting_attributes = 0x180;
constexpr uint32_t invalid_protection_information = 0x181;
constexpr uint32_t write_to_read_only_range = 0x182;
constexpr uint32_t command_size_limit_exceeded = 0x183;
constexpr uint32_t invalid_command_identifier = 0x184;
constexpr uint32_t incompatible_namespace_or_format = 0x185;
constexpr uint32_t fast_copy_not_possible = 0x186;
constexpr uint32_t overlapping_io_range = 0x187;
constexpr uint32_t namespace_not_reachable = 0x188;
constexpr uint32_t insufficient_resources = 0x189;
constexpr uint32_t discovery_restart = 0x190;
constexpr uint32_t authentication_required = 0x191;
constexpr uint32_t zone_invalid_operation_request = 0x1b6;
constexpr uint32_t zone_random_write_area_unavailable = 0x1b7;
constexpr uint32_t zone_boundary_error = 0x1b8;
constexpr uint32_t zone_is_full = 0x1b9;
constexpr uint32_t zone_is_read_only = 0x1ba;
constexpr uint32_t zone_is_offline = 0x1bb;
constexpr uint32_t zone_invalid_write = 0x1bc;
constexpr uint32_t too_many_active_zones = 0x1bd;
constexpr uint32_t too_many_open_zones = 0x1be;
constexpr uint32_t invalid_zone_state_transition = 0x1bf;

// Media and data integrity.
constexpr uint32_t write_fault = 0x280;
constexpr uint32_t unrecovered_read_error = 0x281;
constexpr uint32_t guard_check_error = 0x282;
constexpr uint32_t application_tag_check_error = 0x283;
constexpr uint32_t reference_tag_check_error = 0x284;
constexpr uint32_t compare_failure = 0x285;
constexpr uint32_t access_denied = 0x286;
constexpr uint32_t deallocated_or_unwritten_block = 0x287;
constexpr uint32_t storage_tag_check_error = 0x288;

// Path related.
constexpr uint32_t internal_path_error = 0x300;
constexpr uint32_t ana_persistent_loss = 0x301;
constexpr uint32_t ana_inaccessible = 0x302;
constexpr uint32_t ana_transition = 0x303;
constexpr uint32_t controller_path_error = 0x360;
constexpr uint32_t host_path_error = 0x370;
constexpr uint32_t aborted_by_host = 0x371;
/// @}
}  // namespace sc

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
