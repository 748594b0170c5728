// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pieces of queue entries in formats that follow the kernel's verbs (Linux UAPI, rdma/rdma_user_rxe.h and
/// rdma/vmw_pvrdma-abi.h; libibverbs, infiniband/verbs.h). Integers are in native byte order.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
namespace verbs {
/// @addtogroup vendors_rdma
/// @{

/// Flags of an operation.
namespace send_flag {
/// @addtogroup vendors_rdma
/// @{
constexpr uint32_t fence = 1;        ///< wait for reads and atomics before this one
constexpr uint32_t signaled = 2;     ///< write a completion entry
constexpr uint32_t solicited = 4;    ///< the receiver's completion raises a solicited event
constexpr uint32_t inline_data = 8;  ///< inline data follows instead of SGEs
/// @}
}  // namespace send_flag

/// Flags of a completion.
namespace cqe_flag {
/// @addtogroup vendors_rdma
/// @{
constexpr uint32_t grh = 1;        ///< a global routing header precedes the data
constexpr uint32_t immediate = 2;  ///< has immediate data
/// @}
}  // namespace cqe_flag

/// Scatter/gather entry: a range of local memory.
struct alignas(8) Sge {
  uint64_t address;  ///< local virtual address
  uint32_t length;   ///< bytes
  uint32_t lkey;     ///< local key
};
static_assert(sizeof(Sge) == 16, "an SGE has 16 bytes");
static_assert(XIO_OFFSETOF(Sge, length) == 8 && XIO_OFFSETOF(Sge, lkey) == 12, "offsets as in the UAPI's headers");

/// Reads and writes.
struct alignas(8) RdmaOperation {
  uint64_t remote_address;  ///< remote virtual address
  uint32_t rkey;            ///< remote key
  uint32_t reserved;        ///< 0
};
static_assert(sizeof(RdmaOperation) == 16, "a read or write has 16 bytes");
static_assert(XIO_OFFSETOF(RdmaOperation, rkey) == 8, "offsets as in the UAPI's headers");

/// Atomics.
struct alignas(8) AtomicOperation {
  uint64_t remote_address;  ///< remote virtual address
  uint64_t compare_add;     ///< compare or add operand
  uint64_t swap;            ///< swap operand; not read by fetch-and-add
  uint32_t rkey;            ///< remote key
  uint32_t reserved;        ///< 0
};
static_assert(sizeof(AtomicOperation) == 32, "an atomic has 32 bytes");
static_assert(XIO_OFFSETOF(AtomicOperation, compare_add) == 8 && XIO_OFFSETOF(AtomicOperation, swap) == 16 &&
                  XIO_OFFSETOF(AtomicOperation, rkey) == 24,
              "offsets as in the UAPI's headers");

/// @}
}  // namespace verbs
}  // namespace rdma

XIO_NAMESPACE_END
