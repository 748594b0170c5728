// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory layout of queue entries and data structures (NVM Express Base Specification 2.0, figures 87, 90, 94 to
/// 101; NVM Command Set 1.0, figures 32 and 45).
///
/// Everything is little-endian. Fields are whole naturally aligned words, so no access is split.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Submission queue entry.
struct alignas(64) Sqe {
  uint32_t cdw0;   ///< opcode 7:0, fused operation 9:8, PSDT 15:14, command identifier 31:16
  uint32_t nsid;   ///< namespace identifier
  uint32_t cdw2;   ///< command specific
  uint32_t cdw3;   ///< command specific
  uint64_t mptr;   ///< metadata pointer, bus address
  uint64_t prp1;   ///< data pointer: PRP entry 1, or the first 8 bytes of an SGL descriptor
  uint64_t prp2;   ///< data pointer: PRP entry 2 or list, or the last 8 bytes of an SGL descriptor
  uint32_t cdw10;  ///< command specific; starting LBA 31:0 of I/O commands
  uint32_t cdw11;  ///< command specific; starting LBA 63:32
  uint32_t cdw12;  ///< command specific; number of blocks - 1 in 15:0, flags above
  uint32_t cdw13;  ///< command specific
  uint32_t cdw14;  ///< command specific
  uint32_t cdw15;  ///< command specific
};
static_assert(sizeof(Sqe) == 64, "an SQE has 64 bytes");
static_assert(XIO_OFFSETOF(Sqe, mptr) == 16 && XIO_OFFSETOF(Sqe, prp1) == 24 && XIO_OFFSETOF(Sqe, cdw10) == 40 &&
                  XIO_OFFSETOF(Sqe, cdw15) == 60,
              "offsets as in the specification");

/// Completion queue entry.
struct alignas(16) Cqe {
  uint32_t dw0;     ///< command specific result
  uint32_t dw1;     ///< command specific result
  uint16_t sqhd;    ///< SQ head pointer: the entries before it may be overwritten
  uint16_t sqid;    ///< SQ identifier
  uint16_t cid;     ///< command identifier
  uint16_t status;  ///< phase 0, SC 8:1, SCT 11:9, CRD 13:12, more 14, do not retry 15
};
static_assert(sizeof(Cqe) == 16, "a CQE has 16 bytes");
static_assert(XIO_OFFSETOF(Cqe, sqhd) == 8 && XIO_OFFSETOF(Cqe, cid) == 12 && XIO_OFFSETOF(Cqe, status) == 14,
              "offsets as in the specification");

/// Format of a command's data pointer: bits 15:14 of command dword 0.
constexpr uint32_t psdt_prp = 0u << 14;  ///< PRP entries
constexpr uint32_t psdt_sgl = 1u << 14;  ///< an SGL; metadata, if any, is one contiguous buffer

/// Fused operation: bits 9:8 of command dword 0. The two commands are adjacent entries, announced by one doorbell.
constexpr uint32_t fused_first_bit = 1u << 8;
constexpr uint32_t fused_second_bit = 2u << 8;

/// Type of an SGL descriptor: bits 7:4 of its last byte.
enum class SglType : uint8_t {
  data_block = 0x0,
  bit_bucket = 0x1,
  segment = 0x2,
  last_segment = 0x3,
  keyed_data_block = 0x4,
  transport_data_block = 0x5,
  vendor = 0xf,
};

/// Scatter gather list descriptor. `length` counts bytes: of the data, or of the segment that it points to.
struct alignas(8) SglDescriptor {
  uint64_t address;  ///< bus address
  uint32_t length;   ///< bytes
  uint32_t kind;     ///< subtype 27:24, type 31:28; the other bits are reserved
};
static_assert(sizeof(SglDescriptor) == 16, "an SGL descriptor has 16 bytes");
static_assert(XIO_OFFSETOF(SglDescriptor, length) == 8 && XIO_OFFSETOF(SglDescriptor, kind) == 12,
              "offsets as in the specification");

/// The upper 8 bytes of a descriptor as one word, as data pointers and lists hold it.
XIO_DEVICE constexpr uint64_t sgl_upper(SglType type, uint32_t length) {
  return uint64_t{length} | static_cast<uint64_t>(type) << 60;
}

/// One range of a Dataset Management command.
struct alignas(8) DsmRange {
  uint32_t attributes;  ///< context attributes
  uint32_t blocks;      ///< length in logical blocks
  uint64_t lba;         ///< first logical block
};
static_assert(sizeof(DsmRange) == 16, "a range has 16 bytes");
static_assert(XIO_OFFSETOF(DsmRange, blocks) == 4 && XIO_OFFSETOF(DsmRange, lba) == 8,
              "offsets as in the specification");

/// Most ranges of one Dataset Management command: one page of 4096 bytes.
constexpr uint32_t dsm_max_ranges = 256;

/// One source range of a Copy command, descriptor format 0.
struct alignas(8) CopyRange {
  uint64_t reserved0;
  uint64_t lba;         ///< first logical block of the source
  uint32_t last_block;  ///< number of logical blocks - 1 in bits 15:0
  uint32_t reserved1;
  uint32_t reference_tag;
  uint32_t tags;  ///< application tag 15:0, its mask 31:16
};
static_assert(sizeof(CopyRange) == 32, "a source range has 32 bytes");
static_assert(XIO_OFFSETOF(CopyRange, lba) == 8 && XIO_OFFSETOF(CopyRange, last_block) == 16 &&
                  XIO_OFFSETOF(CopyRange, reference_tag) == 24 && XIO_OFFSETOF(CopyRange, tags) == 28,
              "offsets as in the specification");

/// Namespace identifier that denotes all namespaces, for commands that allow it.
constexpr uint32_t all_namespaces = 0xffffffff;

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
