// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Identify data structures of the in-process NVMe controller (NVM Express Base Specification 2.0, section 5.17;
/// NVM Command Set Specification 1.0, section 4.1.5).

#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/events.hpp>
#include <xio/host/emulation/nvme/page_writer.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Identify Controller (CNS 01h).
inline void write_identify_controller(const NvmeConfig& config, PageWriter& page) {
  page.put(0, 0x1b36, 2);  // PCI vendor of virtual devices
  page.put(2, 0x1af4, 2);
  page.put_text(4, config.serial, 20);
  page.put_text(24, config.model, 40);
  page.put_text(64, config.firmware, 8);
  page.put(72, 6, 1);  // recommended arbitration burst
  page.put(77, config.mdts, 1);
  page.put(78, 1, 2);  // controller identifier
  page.put(80, config.quirks.version, 4);
  page.put(88, config.quirks.shutdown_us, 4);
  page.put(111, 1, 1);  // I/O controller
  page.put(256, config.shadow_doorbells ? 1u << 8 : 0u, 2);
  page.put(258, 3, 1);  // Abort Command Limit, minus 1
  page.put(259, config.async_event_limit, 1);
  page.put(260, 0x03, 1);  // one firmware slot, read-only
  page.put(261, 0x06, 1);  // commands supported log, extended Get Log Page
  page.put(262, LogPages::error_entries - 1, 1);
  page.put(266, 343, 2);  // warning and critical temperatures, kelvin
  page.put(268, 373, 2);
  page.put(512, 0x66, 1);
  page.put(513, 0x44, 1);
  page.put(516, config.max_nsid, 4);
  page.put(520, 0x8f, 2);  // compare, write uncorrectable, dataset management, write zeroes, verify
  page.put(525, config.volatile_write_cache ? 0x07 : 0x06, 1);  // flush of all namespaces is supported
  if (config.sgl) page.put(536, (config.sgl_dword_aligned ? 2u : 1u) | 1u << 16, 4);
  page.put_string(768, "nqn.2014-08.org.nvmexpress:xio:" + config.serial);
  page.put(2048, 2500, 2);  // power state 0, centiwatt
}

/// I/O Command Set specific Identify Controller (CNS 06h) of the NVM command set.
inline void write_identify_limits(const NvmeConfig& config, PageWriter& page) {
  page.put(0, config.vsl, 1);
  page.put(1, config.wzsl, 1);
  page.put(2, config.wusl, 1);
  page.put(3, config.dmrl, 1);
  page.put(4, config.dmrsl, 4);
  page.put(8, config.dmsl, 8);
}

/// Identify Namespace (CNS 00h).
inline void write_identify_namespace(const Medium& medium, PageWriter& page) {
  page.put(0, medium.blocks(), 8);
  page.put(8, medium.blocks(), 8);
  page.put(16, medium.blocks(), 8);
  page.put(33, 0x09, 1);  // deallocated blocks read as zeros; Write Zeroes may deallocate
  page.put(99, medium.write_protected() ? 1 : 0, 1);
  page.put(120, 0x3230584944454d4full + medium.nsid(), 8);
  page.put(128, uint64_t{medium.block_shift()} << 16, 4);
}

/// I/O Command Set specific Identify Namespace (CNS 05h) of the Key Value Command Set, with one format.
inline void write_identify_values(const KeyValues& keys, PageWriter& page) {
  page.put(0, keys.capacity(), 8);
  page.put(16, keys.used(), 8);
  page.put(64, 0x3230584944454d4full + keys.nsid(), 8);
  page.put(72, keys.config().longest_key, 2);
  page.put(76, keys.config().longest_value, 4);
  page.put(80, keys.config().most_keys, 4);
}

/// Active Namespace ID list (CNS 02h): identifiers above `after`, in ascending order.
inline void write_namespace_list(const std::vector<Medium>& media, uint32_t after, PageWriter& page) {
  size_t offset = 0;
  for (;;) {
    uint32_t next = 0;
    for (const Medium& medium : media) {
      if (medium.nsid() > after && (next == 0 || medium.nsid() < next)) next = medium.nsid();
    }
    if (next == 0 || offset == PageWriter::size()) return;
    page.put(offset, next, 4);
    offset += 4;
    after = next;
  }
}

/// Namespace Identification Descriptor list (CNS 03h).
/// @param command_set  CSI
inline void write_namespace_descriptors(const Medium& medium, uint32_t command_set, PageWriter& page) {
  page.put(0, 1, 1);  // EUI-64
  page.put(1, 8, 1);
  page.put(4, 0x3230584944454d4full + medium.nsid(), 8);
  page.put(12, 4, 1);  // command set
  page.put(13, 1, 1);
  page.put(16, command_set, 1);
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
