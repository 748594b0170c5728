// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Identify data of a controller and its namespaces, kept on the host.

#include <array>
#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/opcodes.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Converts a text field of identify data to a string that can be shown: what is not printable ASCII, as the
/// specification wants it to be, is escaped (printable()).
inline std::string to_string(const nvme::Text& text) {
  return printable(std::string(reinterpret_cast<const char*>(text.data), text.bytes));
}

/// A copy of the 4096 bytes that an Identify command returns.
class IdentifyPage {
 public:
  IdentifyPage() = default;
  explicit IdentifyPage(const DmaBuffer& from) {
    std::memcpy(bytes_.data(), from.as<decltype(bytes_)>(), bytes_.size());
  }
  explicit IdentifyPage(const std::array<uint8_t, nvme::identify_bytes>& from) : bytes_(from) {}
  const uint8_t* data() const { return bytes_.data(); }

 private:
  std::array<uint8_t, nvme::identify_bytes> bytes_{};
};

/// Converts a limit in identify data, a power of two of the smallest memory page, to bytes; 0: no limit.
/// @param smallest_page_shift  12 + CAP.MPSMIN
inline uint64_t limit_bytes(uint32_t power, uint32_t smallest_page_shift) {
  const uint32_t shift = power + smallest_page_shift;
  return power == 0 || shift > 63 ? 0 : uint64_t{1} << shift;
}

/// Limits of single commands, as far as the controller reports them. Bytes of the blocks that the command addresses, or
/// of the data that it moves; 0: no limit.
struct CommandLimits {
  uint64_t transfer_bytes = 0;       ///< of data (MDTS)
  uint64_t verify_bytes = 0;         ///< VSL
  uint64_t write_zeroes_bytes = 0;   ///< WZSL; 0: transfer_bytes is used, conservatively
  uint64_t uncorrectable_bytes = 0;  ///< WUSL
  uint64_t append_bytes = 0;         ///< ZASL; 0: transfer_bytes is used
  uint32_t dsm_ranges = 0;           ///< DMRL: maximum number of ranges of Dataset Management
  uint32_t dsm_range_blocks = 0;     ///< DMRSL: logical blocks of one range
  uint64_t dsm_blocks = 0;           ///< DMSL: logical blocks of all ranges

  void take(const nvme::IdentifyControllerNvm& data, uint32_t smallest_page_shift) {
    verify_bytes = limit_bytes(data.vsl(), smallest_page_shift);
    write_zeroes_bytes = limit_bytes(data.wzsl(), smallest_page_shift);
    uncorrectable_bytes = limit_bytes(data.wusl(), smallest_page_shift);
    dsm_ranges = data.dmrl();
    dsm_range_blocks = data.dmrsl();
    dsm_blocks = data.dmsl();
  }
  void take(const nvme::IdentifyControllerZoned& data, uint32_t smallest_page_shift) {
    append_bytes = limit_bytes(data.zasl(), smallest_page_shift);
  }
};

/// Identify Controller: the fields that the library uses; view() gives all others.
struct ControllerInfo {
  IdentifyPage page;
  std::string serial;  ///< this and the next two can be shown: see to_string(); view() has their bytes
  std::string model;
  std::string firmware;
  uint64_t max_transfer_bytes = 0;  ///< data of one command (MDTS in bytes); 0: no limit
  CommandLimits limits;             ///< of commands with separate limits
  bool shadow_doorbells = false;    ///< Doorbell Buffer Config is supported
  uint32_t max_events = 1;          ///< maximum outstanding Asynchronous Event Requests

  ControllerInfo() = default;
  /// @param smallest_page_shift  log2 of the unit of MDTS: 12 + CAP.MPSMIN
  ControllerInfo(const IdentifyPage& from, uint32_t smallest_page_shift) : page(from) {
    const nvme::IdentifyController data = view();
    serial = to_string(data.serial());
    model = to_string(data.model());
    firmware = to_string(data.firmware());
    max_transfer_bytes = limits.transfer_bytes = limit_bytes(data.mdts(), smallest_page_shift);
    shadow_doorbells = (data.oacs() & nvme::oacs::doorbell_buffer_config) != 0;
    max_events = data.aerl() + 1u;
  }

  nvme::IdentifyController view() const { return {page.data()}; }
};

/// Identify Namespace: the fields that the library uses; view() gives all others.
struct NamespaceInfo {
  IdentifyPage page;
  uint32_t nsid = 0;
  uint64_t blocks = 0;           ///< size in logical blocks; 0: the namespace is not active
  uint32_t block_shift = 0;      ///< log2 of the logical block size in bytes
  uint32_t block_bytes = 0;      ///< logical block size without metadata
  uint32_t metadata_bytes = 0;   ///< per block
  bool extended_blocks = false;  ///< metadata is interleaved with each block's data, not separate
  uint32_t protection_type = 0;  ///< end-to-end protection type 1 to 3; 0: none
  bool write_protected = false;  ///< commands that change it fail (NSATTR bit 0)
  /// As of queues: NVM, but for namespaces that store values under keys. Those have no blocks: see KeyValueInfo.
  nvme::CommandSet command_set = nvme::CommandSet::nvm;

  NamespaceInfo() = default;
  NamespaceInfo(const IdentifyPage& from, uint32_t number) : page(from), nsid(number) {
    const nvme::IdentifyNamespace data = view();
    blocks = data.nsze();
    block_shift = data.format().block_shift();
    block_bytes = block_shift < 32 ? 1u << block_shift : 0;
    metadata_bytes = data.format().metadata_bytes();
    extended_blocks = metadata_bytes != 0 && data.extended_blocks();
    protection_type = data.dps() & 7u;
    write_protected = (data.nsattr() & 1u) != 0;
  }

  nvme::IdentifyNamespace view() const { return {page.data()}; }
};

namespace detail {

/// Why a namespace refuses what changes it, with a remedy; empty if it does not.
/// @param controller  for the message
inline std::string why_write_protected(const NamespaceInfo& info, const std::string& controller) {
  if (!info.write_protected) return {};
  const std::string number = std::to_string(info.nsid);
  return "namespace " + number + " of " + controller +
         " is write protected; end that by Set Features 84h: nvme set-feature /dev/nvmeN -n " + number +
         " -f 0x84 -V 0";
}

}  // namespace detail

/// Identify Namespace of the Key Value Command Set: the fields that the library uses; view() gives all others.
struct KeyValueInfo {
  IdentifyPage page;
  uint32_t nsid = 0;
  uint64_t capacity_bytes = 0;  ///< of keys and values
  uint64_t used_bytes = 0;
  uint32_t longest_key = 0;    ///< bytes; this and the following of the first format
  uint32_t longest_value = 0;  ///< bytes
  uint32_t most_keys = 0;      ///< 0: no limit

  KeyValueInfo() = default;
  KeyValueInfo(const IdentifyPage& from, uint32_t number) : page(from), nsid(number) {
    const nvme::IdentifyNamespaceKeyValue data = view();
    capacity_bytes = data.nsze();
    used_bytes = data.nuse();
    longest_key = data.format().longest_key();
    longest_value = data.format().longest_value();
    most_keys = data.format().most_keys();
  }

  nvme::IdentifyNamespaceKeyValue view() const { return {page.data()}; }
};

/// Returns the command set named by a namespace's identification descriptors (CNS 03h); NVM if they name none. A
/// descriptor has a type, a length, two reserved bytes, and `length` more bytes (Base Specification 2.0, figure 277).
inline nvme::CommandSet command_set_of(const IdentifyPage& descriptors) {
  constexpr size_t head = 4;
  constexpr uint8_t type_of_command_set = 4;
  const uint8_t* const page = descriptors.data();
  for (size_t at = 0; at + head < nvme::identify_bytes && page[at + 1] != 0; at += head + page[at + 1])
    if (page[at] == type_of_command_set) return static_cast<nvme::CommandSet>(page[at + head]);
  return nvme::CommandSet::nvm;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
