// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Constants of the NVMe specification that the in-process controller uses.
///
/// Deliberately independent of xio/vendors/nvme, so that a wrong constant there is detected.
/// Sources: NVM Express Base Specification 2.0, NVM Command Set Specification 1.0, PCIe Transport Specification 1.0.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{
namespace spec {
/// @addtogroup emulation_nvme
/// @{

/// Register offsets in BAR0, in bytes.
enum Register : uint32_t {
  reg_cap = 0x00,
  reg_vs = 0x08,
  reg_intms = 0x0c,
  reg_intmc = 0x10,
  reg_cc = 0x14,
  reg_csts = 0x1c,
  reg_nssr = 0x20,
  reg_aqa = 0x24,
  reg_asq = 0x28,
  reg_acq = 0x30,
  reg_doorbells = 0x1000,
};

enum AdminOpcode : uint8_t {
  admin_delete_sq = 0x00,
  admin_create_sq = 0x01,
  admin_get_log_page = 0x02,
  admin_delete_cq = 0x04,
  admin_create_cq = 0x05,
  admin_identify = 0x06,
  admin_abort = 0x08,
  admin_set_features = 0x09,
  admin_get_features = 0x0a,
  admin_async_event_request = 0x0c,
  admin_doorbell_buffer_config = 0x7c,
};

enum IoOpcode : uint8_t {
  io_flush = 0x00,
  io_write = 0x01,
  io_read = 0x02,
  io_write_uncorrectable = 0x04,
  io_compare = 0x05,
  io_write_zeroes = 0x08,
  io_dataset_management = 0x09,
  io_verify = 0x0c,
  io_reservation_register = 0x0d,
  io_reservation_report = 0x0e,
  io_reservation_acquire = 0x11,
  io_management_receive = 0x12,
  io_reservation_release = 0x15,
  io_copy = 0x19,
  io_management_send = 0x1d,
  io_zone_send = 0x79,
  io_zone_receive = 0x7a,
  io_zone_append = 0x7d,
  kv_store = 0x01,
  kv_retrieve = 0x02,
  kv_list = 0x06,
  kv_delete = 0x10,
  kv_exist = 0x14,
};

/// Status field of a completion without its phase bit: SC in 7:0, SCT in 10:8, CRD 12:11, more 13, do not retry 14.
enum Status : uint16_t {
  success = 0x000,
  invalid_opcode = 0x001,
  invalid_field = 0x002,
  command_id_conflict = 0x003,
  data_transfer_error = 0x004,
  internal_error = 0x006,
  abort_requested = 0x007,
  aborted_sq_deletion = 0x008,
  invalid_namespace = 0x00b,
  command_sequence_error = 0x00c,
  invalid_sgl_segment = 0x00d,
  sgl_data_length_invalid = 0x00f,
  sgl_type_invalid = 0x011,
  invalid_prp_offset = 0x013,
  sgl_granularity_invalid = 0x01e,
  write_protected = 0x020,
  lba_out_of_range = 0x080,
  capacity_exceeded = 0x081,
  invalid_value_size = 0x085,
  invalid_key_size = 0x086,
  key_does_not_exist = 0x087,
  key_exists = 0x089,
  invalid_cq = 0x100,
  invalid_queue_id = 0x101,
  invalid_queue_size = 0x102,
  async_event_limit = 0x105,
  invalid_interrupt_vector = 0x108,
  invalid_log_page = 0x109,
  invalid_queue_deletion = 0x10c,
  feature_not_saveable = 0x10d,
  feature_not_changeable = 0x10e,
  invalid_command_set = 0x12c,
  command_size_limit = 0x183,
  write_fault = 0x280,
  unrecovered_read = 0x281,
  compare_failure = 0x285,
  access_denied = 0x286,
};
constexpr uint16_t more = 1u << 13;
constexpr uint16_t do_not_retry = 1u << 14;

/// Sets Do Not Retry: a retry of the command would end with the same status.
constexpr uint16_t final_status(Status status) { return static_cast<uint16_t>(status | do_not_retry); }

/// Asynchronous events: type, information and log page as encoded in dword 0 of the completion.
enum AsyncEvent : uint32_t {
  event_invalid_doorbell_register = 0x00010000,
  event_invalid_doorbell_value = 0x00010100,
  event_smart_reliability = 0x00020001,
  event_smart_temperature = 0x00020101,
  event_smart_spare = 0x00020201,
};

constexpr uint32_t sqe_bytes = 64;
constexpr uint32_t cqe_bytes = 16;
constexpr uint32_t sqe_shift = 6;
constexpr uint32_t cqe_shift = 4;
constexpr uint32_t identify_bytes = 4096;
constexpr uint32_t broadcast_namespace = 0xffffffffu;
constexpr uint32_t csi_nvm = 0;
constexpr uint32_t csi_key_value = 1;
constexpr uint32_t version_1_4 = 0x00010400;

/// @}
}  // namespace spec
/// @}
}  // namespace emulation

XIO_NAMESPACE_END
