// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NetXtreme-E (57500 to 57600): work queue and completion queue entries, PSN tables, doorbells (rdma-core,
/// providers/bnxt_re/bnxt_re-abi.h, main.h, verbs.c and db.c; Linux, drivers/infiniband/hw/bnxt_re/roce_hsi.h).
///
/// Everything is little-endian. Rings are arrays of 16-byte slots: an entry has a header, a second header, and then
/// SGEs or inline data. An entry that reaches the end of the ring continues at its start.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

constexpr uint32_t abi_version = 1;            ///< version of the kernel's user ABI
constexpr uint32_t slot_bytes = 16;            ///< unit of rings and of an entry's length
constexpr uint32_t header_slots = 2;           ///< header slots of every entry
constexpr uint32_t static_wqe_slots = 8;       ///< slots of each entry in static mode
constexpr uint32_t static_max_sges = 6;        ///< SGEs of an entry in static mode
constexpr uint32_t max_inline_bytes = 96;      ///< six slots: what an entry of static mode can hold
constexpr uint32_t full_reserve = 128;         ///< entries that rdma-core keeps free in a send queue
constexpr uint32_t variable_ring_slots = 256;  ///< ring sizes in variable mode are multiples of this
constexpr uint32_t psn_mask = 0xffffff;        ///< packet sequence numbers have 24 bits

/// How entries lie in a send queue.
enum class WqeMode : uint8_t {
  fixed = 0,     ///< "static": static_wqe_slots each; the doorbell counts entries
  variable = 1,  ///< as many slots as the entry needs; the doorbell counts slots
};

/// Opcodes: bits 7:0 of a header.
enum class WqeType : uint8_t {
  send = 0x00,
  send_immediate = 0x01,
  send_invalidate = 0x02,
  rdma_write = 0x04,
  rdma_write_immediate = 0x05,
  rdma_read = 0x06,
  compare_swap = 0x08,
  fetch_add = 0x0b,
  local_invalidate = 0x0c,
  bind = 0x0e,
  receive = 0x80,
};

/// Flags of an entry: bits 15:8 of a header, here in 7:0.
namespace wqe_flag {
/// @addtogroup vendors_bnxt
/// @{
constexpr uint32_t signaled = 0x01;         ///< write a completion entry
constexpr uint32_t read_fence = 0x02;       ///< wait for reads and atomics before this one
constexpr uint32_t unordered_fence = 0x04;  ///< wait for all earlier operations; rdma-core's IBV_SEND_FENCE
constexpr uint32_t solicited = 0x08;        ///< the receiver's completion raises a solicited event
constexpr uint32_t inline_data = 0x10;      ///< inline data follows instead of SGEs
/// @}
}  // namespace wqe_flag

/// First slot of a send queue entry.
struct alignas(16) SqHeader {
  uint32_t type_flags_slots;  ///< WqeType 7:0, wqe_flag 15:8, slots used by this entry 23:16
  uint32_t immediate_key;     ///< immediate data in native byte order, or key to invalidate, or rkey of an atomic
  uint64_t lower;             ///< bytes of the message 31:0 and Q_Key 63:32; atomics: remote virtual address
};
static_assert(sizeof(SqHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(SqHeader, immediate_key) == 4 && XIO_OFFSETOF(SqHeader, lower) == 8,
              "offsets as in bnxt_re-abi.h");

/// First word of a header. `slots`: number of slots used, including both headers, in static mode too.
XIO_DEVICE constexpr uint32_t header_word(WqeType type, uint32_t flags, uint32_t slots) {
  return static_cast<uint32_t>(type) | flags << 8 | slots << 16;
}

/// Second slot of reads and writes.
struct alignas(16) RdmaHeader {
  uint64_t remote_address;  ///< remote virtual address
  uint32_t rkey;            ///< remote key
  uint32_t reserved;        ///< 0
};
static_assert(sizeof(RdmaHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(RdmaHeader, rkey) == 8, "offsets as in bnxt_re-abi.h");

/// Second slot of atomics.
struct alignas(16) AtomicHeader {
  uint64_t swap_add;  ///< swap or add operand
  uint64_t compare;   ///< compare operand
};
static_assert(sizeof(AtomicHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(AtomicHeader, compare) == 8, "offsets as in bnxt_re-abi.h");

/// Second slot of datagrams; unused by sends of connected queue pairs.
struct alignas(16) SendHeader {
  uint32_t destination_qpn;  ///< destination queue pair number
  uint32_t address_vector;   ///< identifier of the address handle
  uint64_t reserved;         ///< 0
};
static_assert(sizeof(SendHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(SendHeader, address_vector) == 4, "offsets as in bnxt_re-abi.h");

/// Second slot of binding a memory window.
struct alignas(16) BindHeader {
  uint64_t address;  ///< virtual address
  uint64_t length;   ///< bytes
};
static_assert(sizeof(BindHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(BindHeader, length) == 8, "offsets as in bnxt_re-abi.h");

/// Scatter/gather entry: a range of local memory. Length 0 is allowed.
struct alignas(16) Sge {
  uint64_t address;  ///< local virtual address
  uint32_t lkey;     ///< local key
  uint32_t length;   ///< bytes
};
static_assert(sizeof(Sge) == 16, "an SGE has 16 bytes");
static_assert(XIO_OFFSETOF(Sge, lkey) == 8 && XIO_OFFSETOF(Sge, length) == 12, "offsets as in bnxt_re-abi.h");

/// First slot of a receive queue entry; the second slot is unused.
struct alignas(16) RqHeader {
  uint32_t type_flags_slots;  ///< as SqHeader::type_flags_slots, with WqeType::receive
  uint32_t reserved0;         ///< 0
  uint32_t wr_id;             ///< 19:0: returned in the completion entry
  uint32_t reserved1;         ///< 0
};
static_assert(sizeof(RqHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(RqHeader, wr_id) == 8, "offsets as in bnxt_re-abi.h");

/// Entry of a send queue's PSN table (57500 and earlier), indexed by the work queue entry's doorbell index.
struct alignas(8) PsnEntry {
  uint32_t opcode_start;  ///< verbs opcode 31:24, first PSN 23:0
  uint32_t flags_next;    ///< flags 31:24, PSN after the message 23:0
};
static_assert(sizeof(PsnEntry) == 8, "an entry has 8 bytes");
static_assert(XIO_OFFSETOF(PsnEntry, flags_next) == 4, "offsets as in bnxt_re-abi.h");

/// PSN table entry for devices that require 16 bytes.
struct alignas(8) ExtendedPsnEntry {
  uint32_t opcode_start;  ///< as PsnEntry::opcode_start
  uint32_t flags_next;    ///< as PsnEntry::flags_next
  uint16_t start_slot;    ///< doorbell index of the entry
  uint16_t reserved0;     ///< not used
  uint32_t reserved1;     ///< not used
};
static_assert(sizeof(ExtendedPsnEntry) == 16, "an entry has 16 bytes");
static_assert(XIO_OFFSETOF(ExtendedPsnEntry, flags_next) == 4 && XIO_OFFSETOF(ExtendedPsnEntry, start_slot) == 8,
              "offsets as in bnxt_re-abi.h");

/// Entry of a send queue's MSN table (57600, or as the kernel reports): one per message, indexed by message sequence
/// number. First PSN 23:0, PSN after the message 47:24, doorbell index of the entry 63:48.
XIO_DEVICE constexpr uint64_t msn_entry(uint32_t start_psn, uint32_t next_psn, uint32_t start_index) {
  return uint64_t{start_psn & psn_mask} | uint64_t{next_psn & psn_mask} << 24 | uint64_t{start_index & 0xffff} << 48;
}

/// Type of a doorbell: bits 63:60.
enum class DoorbellType : uint8_t {
  sq = 0x0,
  rq = 0x1,
  srq = 0x2,
  srq_arm = 0x3,
  cq = 0x4,
  cq_arm_solicited = 0x5,
  cq_arm_all = 0x6,
  cq_arm_enable = 0x7,
  srq_arm_enable = 0x8,
  cq_cutoff_acknowledge = 0x9,
  push_start = 0xc,
  push_end = 0xd,
  null = 0xf,
};

constexpr uint32_t doorbell_index_mask = 0xffffff;  ///< bits 23:0
constexpr uint32_t doorbell_epoch_shift = 24;       ///< one bit; flips each time the index wraps
constexpr uint32_t doorbell_toggle_shift = 25;      ///< two bits; only for arming, from the kernel's toggle page
constexpr uint32_t doorbell_qid_shift = 32;         ///< 20 bits
constexpr uint32_t doorbell_qid_mask = 0xfffff;     ///< before the shift
constexpr uint32_t doorbell_valid_shift = 58;       ///< always 1
constexpr uint32_t doorbell_type_shift = 60;        ///< DoorbellType
constexpr uint32_t doorbell_offset = 0;             ///< offset of the 8-byte register in a doorbell page
constexpr uint32_t push_buffer_bytes = 256;         ///< write-combining buffer of a push doorbell

/// An 8-byte doorbell. `index`: within the ring; `epoch`: 0 or 1; `toggle`: 0 to 3.
XIO_DEVICE constexpr uint64_t doorbell(DoorbellType type, uint32_t qid, uint32_t index, uint32_t epoch,
                                       uint32_t toggle = 0) {
  return uint64_t{index & doorbell_index_mask} | uint64_t{epoch & 1u} << doorbell_epoch_shift |
         uint64_t{toggle & 3u} << doorbell_toggle_shift | uint64_t{qid & doorbell_qid_mask} << doorbell_qid_shift |
         uint64_t{1} << doorbell_valid_shift | static_cast<uint64_t>(type) << doorbell_type_shift;
}

/// Bits 31:0 of the last 8 bytes of each completion queue entry: phase, type, status and flags.
namespace cqe_word {
/// @addtogroup vendors_bnxt
/// @{
constexpr uint32_t phase = 1;             ///< equals expected_phase() in a new entry
constexpr uint32_t type_shift = 1;        ///< CqeType
constexpr uint32_t type_mask = 0xf;       ///< after the shift
constexpr uint32_t toggle_shift = 5;      ///< for CqeType::cut_off
constexpr uint32_t toggle_mask = 0x3;     ///< after the shift
constexpr uint32_t status_shift = 8;      ///< RequesterStatus or ResponderStatus
constexpr uint32_t status_mask = 0xff;    ///< after the shift
constexpr uint32_t flags_shift = 16;      ///< response_flag
constexpr uint32_t wr_id_mask = 0xfffff;  ///< in the following word: RqHeader::wr_id
/// @}
}  // namespace cqe_word

/// Flags of a response: bits 31:16 of its CQE word, here in 15:0.
namespace response_flag {
/// @addtogroup vendors_bnxt
/// @{
constexpr uint32_t shared_queue = 1;  ///< received through a shared receive queue
constexpr uint32_t immediate = 2;     ///< has immediate data
constexpr uint32_t invalidated = 4;   ///< a key was invalidated
constexpr uint32_t rdma_write = 8;    ///< a write with immediate data
/// @}
}  // namespace response_flag

/// Phase of new entries on lap `lap` of a queue whose memory was zeroed at set-up: 1 on lap 0.
XIO_DEVICE constexpr uint32_t expected_phase(uint64_t lap) { return (lap & 1) == 0 ? 1u : 0u; }

/// Completion entry of a send queue.
struct alignas(32) RequesterCqe {
  uint64_t qp_handle;       ///< 64-bit handle given at creation of the queue pair
  uint32_t consumer_index;  ///< 15:0: index after the last completed entry
  uint32_t reserved0;       ///< not used
  uint64_t reserved1;       ///< not used
  uint32_t word;            ///< cqe_word
  uint32_t wr_id;           ///< not used
};
static_assert(sizeof(RequesterCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(RequesterCqe, consumer_index) == 8 && XIO_OFFSETOF(RequesterCqe, word) == 24 &&
                  XIO_OFFSETOF(RequesterCqe, wr_id) == 28,
              "offsets as in bnxt_re-abi.h");

/// Completion entry of a receive queue: connected queue pairs.
struct alignas(32) ResponderCqe {
  uint32_t length;         ///< bytes received
  uint32_t immediate_key;  ///< immediate data in native byte order, or the key that was invalidated
  uint64_t qp_handle;      ///< as RequesterCqe::qp_handle
  uint64_t mr_handle;      ///< not used
  uint32_t word;           ///< cqe_word
  uint32_t wr_id;          ///< 19:0: RqHeader::wr_id
};
static_assert(sizeof(ResponderCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(ResponderCqe, immediate_key) == 4 && XIO_OFFSETOF(ResponderCqe, qp_handle) == 8 &&
                  XIO_OFFSETOF(ResponderCqe, mr_handle) == 16 && XIO_OFFSETOF(ResponderCqe, word) == 24 &&
                  XIO_OFFSETOF(ResponderCqe, wr_id) == 28,
              "offsets as in bnxt_re-abi.h");

/// Completion entry of a receive queue: datagrams.
struct alignas(32) DatagramCqe {
  uint32_t length;      ///< 13:0: bytes received
  uint32_t immediate;   ///< immediate data in native byte order
  uint64_t qp_handle;   ///< as RequesterCqe::qp_handle
  uint64_t source_mac;  ///< source queue pair number 15:0 in bits 63:48, source MAC address 47:0
  uint32_t word;        ///< cqe_word
  uint32_t wr_id;       ///< RqHeader::wr_id 19:0, source queue pair number 23:16 in bits 31:24
};
static_assert(sizeof(DatagramCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(DatagramCqe, qp_handle) == 8 && XIO_OFFSETOF(DatagramCqe, source_mac) == 16 &&
                  XIO_OFFSETOF(DatagramCqe, word) == 24 && XIO_OFFSETOF(DatagramCqe, wr_id) == 28,
              "offsets as in bnxt_re-abi.h");

/// Reports that a queue pair is in the error state: outstanding work requests get no entries of their own.
struct alignas(32) TerminalCqe {
  uint64_t qp_handle;    ///< as RequesterCqe::qp_handle
  uint32_t rq_sq_index;  ///< consumer indices of both queues
  uint32_t reserved0;    ///< not used
  uint64_t reserved1;    ///< not used
  uint32_t word;         ///< cqe_word
  uint32_t wr_id;        ///< not used
};
static_assert(sizeof(TerminalCqe) == 32, "a CQE has 32 bytes");
static_assert(XIO_OFFSETOF(TerminalCqe, rq_sq_index) == 8 && XIO_OFFSETOF(TerminalCqe, word) == 24,
              "offsets as in bnxt_re-abi.h");

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
