// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the submission path must know of a command: does it name blocks, may it be split, how much data it
/// moves.

#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// Whether the command names a range of logical blocks.
XIO_DEVICE_INLINE constexpr bool addresses_blocks(const CommandWords& command) {
  switch (static_cast<Opcode>(command.opcode())) {
    case Opcode::read:
    case Opcode::write:
    case Opcode::compare:
    case Opcode::write_zeroes:
    case Opcode::verify:
    case Opcode::write_uncorrectable: return true;
    default: return false;
  }
}

/// Whether the command may be carried out in pieces. A fused pair, and an append, may not.
XIO_DEVICE_INLINE constexpr bool splittable(const CommandWords& command) {
  return addresses_blocks(command) && (command.cdw0 & (fused_first_bit | fused_second_bit)) == 0;
}

/// Bytes of data that the command moves, where logical blocks have `1 << block_shift` bytes. Commands that are not
/// known here move at most one memory page, and none where they are submitted without data.
XIO_DEVICE_INLINE constexpr uint64_t data_bytes(const CommandWords& command, uint32_t block_shift,
                                                uint32_t page_shift) {
  switch (static_cast<Opcode>(command.opcode())) {
    case Opcode::read:
    case Opcode::write:
    case Opcode::compare:
    case Opcode::zone_append: return (uint64_t{command.last_block} + 1) << block_shift;
    case Opcode::dataset_management: return ((command.cdw10 & 0xff) + 1) * uint64_t{16};
    case Opcode::copy: return ((command.cdw12 & 0xff) + 1) * uint64_t{32};
    default: return uint64_t{1} << page_shift;
  }
}

}  // namespace nvme

XIO_NAMESPACE_END
