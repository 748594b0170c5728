// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Properties of a command that the submission path needs: its command set, whether it addresses blocks, whether
/// it may be split, its data size, and the controller's limits for it.

#include <xio/device/nvme/handle.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Whether queues of `Policy` have the command: it is of the command set of their namespaces, or of each one. Nothing
/// of it is left in a kernel whose commands come from builders, but for queues of key-value namespaces.
template <class Policy>
XIO_DEVICE_INLINE constexpr bool is_offered(const CommandWords& command, [[maybe_unused]] const QueueHandle& queue) {
  if constexpr (!Policy::argument_checks) {
    return true;
  } else if constexpr (Policy::key_values) {
    const bool stores_values = queue.command_set == static_cast<uint32_t>(CommandSet::key_value);
    return stores_values && (command.set == CommandSet::key_value || command.set == CommandSet::every);
  } else {
    return command.set != CommandSet::key_value;
  }
}

/// Whether the command addresses a range of logical blocks.
XIO_DEVICE_INLINE constexpr bool addresses_blocks(const CommandWords& command) {
  return command.named == Blocks::range;
}

/// Whether the command's entry holds a number of blocks.
XIO_DEVICE_INLINE constexpr bool counts_blocks(const CommandWords& command) {
  return addresses_blocks(command) || command.named == Blocks::zone;
}

/// Whether the command may be split. Fused commands, Zone Append and commands whose data is not their blocks may not.
XIO_DEVICE_INLINE constexpr bool splittable(const CommandWords& command) {
  return addresses_blocks(command) && (command.cdw0 & (fused_first_bit | fused_second_bit)) == 0 &&
         (command.data == data_size::of_blocks || command.data == 0);
}

/// Bytes of data that the command moves, with logical blocks of `1 << block_shift` bytes. Larger than
/// data_size::largest if the size is unknown or exceeds what the library moves.
XIO_DEVICE_INLINE constexpr uint64_t data_bytes(const CommandWords& command, uint32_t block_shift) {
  return command.data == data_size::of_blocks ? (uint64_t{command.last_block} + 1) << block_shift : command.data;
}

/// Maximum number of logical blocks of one command; larger commands are split or refused. 0: the command is refused,
/// since the controller would take the metadata from bus address 0, or put it there.
XIO_DEVICE_INLINE constexpr uint32_t most_blocks(const CommandWords& command, const QueueHandle& queue) {
  uint32_t own = 0;
  switch (static_cast<Opcode>(command.opcode())) {
    case Opcode::verify: own = queue.verify_blocks; break;
    case Opcode::write_zeroes: own = queue.write_zeroes_blocks; break;
    case Opcode::write_uncorrectable: own = queue.uncorrectable_blocks; break;
    default: break;
  }
  if (own == 0 && command.mptr != 0) own = queue.metadata_blocks;
  if (own == 0 && (command.cdw12 & cdw12::protection_action) != 0) own = queue.protection_blocks;
  return own != 0 ? own : queue.max_blocks;
}

/// Whether a command that is not split is within the controller's limits.
/// @param bytes size of its data
XIO_DEVICE_INLINE constexpr bool fits_whole(const CommandWords& command, uint64_t bytes, const QueueHandle& queue) {
  uint32_t most = queue.max_bytes;
  if (command.named == Blocks::zone && queue.append_bytes != 0) most = queue.append_bytes;
  const bool has_ranges =
      command.set == CommandSet::nvm && command.opcode() == static_cast<uint8_t>(Opcode::dataset_management);
  if (has_ranges && queue.dsm_ranges != 0 && (command.cdw10 & 0xff) >= queue.dsm_ranges) return false;
  if (counts_blocks(command) && command.data != 0 && most_blocks(command, queue) == 0) return false;
  if (addresses_blocks(command) && command.data == 0) return command.last_block < most_blocks(command, queue);
  return command.last_block <= 0xffff && bytes <= (most != 0 ? most : data_size::largest);
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
