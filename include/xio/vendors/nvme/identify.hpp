// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Identify data: views over the 4096 bytes that a controller returned (NVM Express Base Specification 2.0,
/// figures 275 and 280; NVM Command Set 1.0, figures 97 and 98).
///
/// A view holds a pointer and reads single fields: the buffer needs no alignment and is never copied.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Bytes of every Identify data structure.
constexpr uint32_t identify_bytes = 4096;

/// Little-endian field of a data structure.
XIO_DEVICE constexpr uint64_t load_le(const uint8_t* from, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(from[i]) << (8 * i);
  return value;
}

/// ASCII field of fixed width, without its padding of blanks and zeros; not terminated.
struct Text {
  const uint8_t* data;
  uint32_t bytes;
};

XIO_DEVICE constexpr Text trimmed(const uint8_t* data, uint32_t bytes) {
  while (bytes > 0 && (data[bytes - 1] == ' ' || data[bytes - 1] == 0)) --bytes;
  return Text{data, bytes};
}

/// Identify Controller (CNS 01h).
struct IdentifyController {
  const uint8_t* page;

  XIO_HOST_DEVICE constexpr uint64_t get(uint32_t offset, uint32_t bytes) const {
    return load_le(page + offset, bytes);
  }
  XIO_HOST_DEVICE constexpr uint8_t get8(uint32_t offset) const { return page[offset]; }
  XIO_HOST_DEVICE constexpr uint16_t get16(uint32_t offset) const { return static_cast<uint16_t>(get(offset, 2)); }
  XIO_HOST_DEVICE constexpr uint32_t get32(uint32_t offset) const { return static_cast<uint32_t>(get(offset, 4)); }

  XIO_HOST_DEVICE constexpr uint16_t vid() const { return get16(0); }    ///< PCI vendor
  XIO_HOST_DEVICE constexpr uint16_t ssvid() const { return get16(2); }  ///< PCI subsystem vendor
  XIO_HOST_DEVICE constexpr Text serial() const { return trimmed(page + 4, 20); }
  XIO_HOST_DEVICE constexpr Text model() const { return trimmed(page + 24, 40); }
  XIO_HOST_DEVICE constexpr Text firmware() const { return trimmed(page + 64, 8); }
  /// Largest transfer: 2^mdts pages of the size CAP.MPSMIN; 0: no limit.
  XIO_HOST_DEVICE constexpr uint8_t mdts() const { return get8(77); }
  XIO_HOST_DEVICE constexpr uint16_t cntlid() const { return get16(78); }
  XIO_HOST_DEVICE constexpr uint32_t ver() const { return get32(80); }  ///< as register VS
  XIO_HOST_DEVICE constexpr uint32_t rtd3e() const {
    return get32(88);
  }  ///< shutdown takes up to as many us; 0: unknown
  XIO_HOST_DEVICE constexpr uint32_t oaes() const { return get32(92); }
  XIO_HOST_DEVICE constexpr uint32_t ctratt() const { return get32(96); }
  XIO_HOST_DEVICE constexpr uint8_t cntrltype() const { return get8(111); }  ///< 1 I/O, 2 discovery, 3 administrative
  /// Retry delay `index` 1 to 3 of a status's CRD field, in units of 100 ms.
  XIO_HOST_DEVICE constexpr uint16_t crdt(uint32_t index) const { return get16(126 + 2 * index); }
  XIO_HOST_DEVICE constexpr uint16_t oacs() const { return get16(256); }  ///< optional admin commands, see `oacs`
  XIO_HOST_DEVICE constexpr uint8_t acl() const { return get8(258); }     ///< Abort commands at a time - 1
  XIO_HOST_DEVICE constexpr uint8_t aerl() const { return get8(259); }    ///< Asynchronous Event Requests at a time - 1
  XIO_HOST_DEVICE constexpr uint8_t lpa() const { return get8(261); }
  XIO_HOST_DEVICE constexpr uint8_t sqes() const { return get8(512); }  ///< log2 of the SQE size: least 3:0, most 7:4
  XIO_HOST_DEVICE constexpr uint8_t cqes() const { return get8(513); }  ///< log2 of the CQE size: least 3:0, most 7:4
  XIO_HOST_DEVICE constexpr uint16_t maxcmd() const { return get16(514); }
  XIO_HOST_DEVICE constexpr uint32_t nn() const { return get32(516); }     ///< largest namespace identifier
  XIO_HOST_DEVICE constexpr uint16_t oncs() const { return get16(520); }   ///< optional I/O commands, see `oncs`
  XIO_HOST_DEVICE constexpr uint16_t fuses() const { return get16(522); }  ///< bit 0: Compare and Write
  XIO_HOST_DEVICE constexpr uint8_t vwc() const { return get8(525); }      ///< bit 0: a volatile write cache is present
  XIO_HOST_DEVICE constexpr uint16_t awun() const { return get16(526); }   ///< atomic write unit, blocks - 1
  XIO_HOST_DEVICE constexpr uint16_t awupf() const { return get16(528); }
  XIO_HOST_DEVICE constexpr uint16_t ocfs() const { return get16(534); }  ///< Copy descriptor formats, one bit each
  XIO_HOST_DEVICE constexpr uint32_t sgls() const { return get32(536); }  ///< see `sgls`
  XIO_HOST_DEVICE constexpr uint32_t mnan() const { return get32(540); }  ///< most allowed namespaces
  XIO_HOST_DEVICE constexpr Text subnqn() const { return trimmed(page + 768, 256); }
};

/// Identify Controller of the NVM command set (CNS 06h, CSI 00h): limits of its commands. A limit n in units is 2^n
/// smallest memory pages (CAP.MPSMIN), as MDTS; 0: no limit.
struct IdentifyControllerNvm {
  const uint8_t* page;

  XIO_HOST_DEVICE constexpr uint8_t vsl() const { return page[0]; }   ///< Verify, units
  XIO_HOST_DEVICE constexpr uint8_t wzsl() const { return page[1]; }  ///< Write Zeroes, units
  XIO_HOST_DEVICE constexpr uint8_t wusl() const { return page[2]; }  ///< Write Uncorrectable, units
  XIO_HOST_DEVICE constexpr uint8_t dmrl() const { return page[3]; }  ///< Dataset Management: ranges; 0: 256
  XIO_HOST_DEVICE constexpr uint32_t dmrsl() const {
    return static_cast<uint32_t>(load_le(page + 4, 4));
  }  ///< blocks of one range
  XIO_HOST_DEVICE constexpr uint64_t dmsl() const { return load_le(page + 8, 8); }  ///< blocks of all ranges
};

/// Identify Controller of the Zoned Namespace command set (CNS 06h, CSI 02h).
struct IdentifyControllerZoned {
  const uint8_t* page;

  XIO_HOST_DEVICE constexpr uint8_t zasl() const { return page[0]; }  ///< Zone Append, units; 0: as MDTS
};

/// Identify Namespace of the Key Value Command Set (CNS 05h, CSI 01h; Key Value Command Set Specification 1.0, section
/// 4.1.5.1).
struct IdentifyNamespaceKeyValue {
  const uint8_t* page;

  /// One of the formats of keys and values, 16 bytes.
  struct Format {
    const uint8_t* bytes;

    XIO_HOST_DEVICE constexpr uint32_t longest_key() const { return get(0, 2); }    ///< bytes
    XIO_HOST_DEVICE constexpr uint32_t longest_value() const { return get(4, 4); }  ///< bytes
    XIO_HOST_DEVICE constexpr uint32_t most_keys() const { return get(8, 4); }      ///< 0: no limit

   private:
    XIO_HOST_DEVICE constexpr uint32_t get(uint32_t offset, uint32_t size) const {
      return static_cast<uint32_t>(load_le(bytes + offset, size));
    }
  };

  XIO_HOST_DEVICE constexpr uint64_t nsze() const { return load_le(page, 8); }       ///< size, bytes
  XIO_HOST_DEVICE constexpr uint64_t nuse() const { return load_le(page + 16, 8); }  ///< bytes in use
  XIO_HOST_DEVICE constexpr uint8_t nkvf() const { return page[25]; }                ///< formats, less one
  /// @param index 0 to 15
  XIO_HOST_DEVICE constexpr Format format(uint32_t index = 0) const { return {page + 72 + index * 16}; }
};

/// Bits of IdentifyController::oacs.
namespace oacs {
/// @addtogroup vendors_nvme
/// @{
constexpr uint16_t security = 1u << 0;
constexpr uint16_t format = 1u << 1;
constexpr uint16_t firmware = 1u << 2;
constexpr uint16_t namespace_management = 1u << 3;
constexpr uint16_t self_test = 1u << 4;
constexpr uint16_t directives = 1u << 5;
constexpr uint16_t management_interface = 1u << 6;
constexpr uint16_t virtualization = 1u << 7;
constexpr uint16_t doorbell_buffer_config = 1u << 8;  ///< shadow doorbells
constexpr uint16_t get_lba_status = 1u << 9;
constexpr uint16_t lockdown = 1u << 10;
/// @}
}  // namespace oacs

/// Bits of IdentifyController::oncs.
namespace oncs {
/// @addtogroup vendors_nvme
/// @{
constexpr uint16_t compare = 1u << 0;
constexpr uint16_t write_uncorrectable = 1u << 1;
constexpr uint16_t dataset_management = 1u << 2;
constexpr uint16_t write_zeroes = 1u << 3;
constexpr uint16_t save_features = 1u << 4;
constexpr uint16_t reservations = 1u << 5;
constexpr uint16_t timestamp = 1u << 6;
constexpr uint16_t verify = 1u << 7;
constexpr uint16_t copy = 1u << 8;
/// @}
}  // namespace oncs

/// Bits of IdentifyController::sgls.
namespace sgls {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t support_mask = 3;  ///< 0: none, 1: any alignment, 2: dword alignment and granularity
constexpr uint32_t keyed = 1u << 2;
constexpr uint32_t bit_bucket = 1u << 16;
constexpr uint32_t byte_aligned_metadata = 1u << 17;
constexpr uint32_t oversize = 1u << 18;  ///< an SGL may describe more bytes than the command moves
constexpr uint32_t metadata_sgl = 1u << 19;
constexpr uint32_t address_as_offset = 1u << 20;
/// @}
}  // namespace sgls

/// One LBA format of a namespace.
struct LbaFormat {
  uint32_t raw;

  XIO_HOST_DEVICE constexpr uint32_t metadata_bytes() const { return raw & 0xffff; }
  XIO_HOST_DEVICE constexpr uint32_t block_shift() const {
    return raw >> 16 & 0xff;
  }  ///< log2 of the block; 0: unusable
  XIO_HOST_DEVICE constexpr uint32_t relative_performance() const { return raw >> 24 & 3; }  ///< 0 is best
};

/// Identify Namespace (CNS 00h) of the NVM and Zoned command sets.
struct IdentifyNamespace {
  const uint8_t* page;

  XIO_HOST_DEVICE constexpr uint64_t get(uint32_t offset, uint32_t bytes) const {
    return load_le(page + offset, bytes);
  }
  XIO_HOST_DEVICE constexpr uint8_t get8(uint32_t offset) const { return page[offset]; }
  XIO_HOST_DEVICE constexpr uint16_t get16(uint32_t offset) const { return static_cast<uint16_t>(get(offset, 2)); }
  XIO_HOST_DEVICE constexpr uint32_t get32(uint32_t offset) const { return static_cast<uint32_t>(get(offset, 4)); }

  XIO_HOST_DEVICE constexpr uint64_t nsze() const { return get(0, 8); }   ///< size, logical blocks; 0: not active
  XIO_HOST_DEVICE constexpr uint64_t ncap() const { return get(8, 8); }   ///< capacity, logical blocks
  XIO_HOST_DEVICE constexpr uint64_t nuse() const { return get(16, 8); }  ///< allocated logical blocks
  XIO_HOST_DEVICE constexpr uint8_t nsfeat() const { return get8(24); }
  XIO_HOST_DEVICE constexpr uint8_t nlbaf() const { return get8(25); }  ///< LBA formats - 1
  XIO_HOST_DEVICE constexpr uint8_t flbas() const { return get8(26); }
  XIO_HOST_DEVICE constexpr uint8_t mc() const { return get8(27); }
  XIO_HOST_DEVICE constexpr uint8_t dpc() const { return get8(28); }
  XIO_HOST_DEVICE constexpr uint8_t dps() const {
    return get8(29);
  }  ///< protection type 2:0, 0: none; bit 3: first bytes
  XIO_HOST_DEVICE constexpr uint8_t nmic() const { return get8(30); }
  XIO_HOST_DEVICE constexpr uint8_t dlfeat() const {
    return get8(33);
  }  ///< deallocated blocks read as: 1 zeros, 2 ones
  XIO_HOST_DEVICE constexpr uint16_t noiob() const { return get16(46); }  ///< optimal I/O boundary, blocks; 0: none
  XIO_HOST_DEVICE constexpr uint16_t mssrl() const { return get16(74); }  ///< Copy: most blocks of one range
  XIO_HOST_DEVICE constexpr uint32_t mcl() const { return get32(76); }    ///< Copy: most blocks of one command
  XIO_HOST_DEVICE constexpr uint8_t msrc() const { return get8(80); }     ///< Copy: most ranges - 1
  XIO_HOST_DEVICE constexpr uint8_t nsattr() const { return get8(99); }   ///< bit 0: write protected
  XIO_HOST_DEVICE constexpr const uint8_t* nguid() const { return page + 104; }  ///< 16 bytes
  XIO_HOST_DEVICE constexpr const uint8_t* eui64() const { return page + 120; }  ///< 8 bytes

  /// Number of the LBA format in use, 0 to 63.
  XIO_HOST_DEVICE constexpr uint32_t format_index() const {
    return (flbas() & 0xfu) | (nlbaf() > 15 ? (flbas() >> 5 & 3u) << 4 : 0u);
  }
  /// Whether metadata is transferred at the end of each block rather than in a separate buffer.
  XIO_HOST_DEVICE constexpr bool extended_blocks() const { return flbas() >> 4 & 1; }
  XIO_HOST_DEVICE constexpr LbaFormat format(uint32_t index) const { return LbaFormat{get32(128 + 4 * index)}; }
  XIO_HOST_DEVICE constexpr LbaFormat format() const { return format(format_index()); }
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
