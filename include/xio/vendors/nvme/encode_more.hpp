// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Less common commands of an I/O queue: copies, zones, reservations, I/O management (NVM Command Set 1.0,
/// section 3.2.2; Zoned Namespace Command Set 1.1, section 3.4; NVM Express Base Specification 2.0, section 7).

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/encode_sizes.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

namespace detail {
/// CommandWords::data of a Copy of `ranges` source ranges; by format, their descriptors have 8 or 16 bytes of tags.
XIO_DEVICE constexpr uint32_t copy_data(uint32_t ranges, uint32_t format) {
  if (format > 15) return data_size::impossible;
  return format > 3 ? data_size::unknown : data_of_ranges(ranges, format % 2 == 0 ? 32 : 40);
}
}  // namespace detail

/// Copies 1 to 256 source ranges to `lba` within the namespace; the data is an array of CopyRange (`format` 0), or of
/// the structure of another descriptor format.
/// @snippet commands.cpp copy
XIO_DEVICE constexpr Command copy(uint64_t lba, uint32_t ranges, uint32_t format = 0) {
  return command(Opcode::copy)
      .starts_at(lba)
      .flags(((ranges - 1) & 0xff) | (format & 0xf) << 8)
      .moves(detail::copy_data(ranges, format));
}

/// Parameters of zone_management_send.
struct ZoneSendRequest {
  ZoneSendAction action = ZoneSendAction::reset;
  uint64_t zone_lba = 0;   ///< first block of the zone
  bool all_zones = false;  ///< every zone to which the action applies; `zone_lba` is ignored
  bool option = false;     ///< ZSASO: with open, a random write area is allocated
};

/// Zone Management Send. The data of set_descriptor_extension has the size that the namespace reports: set it with
/// moves(). Other actions have no data.
/// @snippet commands.cpp zone_management
XIO_DEVICE constexpr Command zone_management_send(const ZoneSendRequest& request) {
  return command(Opcode::zone_management_send)
      .starts_at(request.zone_lba)
      .dword(13, static_cast<uint32_t>(request.option) << 9 | static_cast<uint32_t>(request.all_zones) << 8 |
                     static_cast<uint32_t>(request.action))
      .moves(request.action == ZoneSendAction::set_descriptor_extension ? data_size::unknown : 0);
}

/// Parameters of zone_management_receive.
/// @snippet commands.cpp zone_management
struct ZoneReceiveRequest {
  ZoneReceiveAction action = ZoneReceiveAction::report;
  uint64_t zone_lba = 0;  ///< first block of the first zone
  uint32_t bytes = 0;     ///< size of the report buffer, a multiple of 4, at least 4
  uint32_t state = 0;     ///< ZRASF: 0 all zones, otherwise only zones in one state
  bool partial = false;   ///< the report counts the zones it contains, not all matching zones
};

/// Zone Management Receive.
/// @snippet commands.cpp zone_management
XIO_DEVICE constexpr Command zone_management_receive(const ZoneReceiveRequest& request) {
  return command(Opcode::zone_management_receive)
      .starts_at(request.zone_lba)
      .dword(12, detail::last_dword(request.bytes))
      .dword(13, static_cast<uint32_t>(request.partial) << 16 | (request.state & 0xff) << 8 |
                     static_cast<uint32_t>(request.action))
      .moves(detail::data_of_dwords(request.bytes));
}

/// Registers (action 0), unregisters (1) or replaces (2) a reservation key; the data is {current key, new key}, 16
/// bytes. `persist`: 0 no change, 2 released at power loss, 3 kept.
/// @snippet commands.cpp reservation
XIO_DEVICE constexpr Command reservation_register(uint32_t action, bool ignore_key = false, uint32_t persist = 0) {
  return command(Opcode::reservation_register)
      .of_set(CommandSet::every)
      .dword(10, persist << 30 | static_cast<uint32_t>(ignore_key) << 3 | (action & 7))
      .moves(16);
}

/// Acquires (action 0) or preempts (1; 2 with abort) a reservation of `type` 1 to 6; the data is {current key, key to
/// preempt}.
/// @snippet commands.cpp reservation
XIO_DEVICE constexpr Command reservation_acquire(uint32_t action, uint32_t type, bool ignore_key = false) {
  return command(Opcode::reservation_acquire)
      .of_set(CommandSet::every)
      .dword(10, (type & 0xff) << 8 | static_cast<uint32_t>(ignore_key) << 3 | (action & 7))
      .moves(16);
}

/// Releases (action 0) or clears (1) a reservation of `type`; the data is {current key}, 8 bytes.
/// @snippet commands.cpp reservation
XIO_DEVICE constexpr Command reservation_release(uint32_t action, uint32_t type, bool ignore_key = false) {
  return command(Opcode::reservation_release)
      .of_set(CommandSet::every)
      .dword(10, (type & 0xff) << 8 | static_cast<uint32_t>(ignore_key) << 3 | (action & 7))
      .moves(8);
}

/// Fetches `bytes` of reservation status, a multiple of 4, at least 4; `extended`: with 128-bit host identifiers.
/// @snippet commands.cpp reservation_report
XIO_DEVICE constexpr Command reservation_report(uint32_t bytes, bool extended = false) {
  return command(Opcode::reservation_report)
      .of_set(CommandSet::every)
      .dword(10, detail::last_dword(bytes))
      .dword(11, static_cast<uint32_t>(extended))
      .moves(detail::data_of_dwords(bytes));
}

/// Fetches `bytes` of I/O management data, a multiple of 4, at least 4: 8-bit operation (1: reclaim unit handle status)
/// and its specific value.
/// @snippet commands.cpp io_management
XIO_DEVICE constexpr Command io_management_receive(uint32_t operation, uint32_t specific, uint32_t bytes) {
  return command(Opcode::io_management_receive)
      .of_set(CommandSet::every)
      .dword(10, specific << 16 | (operation & 0xff))
      .dword(11, detail::last_dword(bytes))
      .moves(detail::data_of_dwords(bytes));
}

/// I/O management: 8-bit operation (1: reclaim unit handle update) and its specific value (number of handles - 1). The
/// data of operation 1 is an array of 16-bit placement identifiers.
/// @snippet commands.cpp io_management_send
XIO_DEVICE constexpr Command io_management_send(uint32_t operation, uint32_t specific) {
  operation &= 0xff;
  return command(Opcode::io_management_send)
      .of_set(CommandSet::every)
      .dword(10, specific << 16 | operation)
      .moves(operation == 0   ? 0
             : operation == 1 ? 2 * ((specific & 0xffff) + 1)
                              : data_size::unknown);
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
