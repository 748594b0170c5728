// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Command sets, opcodes and actions of I/O commands (NVM Express Base Specification 2.0, figures 317 and 390;
/// NVM Command Set 1.0; Zoned Namespace Command Set 1.1; Key Value Command Set 1.0). Admin commands: opcodes_admin.hpp.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Command sets (CSI). No namespace reports `every`: a command of it means the same in all of them.
enum class CommandSet : uint8_t { nvm = 0x00, key_value = 0x01, zoned = 0x02, every = 0xff };

/// Commands of an I/O queue, but for those of KvOpcode (encode_kv.hpp).
enum class Opcode : uint8_t {
  flush = 0x00,
  write = 0x01,
  read = 0x02,
  write_uncorrectable = 0x04,
  compare = 0x05,
  write_zeroes = 0x08,
  dataset_management = 0x09,
  verify = 0x0c,
  reservation_register = 0x0d,
  reservation_report = 0x0e,
  reservation_acquire = 0x11,
  io_management_receive = 0x12,
  reservation_release = 0x15,
  copy = 0x19,
  io_management_send = 0x1d,
  zone_management_send = 0x79,
  zone_management_receive = 0x7a,
  zone_append = 0x7d,
};

/// Zone Send Action of Zone Management Send.
enum class ZoneSendAction : uint8_t {
  close = 0x01,
  finish = 0x02,
  open = 0x03,
  reset = 0x04,
  offline = 0x05,
  set_descriptor_extension = 0x10,
  flush_random_write_area = 0x11,
};

/// Zone Receive Action of Zone Management Receive.
enum class ZoneReceiveAction : uint8_t { report = 0x00, extended_report = 0x01 };

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
