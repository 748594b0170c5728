// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Soft-RoCE: queues that the kernel shares with user space (Linux UAPI, rdma/rdma_user_rxe.h and
/// rdma/ib_user_verbs.h).
///
/// Integers are in native byte order, except for immediate data. The "doorbell" is a system call that makes the kernel
/// read the producer index. The UAPI's own structures cannot be used: compiled as C++, they place the SGEs of a send
/// queue entry at an offset that differs by 8 bytes.

#include <xio/config.hpp>
#include <xio/vendors/endian.hpp>
#include <xio/vendors/rdma/verbs_layout.hpp>

XIO_NAMESPACE_BEGIN

namespace rxe {
/// @addtogroup vendors_rxe
/// @{

/// Opcodes; the values of the verbs.
enum class Opcode : uint32_t {
  rdma_write = 0,
  rdma_write_immediate = 1,
  send = 2,
  send_immediate = 3,
  rdma_read = 4,
  compare_swap = 5,
  fetch_add = 6,
  local_invalidate = 7,
  bind = 8,
  send_invalidate = 9,
};

namespace send_flag = rdma::verbs::send_flag;  ///< flags of an operation: SendHeader::send_flags
using rdma::verbs::AtomicOperation;            ///< at SendWqe::operation
using rdma::verbs::RdmaOperation;              ///< at SendWqe::operation
using rdma::verbs::Sge;

/// Start of a queue's memory; the entries follow. The kernel masks the indices that it reads; each index has its own
/// cache line.
struct alignas(128) QueueHeader {
  uint32_t log2_entry_bytes;  ///< log2 of an entry's size
  uint32_t index_mask;        ///< number of entries - 1; entries are a power of two
  uint32_t reserved0[30];     ///< not used
  uint32_t producer_index;    ///< next entry to write, 0 to index_mask
  uint32_t reserved1[31];     ///< not used
  uint32_t consumer_index;    ///< next entry to read, 0 to index_mask
  uint32_t reserved2[31];     ///< not used
};
static_assert(sizeof(QueueHeader) == 384, "entries start at byte 384");
static_assert(XIO_OFFSETOF(QueueHeader, index_mask) == 4 && XIO_OFFSETOF(QueueHeader, producer_index) == 128 &&
                  XIO_OFFSETOF(QueueHeader, consumer_index) == 256,
              "offsets as in rdma_user_rxe.h");

/// First 24 bytes of a send queue entry.
struct alignas(8) SendHeader {
  uint64_t wr_id;       ///< returned in the completion entry
  uint32_t reserved;    ///< 0
  uint32_t opcode;      ///< Opcode
  uint32_t send_flags;  ///< send_flag
  Be32 immediate;       ///< immediate data in network byte order; key to invalidate in native byte order (`raw`)
};
static_assert(sizeof(SendHeader) == 24, "a header has 24 bytes");
static_assert(XIO_OFFSETOF(SendHeader, opcode) == 12 && XIO_OFFSETOF(SendHeader, send_flags) == 16 &&
                  XIO_OFFSETOF(SendHeader, immediate) == 20,
              "offsets as in rdma_user_rxe.h");

/// Binding a memory window, at SendWqe::operation.
struct alignas(8) BindOperation {
  uint64_t address;  ///< virtual address
  uint64_t length;   ///< bytes
  uint32_t mr_lkey;  ///< key of the memory region
  uint32_t mw_rkey;  ///< key of the window before
  uint32_t rkey;     ///< key of the window after
  uint32_t access;   ///< access rights
};
static_assert(sizeof(BindOperation) == 32, "a bind has 32 bytes");
static_assert(XIO_OFFSETOF(BindOperation, length) == 8 && XIO_OFFSETOF(BindOperation, mr_lkey) == 16 &&
                  XIO_OFFSETOF(BindOperation, mw_rkey) == 20 && XIO_OFFSETOF(BindOperation, rkey) == 24 &&
                  XIO_OFFSETOF(BindOperation, access) == 28,
              "offsets as in rdma_user_rxe.h");

/// Transfer progress of an entry's data; SGEs or inline data follow immediately.
struct alignas(8) DmaState {
  uint32_t length;      ///< bytes of the message
  uint32_t residue;     ///< remaining bytes; initially the same as `length`
  uint32_t current;     ///< current SGE; initially 0
  uint32_t sges;        ///< number of SGEs
  uint32_t sge_offset;  ///< bytes transferred of that SGE; initially 0
  uint32_t reserved;    ///< 0
};
static_assert(sizeof(DmaState) == 24, "the state has 24 bytes");
static_assert(XIO_OFFSETOF(DmaState, residue) == 4 && XIO_OFFSETOF(DmaState, current) == 8 &&
                  XIO_OFFSETOF(DmaState, sges) == 12 && XIO_OFFSETOF(DmaState, sge_offset) == 16,
              "offsets as in rdma_user_rxe.h");

/// Send queue entry; SGEs or inline data follow immediately.
struct alignas(8) SendWqe {
  SendHeader header;       ///< operation and flags
  uint64_t operation[15];  ///< RdmaOperation, AtomicOperation or BindOperation; else 0
  uint32_t status;         ///< used by the kernel
  uint32_t state;          ///< used by the kernel; initially 0
  uint64_t iova;           ///< remote virtual address again
  uint32_t mask;           ///< used by the kernel
  uint32_t first_psn;      ///< used by the kernel
  uint32_t last_psn;       ///< used by the kernel
  uint32_t ack_length;     ///< used by the kernel
  uint32_t ssn;            ///< sequence number of the entry
  uint32_t has_rd_atomic;  ///< used by the kernel
  DmaState dma;            ///< transfer progress
};
static_assert(sizeof(SendWqe) == 208, "SGEs start at byte 208");
static_assert(XIO_OFFSETOF(SendWqe, operation) == 24 && XIO_OFFSETOF(SendWqe, status) == 144 &&
                  XIO_OFFSETOF(SendWqe, state) == 148 && XIO_OFFSETOF(SendWqe, iova) == 152 &&
                  XIO_OFFSETOF(SendWqe, mask) == 160 && XIO_OFFSETOF(SendWqe, first_psn) == 164 &&
                  XIO_OFFSETOF(SendWqe, last_psn) == 168 && XIO_OFFSETOF(SendWqe, ack_length) == 172 &&
                  XIO_OFFSETOF(SendWqe, ssn) == 176 && XIO_OFFSETOF(SendWqe, has_rd_atomic) == 180 &&
                  XIO_OFFSETOF(SendWqe, dma) == 184,
              "offsets as in rdma_user_rxe.h, compiled as C");

/// Receive queue entry; SGEs follow immediately.
struct alignas(8) ReceiveWqe {
  uint64_t wr_id;        ///< returned in the completion entry
  uint32_t reserved[2];  ///< 0
  DmaState dma;          ///< transfer progress
};
static_assert(sizeof(ReceiveWqe) == 40, "SGEs start at byte 40");
static_assert(XIO_OFFSETOF(ReceiveWqe, dma) == 16, "offsets as in rdma_user_rxe.h, compiled as C");

/// Completion queue entry. The queue's entries may be larger: see QueueHeader::log2_entry_bytes.
struct alignas(8) Cqe {
  uint64_t wr_id;         ///< SendHeader::wr_id or ReceiveWqe::wr_id
  uint32_t status;        ///< CqeStatus
  uint32_t opcode;        ///< CqeOpcode
  uint32_t vendor_error;  ///< 0
  uint32_t byte_count;    ///< bytes received or read
  Be32 immediate;         ///< immediate data in network byte order; an invalidated key is in native byte order
  uint32_t qpn;           ///< queue pair number
  uint32_t source_qpn;    ///< source queue pair number
  uint32_t flags;         ///< cqe_flag
  uint16_t pkey_index;    ///< P_Key index
  uint16_t slid;          ///< source LID
  uint8_t service_level;  ///< service level
  uint8_t path_bits;      ///< destination path bits
  uint8_t port;           ///< port number
  uint8_t reserved;       ///< 0
};
static_assert(sizeof(Cqe) == 48, "a CQE has 48 bytes");
static_assert(XIO_OFFSETOF(Cqe, status) == 8 && XIO_OFFSETOF(Cqe, opcode) == 12 &&
                  XIO_OFFSETOF(Cqe, vendor_error) == 16 && XIO_OFFSETOF(Cqe, byte_count) == 20 &&
                  XIO_OFFSETOF(Cqe, immediate) == 24 && XIO_OFFSETOF(Cqe, qpn) == 28 &&
                  XIO_OFFSETOF(Cqe, source_qpn) == 32 && XIO_OFFSETOF(Cqe, flags) == 36 &&
                  XIO_OFFSETOF(Cqe, pkey_index) == 40 && XIO_OFFSETOF(Cqe, slid) == 42 &&
                  XIO_OFFSETOF(Cqe, service_level) == 44 && XIO_OFFSETOF(Cqe, path_bits) == 45 &&
                  XIO_OFFSETOF(Cqe, port) == 46,
              "offsets as in ib_user_verbs.h");

/// Flags of a completion: Cqe::flags.
namespace cqe_flag {
/// @addtogroup vendors_rxe
/// @{
using namespace rdma::verbs::cqe_flag;
constexpr uint32_t invalidated = 8;  ///< a key was invalidated
/// @}
}  // namespace cqe_flag

/// @}
}  // namespace rxe

XIO_NAMESPACE_END
