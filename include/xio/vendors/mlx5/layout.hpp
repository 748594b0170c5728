// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ConnectX: work queue and completion queue entries, doorbells (rdma-core, providers/mlx5/mlx5dv.h, wqe.h,
/// mlx5.h, qp.c and cq.c).
///
/// Everything is big-endian. A work queue entry is a control segment followed by the segments that the operation needs,
/// in this order: XRC, address vector, remote address, atomic, then data segments or one inline segment. Segments start
/// at multiples of 16 bytes; an entry that reaches the end of the ring continues at its start.

#include <xio/config.hpp>
#include <xio/vendors/endian.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup vendors_mlx5
/// @{

constexpr uint32_t segment_bytes = 16;          ///< unit of an entry's length ("ds")
constexpr uint32_t wqebb_bytes = 64;            ///< unit of the send queue, of its producer counter and of wqe_counter
constexpr uint32_t max_segments = 63;           ///< maximum of a control segment's length field
constexpr uint32_t inline_bit = 0x80000000;     ///< in byte_count: inline data follows instead of an address
constexpr uint32_t max_sge_bytes = 0x7fffffff;  ///< longest data segment: the next bit is inline_bit
constexpr uint32_t invalid_lkey = 0x100;        ///< terminates the list of a receive entry with unused segments
constexpr uint32_t atomic_bytes = 8;            ///< byte_count of an atomic's data segment
constexpr uint32_t key_mask = 0xffffff;         ///< queue pair and completion queue numbers have 24 bits

/// Opcodes: bits 7:0 of the first word.
enum class Opcode : uint8_t {
  nop = 0x00,
  send_invalidate = 0x01,
  rdma_write = 0x08,
  rdma_write_immediate = 0x09,
  send = 0x0a,
  send_immediate = 0x0b,
  tso = 0x0e,
  rdma_read = 0x10,
  compare_swap = 0x11,
  fetch_add = 0x12,
  masked_compare_swap = 0x14,
  masked_fetch_add = 0x15,
  fast_register = 0x19,
  local_invalidate = 0x1b,
  config_command = 0x1f,
  set_psv = 0x20,
  umr = 0x25,  ///< user-mode memory registration; rdma-core's translation of local invalidate and of binding windows
  tag_matching = 0x28,
  flow_table_access = 0x2c,
  memory_to_memory = 0x2f,
};

/// Flags of a control segment: bits 7:0 of ControlSegment::signature_flags.
namespace control_flag {
/// @addtogroup vendors_mlx5
/// @{
constexpr uint32_t solicited = 0x02;        ///< the receiver's completion raises a solicited event
constexpr uint32_t completion = 0x08;       ///< always write a completion entry; without it, only on error
constexpr uint32_t small_fence = 0x20;      ///< initiator small fence: wait for local operations before this one
constexpr uint32_t fence = 0x80;            ///< wait for reads and atomics before this one
constexpr uint32_t completion_mask = 0x0c;  ///< completion mode
constexpr uint32_t fence_mask = 0xe0;       ///< fence mode
/// @}
}  // namespace control_flag

/// Control segment: the first segment of every send queue entry.
struct alignas(16) ControlSegment {
  Be32 opmod_index_opcode;  ///< modifier 31:24, producer counter of the entry's first WQEBB 23:8, opcode 7:0
  Be32 qpn_ds;              ///< queue pair number 31:8, length in segments 5:0
  Be32 signature_flags;     ///< signature 31:24, DCI stream channel 23:8, control_flag 7:0
  Be32 immediate;           ///< immediate data, or the key to invalidate, or a memory key; else 0
};
static_assert(sizeof(ControlSegment) == 16, "a control segment has 16 bytes");
static_assert(XIO_OFFSETOF(ControlSegment, qpn_ds) == 4 && XIO_OFFSETOF(ControlSegment, signature_flags) == 8 &&
                  XIO_OFFSETOF(ControlSegment, immediate) == 12,
              "offsets as in mlx5dv.h");

/// First word of a control segment. `index`: producer counter in WQEBBs; bits 15:0 are used.
XIO_DEVICE constexpr Be32 control_word0(Opcode opcode, uint64_t index, uint8_t modifier = 0) {
  // Composed in memory byte order: the compiler swaps the constants, and the index costs one permutation.
  Be32 word{};
  word.raw = byte_swap(static_cast<uint32_t>(index) & 0xffffu) >> 8 | static_cast<uint32_t>(opcode) << 24 | modifier;
  return word;
}

/// Second word of a control segment. `qpn`: 24 bits; `segments`: 1 to 63, including this one.
XIO_DEVICE constexpr Be32 control_word1(uint32_t qpn, uint32_t segments) {
  Be32 word{};
  word.raw = byte_swap(qpn) >> 8 | segments << 24;
  return word;
}

/// Remote address segment of reads, writes and atomics.
struct alignas(16) RemoteAddressSegment {
  Be64 address;   ///< remote virtual address
  Be32 rkey;      ///< remote key
  Be32 reserved;  ///< 0
};
static_assert(sizeof(RemoteAddressSegment) == 16, "a remote address segment has 16 bytes");
static_assert(XIO_OFFSETOF(RemoteAddressSegment, rkey) == 8 && XIO_OFFSETOF(RemoteAddressSegment, reserved) == 12,
              "offsets as in mlx5dv.h");

/// Atomic segment.
struct alignas(16) AtomicSegment {
  Be64 swap_add;  ///< swap or add operand
  Be64 compare;   ///< compare operand; not read by fetch-and-add
};
static_assert(sizeof(AtomicSegment) == 16, "an atomic segment has 16 bytes");
static_assert(XIO_OFFSETOF(AtomicSegment, compare) == 8, "offsets as in mlx5dv.h");

/// Atomic segment of the masked operations.
struct alignas(16) MaskedAtomicSegment {
  Be64 swap_add;       ///< swap or add operand
  Be64 compare;        ///< compare operand
  Be64 swap_add_mask;  ///< swap: bits to store; add: field boundaries
  Be64 compare_mask;   ///< bits to compare
};
static_assert(sizeof(MaskedAtomicSegment) == 32, "a masked atomic segment has 32 bytes");
static_assert(XIO_OFFSETOF(MaskedAtomicSegment, compare) == 8 &&
                  XIO_OFFSETOF(MaskedAtomicSegment, swap_add_mask) == 16 &&
                  XIO_OFFSETOF(MaskedAtomicSegment, compare_mask) == 24,
              "offsets as in wqe.h");

/// Data segment: a range of local memory. A send queue entry omits segments of length 0: the device does not interpret
/// 0 as "no data".
struct alignas(16) DataSegment {
  Be32 byte_count;  ///< bytes, at most max_sge_bytes
  Be32 lkey;        ///< local key
  Be64 address;     ///< local virtual address
};
static_assert(sizeof(DataSegment) == 16, "a data segment has 16 bytes");
static_assert(XIO_OFFSETOF(DataSegment, lkey) == 4 && XIO_OFFSETOF(DataSegment, address) == 8,
              "offsets as in mlx5dv.h");

/// Header of an inline segment; the data follows immediately, and the segment is padded to 16 bytes.
struct InlineHeader {
  Be32 byte_count;  ///< bytes | inline_bit
};
static_assert(sizeof(InlineHeader) == 4, "the head of an inline segment has 4 bytes");

/// Address vector of datagrams and dynamically connected transport.
struct alignas(16) AddressVector {
  Be64 key;                ///< Q_Key in 63:32, or the 64-bit DC access key
  Be32 destination_qpn;    ///< destination queue pair or DC target 23:0; bit 31: the extended form of 48 bytes
  uint8_t rate_sl;         ///< static rate 7:4, service level 3:0
  uint8_t path;            ///< "force loopback" 7, source path bits 6:0
  Be16 remote_lid;         ///< destination LID, or UDP source port
  Be32 reserved;           ///< 0
  uint8_t remote_mac[6];   ///< destination MAC address
  uint8_t traffic_class;   ///< traffic class
  uint8_t hop_limit;       ///< hop limit
  Be32 gid_flow;           ///< GRH present 30, source GID index 27:20, flow label 19:0
  uint8_t remote_gid[16];  ///< destination GID
};
static_assert(sizeof(AddressVector) == 48, "an address vector has 48 bytes");
static_assert(XIO_OFFSETOF(AddressVector, destination_qpn) == 8 && XIO_OFFSETOF(AddressVector, rate_sl) == 12 &&
                  XIO_OFFSETOF(AddressVector, path) == 13 && XIO_OFFSETOF(AddressVector, remote_lid) == 14 &&
                  XIO_OFFSETOF(AddressVector, remote_mac) == 20 && XIO_OFFSETOF(AddressVector, traffic_class) == 26 &&
                  XIO_OFFSETOF(AddressVector, hop_limit) == 27 && XIO_OFFSETOF(AddressVector, gid_flow) == 28 &&
                  XIO_OFFSETOF(AddressVector, remote_gid) == 32,
              "offsets as in mlx5dv.h");
constexpr uint32_t extended_address_vector = 0x80000000;  ///< in AddressVector::destination_qpn

/// Header of a user-mode memory registration; a MkeySegment follows, then translations if there are any.
struct alignas(16) UmrControlSegment {
  uint8_t flags;            ///< check free 5, inline 7
  uint8_t reserved0[3];     ///< 0
  Be16 klm_octowords;       ///< size of the translations, units of 16 bytes
  Be16 translation_offset;  ///< offset of the translations, units of 16 bytes
  Be64 mkey_mask;           ///< which fields of the MkeySegment are valid
  uint8_t reserved1[32];    ///< 0
};
static_assert(sizeof(UmrControlSegment) == 48, "a UMR control segment has 48 bytes");
static_assert(XIO_OFFSETOF(UmrControlSegment, klm_octowords) == 4 &&
                  XIO_OFFSETOF(UmrControlSegment, translation_offset) == 6 &&
                  XIO_OFFSETOF(UmrControlSegment, mkey_mask) == 8,
              "offsets as in mlx5dv.h");
constexpr uint8_t umr_check_free = 0x20;          ///< in UmrControlSegment::flags
constexpr uint8_t umr_check_qpn = 0x08;           ///< in UmrControlSegment::flags
constexpr uint8_t umr_translation_offset = 0x10;  ///< in UmrControlSegment::flags: translation_offset is valid
constexpr uint8_t umr_inline = 0x80;              ///< in UmrControlSegment::flags: translations are in the entry
constexpr uint64_t umr_mask_mkey = 1ull << 13;    ///< in UmrControlSegment::mkey_mask: the key's variable part
constexpr uint64_t umr_mask_qpn = 1ull << 14;     ///< in UmrControlSegment::mkey_mask: the queue pair
constexpr uint64_t umr_mask_free = 1ull << 29;    ///< in UmrControlSegment::mkey_mask: free or in use

/// New state of a memory key; follows a UmrControlSegment.
struct alignas(16) MkeySegment {
  uint8_t free;                ///< 0x40: not in use
  uint8_t reserved0;           ///< 0
  uint8_t access_flags;        ///< local read 2, local write 3, remote read 4, remote write 5, atomic 6
  uint8_t sf;                  ///< 0
  Be32 qpn_mkey;               ///< queue pair 31:8 (0xffffff: any), variable part of the key 7:0
  Be32 reserved1;              ///< 0
  Be32 flags_pd;               ///< flags 31:24, protection domain 23:0
  Be64 start;                  ///< virtual address
  Be64 length;                 ///< bytes
  Be32 bsf_octowords;          ///< size of the signature description, units of 16 bytes
  uint8_t reserved2[16];       ///< 0
  Be32 translation_octowords;  ///< number of translations, 16 bytes each
  uint8_t reserved3[3];        ///< 0
  uint8_t log_page_size;       ///< log2 of the page size in bytes
  Be32 reserved4;              ///< 0
};
static_assert(sizeof(MkeySegment) == 64, "a memory key segment has 64 bytes");
static_assert(XIO_OFFSETOF(MkeySegment, access_flags) == 2 && XIO_OFFSETOF(MkeySegment, qpn_mkey) == 4 &&
                  XIO_OFFSETOF(MkeySegment, flags_pd) == 12 && XIO_OFFSETOF(MkeySegment, start) == 16 &&
                  XIO_OFFSETOF(MkeySegment, length) == 24 && XIO_OFFSETOF(MkeySegment, bsf_octowords) == 32 &&
                  XIO_OFFSETOF(MkeySegment, translation_octowords) == 52 &&
                  XIO_OFFSETOF(MkeySegment, log_page_size) == 59,
              "offsets as in mlx5dv.h");
constexpr uint8_t mkey_free = 0x40;  ///< in MkeySegment::free

/// One translation of a memory key.
struct alignas(16) KlmSegment {
  Be32 byte_count;  ///< bytes
  Be32 mkey;        ///< memory key
  Be64 address;     ///< virtual address within that key
};
static_assert(sizeof(KlmSegment) == 16, "a translation has 16 bytes");
static_assert(XIO_OFFSETOF(KlmSegment, mkey) == 4 && XIO_OFFSETOF(KlmSegment, address) == 8, "offsets as in mlx5dv.h");

/// Segment that names the shared receive queue of an XRC target.
struct alignas(16) XrcSegment {
  Be32 srqn;         ///< shared receive queue number
  Be32 reserved[3];  ///< 0
};
static_assert(sizeof(XrcSegment) == 16, "an XRC segment has 16 bytes");

/// First segment of a shared receive queue entry.
struct alignas(16) SrqNextSegment {
  uint8_t reserved0[2];   ///< 0
  Be16 next;              ///< index of the next free entry
  uint8_t signature;      ///< 0 without signatures
  uint8_t reserved1[11];  ///< 0
};
static_assert(sizeof(SrqNextSegment) == 16, "a next segment has 16 bytes");
static_assert(XIO_OFFSETOF(SrqNextSegment, next) == 2 && XIO_OFFSETOF(SrqNextSegment, signature) == 4,
              "offsets as in mlx5dv.h");

/// Completion queue entry. In queues with 128-byte entries, this is the second half of an entry.
struct alignas(64) Cqe {
  uint8_t reserved0[17];  ///< tag matching, stride index: not for RC queue pairs
  uint8_t ml_path;        ///< path bits
  uint8_t reserved1[4];   ///< hash result
  Be16 slid;              ///< source LID
  Be32 flags_source_qpn;  ///< service level 27:24, source queue pair number 23:0
  uint8_t reserved2[4];   ///< headers of Ethernet packets
  Be32 srqn_user_index;   ///< 23:0: shared receive queue number (CQE version 0) or user index (version 1)
  Be32 immediate;         ///< immediate data, or the key that was invalidated
  uint8_t reserved3[4];   ///< application
  Be32 byte_count;        ///< bytes received or read
  Be64 timestamp;         ///< device clock
  Be32 opcode_qpn;        ///< opcode of the send queue entry 31:24, queue pair number 23:0
  Be16 wqe_counter;       ///< producer counter of the completed entry's first WQEBB; receive: the entry's index
  uint8_t signature;      ///< 0 without signatures
  uint8_t opcode_owner;   ///< CqeOpcode 7:4, format 3:2, solicited 1, owner 0
};
static_assert(sizeof(Cqe) == 64, "a CQE has 64 bytes");
static_assert(XIO_OFFSETOF(Cqe, ml_path) == 17 && XIO_OFFSETOF(Cqe, slid) == 22 &&
                  XIO_OFFSETOF(Cqe, flags_source_qpn) == 24 && XIO_OFFSETOF(Cqe, srqn_user_index) == 32 &&
                  XIO_OFFSETOF(Cqe, immediate) == 36 && XIO_OFFSETOF(Cqe, byte_count) == 44 &&
                  XIO_OFFSETOF(Cqe, timestamp) == 48 && XIO_OFFSETOF(Cqe, opcode_qpn) == 56 &&
                  XIO_OFFSETOF(Cqe, wqe_counter) == 60 && XIO_OFFSETOF(Cqe, signature) == 62 &&
                  XIO_OFFSETOF(Cqe, opcode_owner) == 63,
              "offsets as in mlx5dv.h");

/// Completion queue entry of an operation that failed.
struct alignas(64) ErrorCqe {
  uint8_t reserved0[32];    ///< not used
  Be32 srqn;                ///< as Cqe::srqn_user_index
  uint8_t reserved1[18];    ///< not used
  uint8_t vendor_syndrome;  ///< vendor-specific detail
  uint8_t syndrome;         ///< Syndrome
  Be32 opcode_qpn;          ///< as Cqe::opcode_qpn
  Be16 wqe_counter;         ///< as Cqe::wqe_counter
  uint8_t signature;        ///< as Cqe::signature
  uint8_t opcode_owner;     ///< as Cqe::opcode_owner
};
static_assert(sizeof(ErrorCqe) == 64, "a CQE has 64 bytes");
static_assert(XIO_OFFSETOF(ErrorCqe, srqn) == 32 && XIO_OFFSETOF(ErrorCqe, vendor_syndrome) == 54 &&
                  XIO_OFFSETOF(ErrorCqe, syndrome) == 55 && XIO_OFFSETOF(ErrorCqe, opcode_qpn) == 56 &&
                  XIO_OFFSETOF(ErrorCqe, wqe_counter) == 60 && XIO_OFFSETOF(ErrorCqe, opcode_owner) == 63,
              "offsets as in mlx5dv.h");

constexpr uint8_t owner_bit = 0x01;          ///< in opcode_owner: set in entries written on an odd lap
constexpr uint8_t inline_scatter_32 = 0x04;  ///< in opcode_owner: up to 32 received bytes are in the entry
constexpr uint8_t inline_scatter_64 =
    0x08;  ///< in opcode_owner: up to 64 received bytes are in the 64 bytes before the entry
constexpr uint8_t initial_opcode_owner = 0xf0;  ///< set-up writes it to every entry: "invalid", owner 0

/// Owner bit of a new entry at consumer index `index` of a queue of `entries` (power of two): 0 on lap 0. An entry is
/// new if its owner bit has this value and its opcode is not CqeOpcode::invalid.
XIO_DEVICE constexpr uint8_t expected_owner(uint64_t index, uint64_t entries) { return (index & entries) != 0 ? 1 : 0; }

// Doorbell records: two Be32 in host memory.
constexpr uint32_t receive_record = 0;              ///< word: receive counter
constexpr uint32_t send_record = 1;                 ///< word: send counter, one past the last WQEBB
constexpr uint32_t consumer_record = 0;             ///< word: consumer index of a completion queue
constexpr uint32_t arm_record = 1;                  ///< word: value of cq_arm_word()
constexpr uint32_t record_counter_mask = 0xffff;    ///< bits of a work queue's counter
constexpr uint32_t consumer_index_mask = 0xffffff;  ///< bits of a completion queue's index

// Registers of a UAR page, byte offsets.
constexpr uint32_t uar_bytes = 4096;        ///< size of the page
constexpr uint32_t uar_blue_flame = 0x800;  ///< first register for sends
constexpr uint32_t uar_cq_doorbell = 0x20;  ///< 8 bytes: arm word 63:32, completion queue number 31:0, big-endian
constexpr uint32_t arm_solicited_only = 1u << 24;  ///< in the arm word: solicited completions only

/// Doorbell of a send queue: the first 8 bytes of the last posted entry's control segment, in memory byte order.
XIO_DEVICE constexpr uint64_t send_doorbell(const ControlSegment& last) {
  return uint64_t{last.qpn_ds.raw} << 32 | last.opmod_index_opcode.raw;
}

/// Word that arms a completion queue: `sequence` counts arms, `consumer` is the consumer index.
XIO_DEVICE constexpr uint32_t cq_arm_word(uint32_t sequence, uint64_t consumer, bool solicited_only) {
  return (sequence & 3u) << 28 | (solicited_only ? arm_solicited_only : 0u) |
         static_cast<uint32_t>(consumer & consumer_index_mask);
}

/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
