// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC, an emulated NIC with the queues of PVRDMA: ring state, work queue and completion queue entries,
/// doorbells (Linux UAPI, rdma/vmw_pvrdma-abi.h; rdma-core, providers/vmw_pvrdma/pvrdma_ring.h; ROCm/rocm-ernic,
/// driver/rocm_ernic-abi.h and rocm_ernic_verbs.h).
///
/// Everything is little-endian, except for immediate data. The page before a ring holds its state; all entries of a
/// queue have the same size.

#include <xio/config.hpp>
#include <xio/vendors/endian.hpp>
#include <xio/vendors/rdma/verbs_layout.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

constexpr uint32_t abi_version = 3;           ///< version of the kernel's user ABI
constexpr uint32_t ring_offset = 4096;        ///< offset of the entries of a send or completion queue from their state
constexpr uint32_t sq_operation_offset = 32;  ///< offset of RdmaOperation and the like in a send queue entry
constexpr uint32_t sq_sge_offset = 80;        ///< offset of the SGEs in a send queue entry
constexpr uint32_t rq_sge_offset = 16;        ///< offset of the SGEs in a receive queue entry

/// Opcodes of the kernel's interface and the device. The verbs number atomics, sends with invalidate and the later
/// opcodes differently.
enum class Opcode : uint32_t {
  rdma_write = 0,
  rdma_write_immediate = 1,
  send = 2,
  send_immediate = 3,
  rdma_read = 4,
  compare_swap = 5,
  fetch_add = 6,
  lso = 7,
  send_invalidate = 8,
  rdma_read_invalidate = 9,
  local_invalidate = 10,
  fast_register = 11,
  masked_compare_swap = 12,
  masked_fetch_add = 13,
  bind = 14,
  register_signature = 15,
  error = 16,
  send_dc = 17,  ///< ERNIC only
};

/// Flags of an operation: SqHeader::send_flags. inline_data has no effect: entries cannot hold inline data.
namespace send_flag {
/// @addtogroup vendors_ernic
/// @{
using namespace rdma::verbs::send_flag;
constexpr uint32_t ip_checksum = 16;  ///< checksum offload
/// @}
}  // namespace send_flag

/// One ring's indices. They count modulo twice the number of entries: equal indices mean empty, indices that differ
/// only in the highest bit mean full.
struct alignas(8) Ring {
  uint32_t producer_tail;  ///< next entry to write
  uint32_t consumer_head;  ///< next entry to read
};
static_assert(sizeof(Ring) == 8, "a ring's state has 8 bytes");
static_assert(XIO_OFFSETOF(Ring, consumer_head) == 4, "offsets as in pvrdma_ring.h");

/// First 16 bytes of the page before a ring.
struct alignas(16) RingState {
  Ring tx;  ///< queue pair: send queue; completion queue: not used
  Ring rx;  ///< queue pair: receive queue; completion queue: the device writes the tail, the consumer the head
};
static_assert(sizeof(RingState) == 16, "both states have 16 bytes");
static_assert(XIO_OFFSETOF(RingState, rx) == 8, "offsets as in pvrdma_ring.h");

/// Whether a ring is empty.
XIO_DEVICE constexpr bool ring_empty(uint32_t tail, uint32_t head) { return tail == head; }

/// Whether a ring of `entries` (power of two) is full.
XIO_DEVICE constexpr bool ring_full(uint32_t tail, uint32_t head, uint32_t entries) { return tail == (head ^ entries); }

/// Index after `index` in a ring of `entries` (power of two).
XIO_DEVICE constexpr uint32_t ring_next(uint32_t index, uint32_t entries) { return (index + 1) & (2 * entries - 1); }

/// First 32 bytes of a send queue entry.
struct alignas(16) SqHeader {
  uint64_t wr_id;        ///< returned in the completion entry
  uint32_t sges;         ///< number of SGEs
  uint32_t total_bytes;  ///< bytes of the message; the device does not read it
  uint32_t opcode;       ///< Opcode
  uint32_t send_flags;   ///< send_flag
  Be32 immediate;        ///< immediate data in network byte order; a key to invalidate is little-endian: set `raw`
  uint32_t reserved;     ///< 0
};
static_assert(sizeof(SqHeader) == 32, "a header has 32 bytes");
static_assert(XIO_OFFSETOF(SqHeader, sges) == 8 && XIO_OFFSETOF(SqHeader, total_bytes) == 12 &&
                  XIO_OFFSETOF(SqHeader, opcode) == 16 && XIO_OFFSETOF(SqHeader, send_flags) == 20 &&
                  XIO_OFFSETOF(SqHeader, immediate) == 24,
              "offsets as in vmw_pvrdma-abi.h");

using rdma::verbs::AtomicOperation;  ///< at sq_operation_offset
using rdma::verbs::RdmaOperation;    ///< at sq_operation_offset
using rdma::verbs::Sge;

/// Address vector of datagrams.
struct alignas(4) AddressVector {
  uint32_t port_pd;             ///< port 31:24, protection domain 23:0
  uint32_t sl_class_flow;       ///< service level 31:28, traffic class 27:20, flow label 19:0
  uint8_t destination_gid[16];  ///< destination GID
  uint8_t source_path;          ///< source path bits
  uint8_t gid_index;            ///< source GID index
  uint8_t static_rate;          ///< static rate
  uint8_t hop_limit;            ///< hop limit
  uint8_t destination_mac[6];   ///< destination MAC address
  uint8_t reserved[6];          ///< 0
};
static_assert(sizeof(AddressVector) == 40, "an address vector has 40 bytes");
static_assert(XIO_OFFSETOF(AddressVector, sl_class_flow) == 4 && XIO_OFFSETOF(AddressVector, destination_gid) == 8 &&
                  XIO_OFFSETOF(AddressVector, source_path) == 24 && XIO_OFFSETOF(AddressVector, gid_index) == 25 &&
                  XIO_OFFSETOF(AddressVector, static_rate) == 26 && XIO_OFFSETOF(AddressVector, hop_limit) == 27 &&
                  XIO_OFFSETOF(AddressVector, destination_mac) == 28,
              "offsets as in vmw_pvrdma-abi.h");

/// Datagrams, at sq_operation_offset.
struct alignas(8) DatagramOperation {
  uint32_t remote_qpn;           ///< destination queue pair number
  uint32_t remote_qkey;          ///< Q_Key
  AddressVector address_vector;  ///< destination
};
static_assert(sizeof(DatagramOperation) == 48, "a datagram has 48 bytes");
static_assert(XIO_OFFSETOF(DatagramOperation, remote_qkey) == 4 && XIO_OFFSETOF(DatagramOperation, address_vector) == 8,
              "offsets as in vmw_pvrdma-abi.h");

/// Dynamically connected transport, at sq_operation_offset; ERNIC only.
struct alignas(16) DcOperation {
  uint32_t remote_target;   ///< DC target number
  uint32_t access_key;      ///< DC access key
  uint32_t address_handle;  ///< identifier of the address handle
  uint32_t reserved;        ///< 0
};
static_assert(sizeof(DcOperation) == 16, "a DC operation has 16 bytes");
static_assert(XIO_OFFSETOF(DcOperation, access_key) == 4 && XIO_OFFSETOF(DcOperation, address_handle) == 8,
              "offsets as in rocm_ernic-abi.h");

/// First 16 bytes of a receive queue entry; the SGEs follow.
struct alignas(16) RqHeader {
  uint64_t wr_id;        ///< returned in the completion entry
  uint32_t sges;         ///< number of SGEs
  uint32_t total_bytes;  ///< total bytes of all SGEs; the device does not read it
};
static_assert(sizeof(RqHeader) == 16, "a header has 16 bytes");
static_assert(XIO_OFFSETOF(RqHeader, sges) == 8 && XIO_OFFSETOF(RqHeader, total_bytes) == 12,
              "offsets as in vmw_pvrdma-abi.h");

/// Completion queue entry.
struct alignas(64) Cqe {
  uint64_t wr_id;               ///< SqHeader::wr_id or RqHeader::wr_id
  uint64_t qp;                  ///< handle of the queue pair 15:0
  uint32_t opcode;              ///< CqeOpcode
  uint32_t status;              ///< CqeStatus
  uint32_t byte_count;          ///< bytes received or read
  Be32 immediate;               ///< immediate data in network byte order
  uint32_t source_qpn;          ///< source queue pair number
  uint32_t flags;               ///< cqe_flag
  uint32_t vendor_error;        ///< vendor-specific detail
  uint16_t pkey_index;          ///< P_Key index
  uint16_t slid;                ///< source LID
  uint8_t service_level;        ///< service level
  uint8_t path_bits;            ///< destination path bits
  uint8_t port;                 ///< port number
  uint8_t source_mac[6];        ///< source MAC address
  uint8_t network_header_type;  ///< 0 InfiniBand or RoCE v1, 1 IPv4, 2 IPv6
  uint8_t reserved[6];          ///< 0
};
static_assert(sizeof(Cqe) == 64, "a CQE has 64 bytes");
static_assert(XIO_OFFSETOF(Cqe, qp) == 8 && XIO_OFFSETOF(Cqe, opcode) == 16 && XIO_OFFSETOF(Cqe, status) == 20 &&
                  XIO_OFFSETOF(Cqe, byte_count) == 24 && XIO_OFFSETOF(Cqe, immediate) == 28 &&
                  XIO_OFFSETOF(Cqe, source_qpn) == 32 && XIO_OFFSETOF(Cqe, flags) == 36 &&
                  XIO_OFFSETOF(Cqe, vendor_error) == 40 && XIO_OFFSETOF(Cqe, pkey_index) == 44 &&
                  XIO_OFFSETOF(Cqe, slid) == 46 && XIO_OFFSETOF(Cqe, service_level) == 48 &&
                  XIO_OFFSETOF(Cqe, path_bits) == 49 && XIO_OFFSETOF(Cqe, port) == 50 &&
                  XIO_OFFSETOF(Cqe, source_mac) == 51 && XIO_OFFSETOF(Cqe, network_header_type) == 57,
              "offsets as in vmw_pvrdma-abi.h");

/// Flags of a completion: Cqe::flags.
namespace cqe_flag {
/// @addtogroup vendors_ernic
/// @{
using namespace rdma::verbs::cqe_flag;
constexpr uint32_t invalidated = 4;  ///< a key was invalidated
constexpr uint32_t checksum_ok = 8;  ///< checksum offload
/// @}
}  // namespace cqe_flag

// Doorbells: 4 bytes each in a UAR page, little-endian.
constexpr uint32_t uar_qp_offset = 0;                ///< offset of the queue pair register
constexpr uint32_t uar_cq_offset = 4;                ///< offset of the completion queue register
constexpr uint32_t uar_srq_offset = 8;               ///< offset of the shared receive queue register
constexpr uint32_t uar_handle_mask = 0xffffff;       ///< handle of the queue
constexpr uint32_t uar_qp_send = 1u << 30;           ///< the send queue has new entries
constexpr uint32_t uar_qp_receive = 1u << 31;        ///< the receive queue has new entries
constexpr uint32_t uar_cq_arm_solicited = 1u << 29;  ///< arm for solicited completions
constexpr uint32_t uar_cq_arm = 1u << 30;            ///< arm for any completion
constexpr uint32_t uar_cq_poll = 1u << 31;           ///< write completions that are ready
constexpr uint32_t uar_srq_receive = 1u << 30;       ///< the shared receive queue has new entries

/// A doorbell value: `handle` is the queue's handle, not the queue pair number; `what` is one of the bits above.
XIO_DEVICE constexpr uint32_t doorbell(uint32_t handle, uint32_t what) { return (handle & uar_handle_mask) | what; }

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
