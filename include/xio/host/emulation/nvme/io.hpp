// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief I/O commands of the in-process NVMe controller (NVM Command Set Specification 1.0, section 3).

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/key_commands.hpp>
#include <xio/host/emulation/nvme/rules.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/host/emulation/nvme/transfer_only.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Fault that a plan injects into the data of a command.
struct DataFault {
  enum Kind { none, lose, tear, misdirect };
  Kind kind = none;
  uint64_t amount = 0;  ///< tear: bytes that are stored; misdirect: blocks added to the LBA
};

/// Executes commands of I/O queues against the media.
class IoCommands {
 public:
  explicit IoCommands(ControllerCore& core) : core_(core), key_commands_(core) {}

  /// Moves the data and returns the status of the completion without the phase bit.
  /// @param result  dword 0 of the completion
  uint16_t execute(const nvme::Sqe& sqe, const DataFault& fault, uint32_t& result) {
    KeyValues* const keys = core_.keys(sqe.nsid);
    return keys ? key_commands_.execute(sqe, *keys, result) : execute(sqe, fault);
  }

  /// Returns whether commands have SLBA in dwords 10 and 11 and a number of blocks in dword 12.
  static bool names_blocks(uint8_t opcode) {
    return moves_data(opcode) || opcode == spec::io_write_uncorrectable || opcode == spec::io_write_zeroes ||
           opcode == spec::io_verify;
  }
  /// The same of an entry's command: those with keys do not.
  bool names_blocks(const nvme::Sqe& sqe) const {
    return !core_.keys(sqe.nsid) && names_blocks(static_cast<uint8_t>(sqe.cdw0));
  }
  /// What is malformed in an entry, or null.
  const char* wrong(const nvme::Sqe& sqe) const {
    if (core_.keys(sqe.nsid)) return key_rules_.check(sqe, KeyCommands::moves_data(sqe));
    return rules_.check(sqe, moves_data(sqe));
  }
  /// Returns whether the data pointer of an entry is used, for a namespace with blocks.
  static bool moves_data(const nvme::Sqe& sqe) {
    const auto opcode = static_cast<uint8_t>(sqe.cdw0);
    if (transfer_only::known(opcode)) return transfer_only::bytes(sqe, 9) != 0;
    return opcode == spec::io_dataset_management || moves_data(opcode);
  }
  static uint64_t first_lba(const nvme::Sqe& sqe) { return sqe.cdw10 | uint64_t{sqe.cdw11} << 32; }
  static uint64_t block_count(const nvme::Sqe& sqe) { return (sqe.cdw12 & 0xffffu) + 1; }

 private:
  uint16_t execute(const nvme::Sqe& sqe, const DataFault& fault) {
    const auto opcode = static_cast<uint8_t>(sqe.cdw0);
    if (!core_.valid_nsid(sqe.nsid)) return spec::final_status(spec::invalid_namespace);
    if (opcode == spec::io_flush && sqe.nsid == spec::broadcast_namespace) {
      for (Medium& medium : core_.media) medium.flush();
      return unfused(sqe);
    }
    Medium* const medium = core_.medium(sqe.nsid);
    if (!medium) return spec::final_status(spec::invalid_field);
    if (core_.config.transfer_only_commands && transfer_only::known(opcode)) return transfer(sqe, *medium);
    const bool known = opcode == spec::io_flush || opcode == spec::io_dataset_management || names_blocks(opcode);
    if (!known) return spec::final_status(spec::invalid_opcode);
    if (const uint16_t status = unfused(sqe)) return status;
    if (opcode == spec::io_flush) {
      medium->flush();
      return spec::success;
    }
    if (medium->write_protected() && changes_blocks(opcode)) return spec::final_status(spec::write_protected);
    if (opcode == spec::io_dataset_management) return dataset_management(sqe, *medium);

    const uint64_t lba = first_lba(sqe);
    const uint64_t count = block_count(sqe);
    const uint64_t bytes = count << medium->block_shift();
    if (exceeds(sqe, bytes, limit_of(opcode))) return spec::final_status(spec::invalid_field);
    if (!medium->contains(lba, count)) return spec::final_status(spec::lba_out_of_range);
    if ((opcode == spec::io_read || opcode == spec::io_write) && forces_unit_access(sqe))
      core_.counters.forced_unit_access.add();

    switch (opcode) {
      case spec::io_read: return read(sqe, *medium, target(*medium, lba, count, fault), count, bytes);
      case spec::io_write: return write(sqe, *medium, target(*medium, lba, count, fault), count, bytes, fault);
      case spec::io_compare: return compare(sqe, *medium, lba, count, bytes);
      case spec::io_verify: return medium->readable(lba, count) ? spec::success : spec::unrecovered_read;
      case spec::io_write_zeroes:
        // Regardless of the deallocate bit: deallocated blocks read as zeros.
        medium->zero(lba, count);
        medium->mark(lba, count, false);
        return spec::success;
      default:  // write uncorrectable
        medium->mark(lba, count, true);
        return spec::success;
    }
  }

  static bool changes_blocks(uint8_t opcode) {
    return opcode == spec::io_write || opcode == spec::io_write_zeroes || opcode == spec::io_write_uncorrectable ||
           opcode == spec::io_dataset_management;
  }
  static bool forces_unit_access(const nvme::Sqe& sqe) { return (sqe.cdw12 >> 30 & 1) != 0; }
  static bool moves_data(uint8_t opcode) {
    return opcode == spec::io_read || opcode == spec::io_write || opcode == spec::io_compare;
  }

  /// Size limit of a command's blocks in bytes; 0: no limit.
  uint64_t limit_of(uint8_t opcode) const {
    switch (opcode) {
      case spec::io_verify: return core_.limit(core_.config.vsl);
      case spec::io_write_zeroes: return core_.limit(core_.config.wzsl);
      case spec::io_write_uncorrectable: return core_.limit(core_.config.wusl);
      default: return core_.max_transfer();
    }
  }

  /// Returns whether `amount` exceeds a limit (0: no limit), and records the violation.
  bool exceeds(const nvme::Sqe& sqe, uint64_t amount, uint64_t limit) {
    const bool too_much = limit != 0 && amount > limit;
    if (too_much)
      core_.violations.add(
          NvmeViolation::limit, core_.data.queue(),
          "opcode " + std::to_string(sqe.cdw0 & 0xff) + ": exceeds the controller's limit for one command");
    return too_much;
  }

  /// Executes a transfer-only command.
  uint16_t transfer(const nvme::Sqe& sqe, const Medium& medium) {
    const auto opcode = static_cast<uint8_t>(sqe.cdw0);
    const uint64_t bytes = transfer_only::bytes(sqe, medium.block_shift());
    if (exceeds(sqe, bytes, core_.max_transfer())) return spec::final_status(spec::invalid_field);
    if (bytes == 0) return spec::success;
    const bool to_host = transfer_only::to_host(opcode);
    if (const uint16_t status = core_.data.map(sqe, bytes, to_host, true)) return status;
    std::vector<unsigned char> data(bytes, 0xaa);
    if (to_host)
      core_.data.copy_to_host(data.data());
    else
      core_.data.copy_from_host(data.data(), bytes);
    return spec::success;
  }

  static uint16_t unfused(const nvme::Sqe& sqe) {
    return (sqe.cdw0 >> 8 & 3) == 0 ? uint16_t{spec::success} : spec::final_status(spec::invalid_field);
  }

  static uint64_t target(const Medium& medium, uint64_t lba, uint64_t count, const DataFault& fault) {
    if (fault.kind != DataFault::misdirect) return lba;
    return (lba + fault.amount) % (medium.blocks() - count + 1);
  }

  uint16_t read(const nvme::Sqe& sqe, Medium& medium, uint64_t lba, uint64_t count, uint64_t bytes) {
    if (!medium.readable(lba, count)) return spec::unrecovered_read;
    if (const uint16_t status = core_.data.map(sqe, bytes, true, true)) return status;
    if (!core_.config.discard_data) core_.data.copy_to_host(medium.block(lba));
    core_.counters.bytes_read.add(bytes);
    return spec::success;
  }

  uint16_t write(const nvme::Sqe& sqe, Medium& medium, uint64_t lba, uint64_t count, uint64_t bytes,
                 const DataFault& fault) {
    if (const uint16_t status = core_.data.map(sqe, bytes, false, true)) return status;
    core_.counters.bytes_written.add(bytes);
    if (fault.kind == DataFault::lose) return spec::success;
    if (!core_.config.discard_data)
      core_.data.copy_from_host(medium.block(lba),
                                fault.kind == DataFault::tear ? std::min(fault.amount, bytes) : bytes);
    if (forces_unit_access(sqe)) medium.flush(lba, count);
    medium.mark(lba, count, false);
    return spec::success;
  }

  uint16_t compare(const nvme::Sqe& sqe, Medium& medium, uint64_t lba, uint64_t count, uint64_t bytes) {
    if (!medium.readable(lba, count)) return spec::unrecovered_read;
    if (const uint16_t status = core_.data.map(sqe, bytes, false, true)) return status;
    if (core_.config.discard_data || core_.data.equals(medium.block(lba))) return spec::success;
    return spec::compare_failure;
  }

  uint16_t dataset_management(const nvme::Sqe& sqe, Medium& medium) {
    struct Range {
      uint32_t attributes;
      uint32_t blocks;
      uint64_t lba;
    };
    const uint32_t count = (sqe.cdw10 & 0xffu) + 1;
    const NvmeConfig& limits = core_.config;
    if (exceeds(sqe, count, limits.dmrl)) return spec::final_status(spec::command_size_limit);
    std::array<Range, 256> ranges;
    if (const uint16_t status = core_.data.map(sqe, count * sizeof(Range), false, true)) return status;
    core_.data.copy_from_host(reinterpret_cast<unsigned char*>(ranges.data()), count * sizeof(Range));
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < count; ++i) {
      constexpr uint32_t attributes = 0xff00073f;  // access size, WP, SW, SR, AL, AF
      if ((ranges[i].attributes & ~attributes) != 0)
        core_.violations.add(NvmeViolation::reserved, core_.data.queue(),
                             "reserved context attributes of a range are set");
      blocks += ranges[i].blocks;
      if (exceeds(sqe, ranges[i].blocks, limits.dmrsl) || exceeds(sqe, blocks, limits.dmsl))
        return spec::final_status(spec::command_size_limit);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (!medium.contains(ranges[i].lba, ranges[i].blocks)) return spec::final_status(spec::lba_out_of_range);
    }
    if ((sqe.cdw11 >> 2 & 1) == 0) return spec::success;  // hints only
    for (uint32_t i = 0; i < count; ++i) {
      medium.zero(ranges[i].lba, ranges[i].blocks);
      medium.mark(ranges[i].lba, ranges[i].blocks, false);
    }
    return spec::success;
  }

  ControllerCore& core_;
  KeyCommands key_commands_;
  const EntryRules rules_{EntryRules::io};
  const EntryRules key_rules_{EntryRules::key_values};
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
