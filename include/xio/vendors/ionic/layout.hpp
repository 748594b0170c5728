// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: work queue and completion queue entries, doorbells (rdma-core,
/// providers/ionic/ionic_fw_types.h, ionic_queue.h, ionic.h and ionic_verbs.c).
///
/// Fields are big-endian, except for indices and timestamps. An entry occupies one stride of the ring, a power of two
/// of at least 64 bytes, and never wraps; the slot is zeroed before it is filled.

#include <xio/config.hpp>
#include <xio/vendors/endian.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup vendors_ionic
/// @{

constexpr uint32_t min_stride_bytes = 64;     ///< smallest entry of a work queue
constexpr uint32_t max_stride_bytes = 65536;  ///< largest entry of a work queue
constexpr uint32_t max_depth = 65535;         ///< entries of a queue: indices have 16 bits
constexpr uint32_t payload_offset = 32;       ///< offset of SGEs or inline data in an entry
constexpr uint32_t spec_list_bytes = 32;      ///< size of the lengths before the SGEs with flag::spec32 and spec16
constexpr uint32_t spec_first_sges = 2;       ///< entries with at most this many SGEs have no such lengths
constexpr uint32_t qid_mask = 0xffffff;       ///< queue numbers have 24 bits
constexpr uint32_t msn_mask = 0xffffff;       ///< bits of a message number to compare; devices count modulo 2^24

/// Opcodes for kernels that report version 1.
enum class OpcodeV1 : uint8_t {
  send = 0,
  send_invalidate = 1,
  send_immediate = 2,
  rdma_read = 3,
  rdma_write = 4,
  rdma_write_immediate = 5,
  compare_swap = 6,
  fetch_add = 7,
  register_mr = 8,
  local_invalidate = 9,
  bind = 10,
};

/// Opcodes for kernels that report version 2.
enum class OpcodeV2 : uint8_t {
  rdma_read = 0x02,
  compare_swap = 0x04,
  fetch_add = 0x05,
  register_mr = 0x06,
  local_invalidate = 0x07,
  bind = 0x08,
  send = 0x20,
  rdma_write = 0x21,
  send_immediate = 0x60,
  rdma_write_immediate = 0x61,
  send_invalidate = 0xa0,
};

/// Flags of an entry: BaseHeader::flags.
namespace flag {
/// @addtogroup vendors_ionic
/// @{
constexpr uint16_t fence = 0x0001;        ///< wait for reads and atomics before this one
constexpr uint16_t solicited = 0x0002;    ///< the receiver's completion raises a solicited event
constexpr uint16_t inline_data = 0x0004;  ///< inline data follows instead of SGEs
constexpr uint16_t signaled = 0x0008;     ///< write a completion entry
constexpr uint16_t color = 0x0010;        ///< send queues: 1 on the first lap, then alternating
constexpr uint16_t spec32 = 0x1000;       ///< eight 32-bit lengths before the SGEs
constexpr uint16_t spec16 = 0x2000;       ///< sixteen 16-bit lengths before the SGEs
/// @}
}  // namespace flag

/// First 16 bytes of every entry.
struct alignas(16) BaseHeader {
  uint64_t wqe_index;   ///< ring index of this entry, little-endian
  uint8_t opcode;       ///< OpcodeV1 or OpcodeV2
  uint8_t sges_or_key;  ///< number of SGEs (0 for inline data), or the variable part of a window's key
  Be16 flags;           ///< flag
  Be32 immediate_key;   ///< immediate data, or key to invalidate; receive: total bytes of all SGEs
};
static_assert(sizeof(BaseHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(BaseHeader, opcode) == 8 && XIO_OFFSETOF(BaseHeader, sges_or_key) == 9 &&
                  XIO_OFFSETOF(BaseHeader, flags) == 10 && XIO_OFFSETOF(BaseHeader, immediate_key) == 12,
              "offsets as in ionic_fw_types.h");

/// Bytes 16 to 31 of reads and writes.
struct alignas(16) RdmaHeader {
  Be64 remote_address;  ///< remote virtual address
  Be32 rkey;            ///< remote key
  Be32 length;          ///< bytes of the message
};
static_assert(sizeof(RdmaHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(RdmaHeader, rkey) == 8 && XIO_OFFSETOF(RdmaHeader, length) == 12,
              "offsets as in ionic_fw_types.h");

/// Bytes 16 to 31 of sends; connected queue pairs set only the length.
struct alignas(16) SendHeader {
  Be32 address_handle;   ///< identifier of the address handle
  Be32 destination_qpn;  ///< destination queue pair number
  Be32 qkey;             ///< Q_Key
  Be32 length;           ///< bytes of the message
};
static_assert(sizeof(SendHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(SendHeader, destination_qpn) == 4 && XIO_OFFSETOF(SendHeader, qkey) == 8 &&
                  XIO_OFFSETOF(SendHeader, length) == 12,
              "offsets as in ionic_fw_types.h");

/// Scatter/gather entry: a range of local memory.
struct alignas(16) Sge {
  Be64 address;  ///< local virtual address
  Be32 length;   ///< bytes
  Be32 lkey;     ///< local key
};
static_assert(sizeof(Sge) == 16, "an SGE has 16 bytes");
static_assert(XIO_OFFSETOF(Sge, length) == 8 && XIO_OFFSETOF(Sge, lkey) == 12, "offsets as in ionic_fw_types.h");

/// Bytes 16 to 47 of atomics, of both versions.
struct alignas(16) AtomicHeader {
  Be64 remote_address;  ///< remote virtual address
  Be32 rkey;            ///< remote key
  Be32 swap_add_high;   ///< swap or add operand, bits 63:32
  Be32 swap_add_low;    ///< swap or add operand, bits 31:0
  Be32 compare_high;    ///< compare operand, bits 63:32
  Be32 compare_low;     ///< compare operand, bits 31:0
  Be32 lkey;            ///< version 2: local key; version 1: 0
};
static_assert(sizeof(AtomicHeader) == 32, "an atomic header has 32 bytes");
static_assert(XIO_OFFSETOF(AtomicHeader, rkey) == 8 && XIO_OFFSETOF(AtomicHeader, swap_add_high) == 12 &&
                  XIO_OFFSETOF(AtomicHeader, swap_add_low) == 16 && XIO_OFFSETOF(AtomicHeader, compare_high) == 20 &&
                  XIO_OFFSETOF(AtomicHeader, compare_low) == 24 && XIO_OFFSETOF(AtomicHeader, lkey) == 28,
              "offsets as in ionic_fw_types.h");

/// Atomic entry, version 1.
struct alignas(64) AtomicWqeV1 {
  BaseHeader base;      ///< with one SGE
  AtomicHeader atomic;  ///< with lkey 0
  Sge sge;              ///< SGE of an 8-byte buffer for the previous value
};
static_assert(sizeof(AtomicWqeV1) == 64, "an atomic entry has 64 bytes");
static_assert(XIO_OFFSETOF(AtomicWqeV1, atomic) == 16 && XIO_OFFSETOF(AtomicWqeV1, sge) == 48,
              "offsets as in ionic_fw_types.h");

/// Atomic entry, version 2.
struct alignas(64) AtomicWqeV2 {
  BaseHeader base;            ///< with one SGE
  AtomicHeader atomic;        ///< with the local key
  Be64 local_address;         ///< address of the 8-byte buffer for the previous value
  uint64_t express_doorbell;  ///< 0, or express_doorbell()
};
static_assert(sizeof(AtomicWqeV2) == 64, "an atomic entry has 64 bytes");
static_assert(XIO_OFFSETOF(AtomicWqeV2, atomic) == 16 && XIO_OFFSETOF(AtomicWqeV2, local_address) == 48 &&
                  XIO_OFFSETOF(AtomicWqeV2, express_doorbell) == 56,
              "offsets as in ionic_fw_types.h");

/// Bytes 16 to 39 of binding a memory window.
struct alignas(8) BindHeader {
  Be64 address;         ///< virtual address
  Be64 length;          ///< bytes
  Be32 lkey;            ///< key of the memory region
  Be16 flags;           ///< access rights
  uint8_t reserved[2];  ///< 0
};
static_assert(sizeof(BindHeader) == 24, "a bind header has 24 bytes");
static_assert(XIO_OFFSETOF(BindHeader, length) == 8 && XIO_OFFSETOF(BindHeader, lkey) == 16 &&
                  XIO_OFFSETOF(BindHeader, flags) == 20,
              "offsets as in ionic_fw_types.h");

/// Completion entry of a send queue.
struct alignas(32) SendCqe {
  uint32_t reserved0;        ///< not used
  Be32 message_number;       ///< CqeType::send_msn: all messages before this number are complete
  uint64_t reserved1;        ///< not used
  uint64_t index_timestamp;  ///< CqeType::send_npg: ring index 15:0; timestamp 63:16; little-endian
  Be32 status_length;        ///< CqeStatus if cqe_word::error is set
  Be32 word;                 ///< cqe_word
};
static_assert(sizeof(SendCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(SendCqe, message_number) == 4 && XIO_OFFSETOF(SendCqe, index_timestamp) == 16 &&
                  XIO_OFFSETOF(SendCqe, status_length) == 24 && XIO_OFFSETOF(SendCqe, word) == 28,
              "offsets as in ionic_fw_types.h");

/// Completion entry of a receive queue.
struct alignas(32) ReceiveCqe {
  uint64_t index_timestamp;  ///< ring index 15:0, timestamp 63:16; little-endian
  Be32 source_operation;     ///< source queue pair number 23:0, ReceiveOperation 28:24, VLAN 30, IPv4 31
  uint8_t source_mac[6];     ///< source MAC address
  Be16 vlan;                 ///< VLAN tag
  Be32 immediate_key;        ///< immediate data, or the key that was invalidated
  Be32 status_length;        ///< CqeStatus if cqe_word::error is set, else bytes received
  Be32 word;                 ///< cqe_word
};
static_assert(sizeof(ReceiveCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(ReceiveCqe, source_operation) == 8 && XIO_OFFSETOF(ReceiveCqe, source_mac) == 12 &&
                  XIO_OFFSETOF(ReceiveCqe, vlan) == 18 && XIO_OFFSETOF(ReceiveCqe, immediate_key) == 20 &&
                  XIO_OFFSETOF(ReceiveCqe, status_length) == 24 && XIO_OFFSETOF(ReceiveCqe, word) == 28,
              "offsets as in ionic_fw_types.h");

/// Last word of a completion queue entry, in native byte order.
namespace cqe_word {
/// @addtogroup vendors_ionic
/// @{
constexpr uint32_t color = 0x1;      ///< equals expected_color() in a new entry
constexpr uint32_t error = 0x2;      ///< the preceding word is a status
constexpr uint32_t type_shift = 5;   ///< CqeType
constexpr uint32_t type_mask = 0x7;  ///< after the shift
constexpr uint32_t qid_shift = 8;    ///< queue pair number
/// @}
}  // namespace cqe_word

constexpr uint32_t cqe_index_mask = 0xffff;        ///< in index_timestamp: ring index
constexpr uint32_t cqe_timestamp_shift = 16;       ///< in index_timestamp: timestamp
constexpr uint32_t receive_qpn_mask = 0xffffff;    ///< in ReceiveCqe::source_operation
constexpr uint32_t receive_operation_shift = 24;   ///< in ReceiveCqe::source_operation
constexpr uint32_t receive_operation_mask = 0x1f;  ///< after the shift
constexpr uint32_t receive_is_vlan = 1u << 30;     ///< in ReceiveCqe::source_operation
constexpr uint32_t receive_is_ipv4 = 1u << 31;     ///< in ReceiveCqe::source_operation

/// Color of entries on lap `lap` of a ring whose memory was zeroed at set-up: 1 on lap 0. Applies to completion entries
/// and to flag::color of send queue entries.
XIO_DEVICE constexpr uint32_t expected_color(uint64_t lap) { return (lap & 1) == 0 ? 1u : 0u; }

constexpr uint64_t ring_arm_any = 1u << 16;             ///< completion queue doorbell: arm for any completion
constexpr uint64_t ring_arm_solicited_only = 1u << 17;  ///< completion queue doorbell: arm for solicited ones
constexpr uint32_t doorbell_qid_shift = 24;             ///< queue number 47:24
constexpr uint32_t doorbell_stride = 8;  ///< bytes between the registers of a doorbell page's queue types

/// Doorbell of 8 bytes, little-endian, for the register at `queue type * doorbell_stride`. `index`: the ring index
/// after the last entry, already masked; for a completion queue, the index of the next entry to read.
XIO_DEVICE constexpr uint64_t doorbell(uint32_t qid, uint32_t index, uint64_t ring = 0) {
  // The first shift discards all but 24 bits of the queue number.
  return uint64_t{index & 0xffff} | ring | uint64_t{static_cast<uint32_t>(qid << 8)} << (doorbell_qid_shift - 8);
}

/// Last 8 bytes of an entry in controller memory that rings its own doorbell. `next_index`: as `index` of doorbell().
XIO_DEVICE constexpr uint64_t express_doorbell(uint32_t queue_type, uint32_t qid, uint32_t next_index) {
  return doorbell(qid, next_index) | uint64_t{0xb} << 19 | uint64_t{queue_type} << 48;
}

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
