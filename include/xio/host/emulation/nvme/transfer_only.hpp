// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Transfer sizes of commands whose data is moved without further effect (NvmeConfig::transfer_only_commands)
/// (NVM Express Base Specification 2.0, section 7; NVM Command Set Specification 1.0, section 3.2.2; Zoned Namespace
/// Command Set Specification 1.1, section 3.4).

#include <cstdint>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

namespace transfer_only {

inline bool known(uint8_t opcode) {
  switch (opcode) {
    case spec::io_reservation_register:
    case spec::io_reservation_report:
    case spec::io_reservation_acquire:
    case spec::io_reservation_release:
    case spec::io_management_receive:
    case spec::io_management_send:
    case spec::io_copy:
    case spec::io_zone_send:
    case spec::io_zone_receive:
    case spec::io_zone_append: return true;
    default: return false;
  }
}

/// Returns whether data moves towards the host: bits 1:0 of the opcode encode the direction.
inline bool to_host(uint8_t opcode) { return (opcode & 3) == 2; }

/// Size of a zone descriptor extension in bytes, for all namespaces.
constexpr uint64_t zone_extension_bytes = 64;

inline uint64_t bytes(const nvme::Sqe& sqe, uint32_t block_shift) {
  switch (static_cast<uint8_t>(sqe.cdw0)) {
    case spec::io_reservation_register:
    case spec::io_reservation_acquire: return 16;
    case spec::io_reservation_release: return 8;
    case spec::io_reservation_report: return (uint64_t{sqe.cdw10} + 1) * 4;
    case spec::io_management_receive: return (uint64_t{sqe.cdw11} + 1) * 4;
    case spec::io_management_send: return (sqe.cdw10 & 0xff) == 1 ? (uint64_t{sqe.cdw10 >> 16} + 1) * 2 : 0;
    case spec::io_copy: return (uint64_t{sqe.cdw12 & 0xff} + 1) * ((sqe.cdw12 >> 8 & 1) != 0 ? 40 : 32);
    case spec::io_zone_send: return (sqe.cdw13 & 0xff) == 0x10 ? zone_extension_bytes : 0;
    case spec::io_zone_receive: return (uint64_t{sqe.cdw12} + 1) * 4;
    case spec::io_zone_append: return ((sqe.cdw12 & 0xffff) + uint64_t{1}) << block_shift;
    default: return 0;
  }
}

}  // namespace transfer_only

}  // namespace emulation

XIO_NAMESPACE_END
