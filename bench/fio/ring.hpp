// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Between a job of fio and a wave that works for it: a ring of commands, and one of answers.
///
/// All of it lies in host memory, but for what the kernel keeps for itself. Words have the byte order of the host.

#include <xio/device/core/deadline.hpp>
#include <xio/device/nvme/handle.hpp>
#include <xio/vendors/nvme/encode.hpp>

namespace fio {

/// A command of the host: what differs from one to the next. Two are in a line of memory.
struct alignas(32) Descriptor {
  uint64_t address;  ///< command dwords 10 and 11
  uint64_t bus;      ///< bus address of the data, which is contiguous for the controller
  uint32_t opcode;   ///< bits 7:0
  uint32_t cdw12;
  uint32_t bytes;  ///< of data, at most nvme::data_size::largest; 0: none
  uint32_t reserved;
};
static_assert(sizeof(Descriptor) == 32, "two are in a line");

/// @param blocks_shift log2 of the block size of the command's namespace
constexpr Descriptor describe(const xio::nvme::Command& command, uint64_t bus, uint32_t block_shift) {
  Descriptor one{};
  one.address = command.lba();
  one.bus = bus;
  one.opcode = command.cdw0;
  one.cdw12 = command.cdw12 | command.last_block;
  one.bytes = command.data == xio::nvme::data_size::of_blocks ? command.blocks() << block_shift : command.data;
  return one;
}

/// The answer to a command, in one word: the host sees all of it, or none.
struct Answer {
  /// @param place number of the answer in the order in which commands end, from 0
  /// @param ring  log2 of the entries of the ring of answers
  XIO_HOST_DEVICE static constexpr uint64_t pack(uint64_t place, uint32_t ring, uint32_t slot, uint16_t status_field) {
    return lap(place, ring) << 32 | uint64_t{status_field} << 16 | slot;
  }
  /// Whether `word`, found where the answer of this number will be, is that answer, and not the one before.
  XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t place, uint32_t ring) {
    return word >> 32 == lap(place, ring);
  }
  /// The number of the command modulo that of the queue's completion slots.
  XIO_HOST_DEVICE static constexpr uint32_t slot(uint64_t word) { return static_cast<uint32_t>(word & 0xffff); }
  /// nvme::Completion::status_field.
  XIO_HOST_DEVICE static constexpr uint16_t status_field(uint64_t word) { return static_cast<uint16_t>(word >> 16); }

 private:
  XIO_HOST_DEVICE static constexpr uint64_t lap(uint64_t place, uint32_t ring) {
    return ((place >> ring) + 1) & 0xffffffff;
  }
};

/// The word by which the host tells how many commands it has posted, and that it posts no more.
struct Posted {
  static constexpr uint64_t ends = uint64_t{1} << 63;      ///< the kernel ends when all commands are answered
  static constexpr uint64_t abandons = uint64_t{1} << 62;  ///< the kernel ends at once

  XIO_HOST_DEVICE static constexpr uint64_t number(uint64_t word) { return word & (abandons - 1); }
};

/// What a wave leaves to the host when it ends.
struct alignas(64) Report {
  uint64_t left;     ///< number of the last launch in which it has ended, stored last
  uint32_t refusal;  ///< Status::pack() of what the queue refused a command with; 0: nothing
};

/// What a wave leaves to that of the next launch, in a line of its own; zeroed before the first.
struct alignas(128) Progress {
  uint64_t taken;  ///< commands that were submitted
  uint64_t given;  ///< answers
};

/// Of one wave: each block of a kernel has its own. Pointers are addresses of the executing side.
///
/// The host keeps the number of commands without an answer at or below the queue's depth, and posts none whose
/// completion slot an earlier one still has. Nobody else uses the queue.
struct RingJob {
  xio::nvme::QueueHandle queue;
  const Descriptor* commands;  ///< at least twice the queue's depth of them
  uint64_t* answers;           ///< likewise, zeroed
  const uint64_t* posted;      ///< Posted
  Report* report;
  Progress* progress;
  uint32_t commands_mask;  ///< entries - 1; a power of two
  uint32_t answers_shift;  ///< log2 of the entries
  xio::Duration patience;  ///< how long nothing happens before the wave ends, and leaves the rest to another launch
};

}  // namespace fio
