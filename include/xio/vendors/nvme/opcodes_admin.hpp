// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Identifiers used by the admin queue: opcodes, features, log pages, identify structures (NVM Express Base
/// Specification 2.0, figures 138, 201 and 273).

#include <xio/config.hpp>
#include <xio/vendors/nvme/opcodes.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Commands of the admin queue.
enum class AdminOpcode : uint8_t {
  delete_io_sq = 0x00,
  create_io_sq = 0x01,
  get_log_page = 0x02,
  delete_io_cq = 0x04,
  create_io_cq = 0x05,
  identify = 0x06,
  abort = 0x08,
  set_features = 0x09,
  get_features = 0x0a,
  async_event_request = 0x0c,
  namespace_management = 0x0d,
  firmware_commit = 0x10,
  firmware_image_download = 0x11,
  device_self_test = 0x14,
  namespace_attachment = 0x15,
  keep_alive = 0x18,
  directive_send = 0x19,
  directive_receive = 0x1a,
  virtualization_management = 0x1c,
  mi_send = 0x1d,
  mi_receive = 0x1e,
  capacity_management = 0x20,
  lockdown = 0x24,
  doorbell_buffer_config = 0x7c,
  fabrics = 0x7f,
  format_nvm = 0x80,
  security_send = 0x81,
  security_receive = 0x82,
  sanitize = 0x84,
  get_lba_status = 0x86,
};

/// Feature identifiers of Set Features and Get Features.
enum class FeatureId : uint8_t {
  arbitration = 0x01,
  power_management = 0x02,
  lba_range_type = 0x03,
  temperature_threshold = 0x04,
  error_recovery = 0x05,
  volatile_write_cache = 0x06,
  number_of_queues = 0x07,
  interrupt_coalescing = 0x08,
  interrupt_vector_configuration = 0x09,
  write_atomicity = 0x0a,
  async_event_configuration = 0x0b,
  autonomous_power_state = 0x0c,
  host_memory_buffer = 0x0d,
  timestamp = 0x0e,
  keep_alive_timer = 0x0f,
  thermal_management = 0x10,
  non_operational_power_state = 0x11,
  read_recovery_level = 0x12,
  predictable_latency_config = 0x13,
  predictable_latency_window = 0x14,
  lba_status_interval = 0x15,
  host_behavior = 0x16,
  sanitize_config = 0x17,
  endurance_group_events = 0x18,
  io_command_set_profile = 0x19,
  spinup_control = 0x1a,
  flexible_data_placement = 0x1d,
  flexible_data_placement_events = 0x1e,
  software_progress_marker = 0x80,
  host_identifier = 0x81,
  reservation_notification_mask = 0x82,
  reservation_persistence = 0x83,
  namespace_write_protection = 0x84,
};

/// Value of a feature that Get Features returns.
enum class FeatureSelect : uint8_t { current = 0, default_value = 1, saved = 2, capabilities = 3 };

/// Log page identifiers of Get Log Page.
enum class LogId : uint8_t {
  supported_log_pages = 0x00,
  error_information = 0x01,
  smart = 0x02,
  firmware_slot = 0x03,
  changed_namespaces = 0x04,
  command_effects = 0x05,
  device_self_test = 0x06,
  telemetry_host = 0x07,
  telemetry_controller = 0x08,
  endurance_group = 0x09,
  predictable_latency_nvm_set = 0x0a,
  predictable_latency_aggregate = 0x0b,
  asymmetric_namespace_access = 0x0c,
  persistent_event = 0x0d,
  lba_status = 0x0e,
  endurance_group_aggregate = 0x0f,
  media_unit_status = 0x10,
  supported_capacity_configurations = 0x11,
  feature_effects = 0x12,
  mi_command_effects = 0x13,
  boot_partition = 0x15,
  fdp_configurations = 0x20,
  fdp_reclaim_unit_handle_usage = 0x21,
  fdp_statistics = 0x22,
  fdp_events = 0x23,
  discovery = 0x70,
  reservation_notification = 0x80,
  sanitize_status = 0x81,
  changed_zones = 0xbf,
};

/// Structure that Identify returns (CNS).
enum class Cns : uint8_t {
  namespace_data = 0x00,
  controller = 0x01,
  active_namespaces = 0x02,
  namespace_descriptors = 0x03,
  nvm_sets = 0x04,
  namespace_of_command_set = 0x05,
  controller_of_command_set = 0x06,
  active_namespaces_of_command_set = 0x07,
  namespace_independent = 0x08,
  namespace_format = 0x09,
  allocated_namespaces = 0x10,
  allocated_namespace_data = 0x11,
  controllers_of_namespace = 0x12,
  controllers = 0x13,
  primary_capabilities = 0x14,
  secondary_controllers = 0x15,
  namespace_granularity = 0x16,
  uuids = 0x17,
  domains = 0x18,
  endurance_groups = 0x19,
  command_sets = 0x1c,
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
