// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Commands of an I/O queue: builders and encoding to submission queue entries (NVM Command Set Specification
/// 1.0, section 3.2; Zoned Namespace Command Set 1.1 for zone_append).
///
///     constexpr auto command = nvme::write(lba, 8).nsid(1).force_unit_access();
///     const nvme::Sqe entry = nvme::encode(command, cid, pointer);
///
/// A command is the dwords of its entry without the command identifier and the data pointer: building one costs as much
/// as storing the dwords, nothing for constants. Setters return a modified copy.

#include <xio/config.hpp>
#include <xio/vendors/nvme/layout.hpp>
#include <xio/vendors/nvme/opcodes.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Bits of command dword 12 of commands with a range of blocks.
namespace cdw12 {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t storage_tag_check = 1u << 24;
constexpr uint32_t deallocate = 1u << 25;           ///< Write Zeroes: DEAC
constexpr uint32_t remap_reference_tag = 1u << 25;  ///< Zone Append: PIREMAP
constexpr uint32_t check_reference_tag = 1u << 26;
constexpr uint32_t check_application_tag = 1u << 27;
constexpr uint32_t check_guard = 1u << 28;
constexpr uint32_t protection_action = 1u << 29;
constexpr uint32_t force_unit_access = 1u << 30;
constexpr uint32_t limited_retry = 1u << 31;
/// @}
}  // namespace cdw12

/// Attributes of Dataset Management; they apply to all ranges of a command.
namespace dsm {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t integral_read = 1u << 0;
constexpr uint32_t integral_write = 1u << 1;
constexpr uint32_t deallocate = 1u << 2;
/// @}
}  // namespace dsm

/// Hints for a read or write: bits 7:0 of command dword 13; may be combined.
namespace hint {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t typical = 1;
constexpr uint32_t infrequent = 2;
constexpr uint32_t read_mostly = 3;
constexpr uint32_t write_mostly = 4;
constexpr uint32_t frequent = 5;
constexpr uint32_t once = 6;
constexpr uint32_t speculative_read = 7;
constexpr uint32_t overwritten_soon = 8;
constexpr uint32_t latency_idle = 1u << 4;
constexpr uint32_t latency_normal = 2u << 4;
constexpr uint32_t latency_low = 3u << 4;
constexpr uint32_t sequential = 1u << 6;
constexpr uint32_t incompressible = 1u << 7;
/// @}
}  // namespace hint

/// Special values of CommandWords::data.
namespace data_size {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t largest = 1u << 31;       ///< most bytes supported by the PRP and SGL builders
constexpr uint32_t of_blocks = 0xfffffffd;   ///< the size of the command's logical blocks
constexpr uint32_t impossible = 0xfffffffe;  ///< the arguments of a builder cannot be encoded
constexpr uint32_t unknown = 0xffffffff;     ///< unknown: see CommandSetters::moves()
/// @}
}  // namespace data_size

/// Whether a command names a range of logical blocks. Its builder says so: an opcode means something else in another
/// command set.
enum class Blocks : uint32_t {
  unsaid,  ///< it names none unless range() is called
  none,    ///< dwords 10 and 11 hold something else
  zone,    ///< as many as follow the write pointer of the zone at lba()
  range,   ///< those from lba() on
};

/// The words of a command, in the order of its entry.
struct CommandWords {
  uint32_t cdw0 = 0;  ///< opcode 7:0, fused operation 9:8; encode() adds the command identifier and PSDT
  uint32_t namespace_id = 0;
  uint32_t cdw2 = 0;
  uint32_t cdw3 = 0;
  uint64_t mptr = 0;
  uint32_t cdw10 = 0;
  uint32_t cdw11 = 0;
  uint32_t cdw12 = 0;  ///< without the number of blocks
  uint32_t cdw13 = 0;
  uint32_t cdw14 = 0;
  uint32_t cdw15 = 0;
  uint32_t last_block = 0;             ///< logical blocks - 1; 0 for commands without a range of blocks
  uint32_t data = data_size::unknown;  ///< bytes that the device moves, 0: none; or one of namespace data_size
  Blocks named = Blocks::unsaid;       ///< whether lba() and blocks() mean anything
  /// Command set that gives the opcode its meaning: a queue refuses commands of another one.
  CommandSet set = CommandSet::nvm;
  uint8_t unused[3] = {0, 0, 0};  ///< a compiler may load and compare the whole word

  XIO_HOST_DEVICE constexpr uint8_t opcode() const { return static_cast<uint8_t>(cdw0); }
  /// First logical block.
  XIO_HOST_DEVICE constexpr uint64_t lba() const { return uint64_t{cdw11} << 32 | cdw10; }
  /// Number of logical blocks of a command with a range of blocks.
  XIO_HOST_DEVICE constexpr uint32_t blocks() const { return last_block + 1; }
};

/// Setters of a type that holds the words of a command.
/// @snippet commands.cpp setters
template <class Derived>
struct CommandSetters : CommandWords {
  /// Namespace, if it is not the queue's own. Its format is not checked: it must have the queue's block size, and no
  /// metadata but the command's. The queue does not know the data size then: set it with moves(), or submit with a data
  /// pointer.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived nsid(uint32_t value) const {
    Derived changed = self();
    changed.namespace_id = value;
    return changed;
  }
  /// The data is on the medium, or read from it, before the command completes.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived force_unit_access() const { return flags(cdw12::force_unit_access); }
  /// The device limits its error recovery; for callers that have another copy.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived limited_retry() const { return flags(cdw12::limited_retry); }
  /// The device inserts (write) or strips (read) protection information: PRACT.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived protection_action() const { return flags(cdw12::protection_action); }
  /// Parts of the protection information that the device checks: cdw12::check_guard and others, combined.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived protection_check(uint32_t parts) const { return flags(parts); }
  /// The device checks the storage tag of the protection information: STC.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived storage_tag_check() const { return flags(cdw12::storage_tag_check); }
  /// Write Zeroes: the device may deallocate the blocks.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived deallocate() const { return flags(cdw12::deallocate); }
  /// Zone Append: the device remaps the reference tags to the blocks written.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived remap_reference_tag() const {
    return flags(cdw12::remap_reference_tag);
  }
  /// Any bits of command dword 12.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived flags(uint32_t value) const {
    Derived changed = self();
    changed.cdw12 |= value;
    return changed;
  }
  /// Hints of namespace hint, combined.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived hints(uint32_t value) const {
    Derived changed = self();
    changed.cdw13 = (changed.cdw13 & ~0xffu) | (value & 0xff);
    return changed;
  }
  /// Directive of a write: 4-bit type (1: streams, 2: data placement) and its 16-bit specific value.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived directive(uint32_t type, uint32_t specific) const {
    Derived changed = self();
    changed.cdw12 = (changed.cdw12 & ~(0xfu << 20)) | (type & 0xf) << 20;
    changed.cdw13 = (changed.cdw13 & 0xffffu) | specific << 16;
    return changed;
  }
  /// Placement of a write's data: the index of one of the namespace's placement handles, or a placement identifier with
  /// a reclaim group (Flexible Data Placement).
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived placement(uint32_t handle) const { return directive(2, handle); }
  /// Initial reference tag (reads: expected) of the first block.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived reference_tag(uint32_t value) const {
    Derived changed = self();
    changed.cdw14 = value;
    return changed;
  }
  /// Application tag and the mask of its checked bits, 16 bits each.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived application_tag(uint32_t tag, uint32_t mask) const {
    Derived changed = self();
    changed.cdw15 = mask << 16 | (tag & 0xffff);
    return changed;
  }
  /// Bus address of the metadata, if it is not part of the blocks. Pieces of a split command do not advance it.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived metadata(uint64_t bus) const {
    Derived changed = self();
    changed.mptr = bus;
    return changed;
  }
  /// First of two commands that the device executes as one: the second is the next entry of the queue, and one doorbell
  /// announces both.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived fused_first() const {
    Derived changed = self();
    changed.cdw0 |= fused_first_bit;
    return changed;
  }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived fused_second() const {
    Derived changed = self();
    changed.cdw0 |= fused_second_bit;
    return changed;
  }
  /// A range of 1 to 65536 blocks. The queue checks that they exist, and splits a long command that moves just them, or
  /// nothing. A command whose dword 10 or 11 was set otherwise becomes impossible.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived range(uint64_t lba, uint32_t blocks) const {
    Derived changed = starts_at(lba);
    changed.last_block = blocks - 1;
    if (self().named == Blocks::none) changed.data = data_size::impossible;
    if (self().named == Blocks::unsaid) changed.named = Blocks::range;
    return changed;
  }
  /// Another first block. A command without a range does not get one: it has an address only.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived starts_at(uint64_t lba) const {
    Derived changed = self();
    changed.cdw10 = static_cast<uint32_t>(lba);
    changed.cdw11 = static_cast<uint32_t>(lba >> 32);
    if (changed.named == Blocks::unsaid) changed.named = Blocks::none;
    return changed;
  }
  /// Part of this command from its block `first` on. With protection information the reference tag advances by block,
  /// as types 1 and 2 require.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived piece(uint64_t first, uint32_t blocks) const {
    Derived changed = starts_at(lba() + first);
    changed.last_block = blocks - 1;
    constexpr uint32_t protection = cdw12::protection_action | cdw12::check_reference_tag;
    if ((changed.cdw12 & protection) != 0) changed.cdw14 += static_cast<uint32_t>(first);
    return changed;
  }
  /// Bytes of data that the device moves, up to data_size::largest; 0: none. For commands whose data size the library
  /// does not know. The data pointer covers this size only: a device that moves more accesses other memory.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived moves(uint32_t bytes) const {
    Derived changed = self();
    changed.data = bytes;
    return changed;
  }
  /// Command set of an opcode that command() takes for one of the NVM Command Set, as of vendors' commands for other
  /// namespaces.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived of_set(CommandSet value) const {
    Derived changed = self();
    changed.set = value;
    return changed;
  }
  /// Raw command dword 2, 3 or 10 to 15, for fields without a setter. Other numbers have no effect. Dwords 10 to 13 may
  /// hold a length: call moves() after setting one, unless the command is submitted with a data pointer or without
  /// data. A command without a range whose dword 10 or 11 is set does not get one.
  [[nodiscard]] XIO_HOST_DEVICE constexpr Derived dword(uint32_t number, uint32_t value) const {
    Derived changed = self();
    if (number >= 10 && number <= 13) changed.data = data_size::unknown;
    if ((number == 10 || number == 11) && changed.named == Blocks::unsaid) changed.named = Blocks::none;
    switch (number) {
      case 2: changed.cdw2 = value; break;
      case 3: changed.cdw3 = value; break;
      case 10: changed.cdw10 = value; break;
      case 11: changed.cdw11 = value; break;
      case 12: changed.cdw12 = value; break;
      case 13: changed.cdw13 = value; break;
      case 14: changed.cdw14 = value; break;
      case 15: changed.cdw15 = value; break;
      default: break;
    }
    return changed;
  }

 private:
  XIO_HOST_DEVICE constexpr const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// A command without its data pointer. Trivially copyable.
struct Command : CommandSetters<Command> {};

/// Data pointer of a command, as computed by xio/vendors/nvme/prp.hpp and sgl.hpp.
struct DataPointer {
  uint64_t prp1 = 0;  ///< PRP entry 1, or the first 8 bytes of an SGL descriptor
  uint64_t prp2 = 0;  ///< PRP entry 2 or list, or the last 8 bytes of an SGL descriptor
  bool sgl = false;
};

/// Encodes the entry of a command. The number of blocks is 1 to 65536 (the submission path rejects others beforehand);
/// `cid` has 16 bits.
/// @snippet commands.cpp encode
XIO_DEVICE constexpr Sqe encode(const CommandWords& command, uint32_t cid, const DataPointer& data = {}) {
  Sqe entry{};
  entry.cdw0 = command.cdw0 | (data.sgl ? psdt_sgl : psdt_prp) | cid << 16;
  entry.nsid = command.namespace_id;
  entry.cdw2 = command.cdw2;
  entry.cdw3 = command.cdw3;
  entry.mptr = command.mptr;
  entry.prp1 = data.prp1;
  entry.prp2 = data.prp2;
  entry.cdw10 = command.cdw10;
  entry.cdw11 = command.cdw11;
  entry.cdw12 = command.cdw12 | command.last_block;
  entry.cdw13 = command.cdw13;
  entry.cdw14 = command.cdw14;
  entry.cdw15 = command.cdw15;
  return entry;
}

namespace detail {
/// CommandWords::data of a command that consists of an opcode and a range of blocks.
XIO_DEVICE constexpr uint32_t data_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::read:
    case Opcode::write:
    case Opcode::compare:
    case Opcode::zone_append: return data_size::of_blocks;
    case Opcode::flush:
    case Opcode::write_zeroes:
    case Opcode::verify:
    case Opcode::write_uncorrectable: return 0;
    default: return data_size::unknown;
  }
}
/// CommandWords::data of a command whose data is `count` structures, 1 to 256.
XIO_DEVICE constexpr uint32_t data_of_ranges(uint32_t count, uint32_t bytes_each) {
  return count - 1 < 256 ? count * bytes_each : data_size::impossible;
}
}  // namespace detail

/// Any command of an I/O queue; set its words with range() and dword(), and its data size with moves(). Of an opcode of
/// the NVM Command Set with a range() the size is known.
/// @snippet commands.cpp command
XIO_DEVICE constexpr Command command(Opcode opcode) {
  Command result;
  result.cdw0 = static_cast<uint32_t>(opcode);
  result.data = detail::data_of(opcode);
  if (opcode == Opcode::zone_append) result.named = Blocks::zone;
  return result;
}

namespace detail {
XIO_DEVICE constexpr Command block_command(Opcode opcode, uint64_t lba, uint32_t blocks) {
  return command(opcode).range(lba, blocks);
}
}  // namespace detail

/// Reads `blocks` logical blocks, 1 to 65536, from `lba`.
/// @snippet commands.cpp read
XIO_DEVICE constexpr Command read(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::read, lba, blocks);
}
/// Writes `blocks` logical blocks, 1 to 65536, at `lba`.
/// @snippet commands.cpp write
XIO_DEVICE constexpr Command write(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::write, lba, blocks);
}
/// Compares blocks on the medium with the caller's data.
/// @snippet commands.cpp compare
XIO_DEVICE constexpr Command compare(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::compare, lba, blocks);
}
/// Sets blocks to zero; no data is moved.
/// @snippet commands.cpp write_zeroes
XIO_DEVICE constexpr Command write_zeroes(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::write_zeroes, lba, blocks);
}
/// Reads and checks blocks within the device; no data is moved.
/// @snippet commands.cpp verify
XIO_DEVICE constexpr Command verify(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::verify, lba, blocks);
}
/// Marks blocks as invalid, so that reading them fails; for tests of error paths.
/// @snippet commands.cpp write_uncorrectable
XIO_DEVICE constexpr Command write_uncorrectable(uint64_t lba, uint32_t blocks) {
  return detail::block_command(Opcode::write_uncorrectable, lba, blocks);
}
/// Writes at the write pointer of the zone that starts at `zone_lba`; the completion's dw0 and dw1 hold the LBA that
/// was written.
/// @snippet commands.cpp zone_append
XIO_DEVICE constexpr Command zone_append(uint64_t zone_lba, uint32_t blocks) {
  return detail::block_command(Opcode::zone_append, zone_lba, blocks);
}
/// Makes data of all previously completed writes non-volatile.
/// @snippet commands.cpp flush
XIO_DEVICE constexpr Command flush() { return command(Opcode::flush).starts_at(0).of_set(CommandSet::every); }

/// Applies attributes (namespace dsm) to 1 to 256 ranges; the data is an array of DsmRange.
/// @snippet commands.cpp dataset_management
XIO_DEVICE constexpr Command dataset_management(uint32_t ranges, uint32_t attributes) {
  return command(Opcode::dataset_management)
      .dword(10, ranges - 1)
      .dword(11, attributes)
      .moves(detail::data_of_ranges(ranges, sizeof(DsmRange)));
}
/// Deallocates the blocks of 1 to 256 ranges; the data is an array of DsmRange.
/// @snippet commands.cpp deallocate
XIO_DEVICE constexpr Command deallocate(uint32_t ranges) { return dataset_management(ranges, dsm::deallocate); }

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
