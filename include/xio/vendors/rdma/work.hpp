// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief RDMA operations as input to all vendors' encoders: the operation, its payload and the place of its entry.
///
/// Integers are in native byte order; each vendor's encoder converts them to its device's format. Keys are those of the
/// verbs (InfiniBand Architecture Specification 1.5, volume 1, chapters 9 and 10).

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// Operation that a send queue entry requests.
// 4 bytes wide, for clang copies the padding of a Work, which no lane stored, into LDS.
enum class Operation : uint32_t {
  put,               ///< RDMA write
  put_immediate,     ///< RDMA write with immediate
  send,              ///< send
  send_immediate,    ///< send with immediate
  send_invalidate,   ///< send, and invalidate one of the receiver's keys
  get,               ///< RDMA read
  compare_swap,      ///< atomic compare and swap of 8 bytes
  fetch_add,         ///< atomic fetch and add of 8 bytes
  local_invalidate,  ///< invalidate a local key
  nop,               ///< no operation: completes after everything posted before it (MLX5)
};

/// Whether an operation accesses remote memory by address.
XIO_DEVICE constexpr bool is_remote(Operation operation) {
  return operation == Operation::put || operation == Operation::put_immediate || operation == Operation::get ||
         operation == Operation::compare_swap || operation == Operation::fetch_add;
}
/// Whether an operation changes 8 bytes of remote memory and returns their previous value.
XIO_DEVICE constexpr bool is_atomic(Operation operation) {
  return operation == Operation::compare_swap || operation == Operation::fetch_add;
}
/// Whether an operation writes its data to local memory.
XIO_DEVICE constexpr bool fills_local(Operation operation) {
  return operation == Operation::get || is_atomic(operation);
}
/// Whether an operation is local to the device: nothing is sent to the peer, and it carries no data.
XIO_DEVICE constexpr bool is_local(Operation operation) {
  return operation == Operation::local_invalidate || operation == Operation::nop;
}
/// Whether an operation carries immediate data.
XIO_DEVICE constexpr bool has_immediate(Operation operation) {
  return operation == Operation::put_immediate || operation == Operation::send_immediate;
}
/// Whether an operation carries a key to invalidate.
XIO_DEVICE constexpr bool has_invalidate_key(Operation operation) {
  return operation == Operation::send_invalidate || operation == Operation::local_invalidate;
}

constexpr uint32_t atomic_bytes = 8;              ///< size of an atomic's operand
constexpr uint32_t max_message_bytes = 1u << 31;  ///< longest message of a connected queue pair

/// Flags of an operation; may be combined.
namespace work_flag {
/// @addtogroup vendors_rdma
/// @{
/// Write a completion entry; failed operations always do. If the vendor has no Operation::nop, operations other than
/// writes also write one (QueuePairHandle::signal_every).
constexpr uint32_t signaled = 1;
constexpr uint32_t fence = 2;      ///< start after all earlier gets and atomics have completed
constexpr uint32_t solicited = 4;  ///< the receiver's completion raises a solicited event
/// @}
}  // namespace work_flag

/// One operation of a send queue, without its data.
struct Work {
  Operation operation = Operation::put;
  uint32_t flags = 0;      ///< work_flag
  uint32_t rkey = 0;       ///< key of the remote memory
  uint32_t immediate = 0;  ///< immediate data, sent in network byte order; or the key to invalidate
  uint64_t remote = 0;     ///< remote virtual address
  uint64_t swap_add = 0;   ///< atomics: swap or add operand
  uint64_t compare = 0;    ///< compare_swap: compare operand

  XIO_HOST_DEVICE constexpr bool has(uint32_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(Work) == 4 * sizeof(uint32_t) + 3 * sizeof(uint64_t));

/// Scatter/gather entry: a contiguous range of registered local memory.
struct Sge {
  uint64_t address;  ///< local virtual address
  uint32_t length;   ///< bytes
  uint32_t lkey;     ///< local key
};

// Payloads: the location of an operation's data. The type carries what is known at compile time; `is_single`: exactly
// one SGE.

/// No data: a message of length 0, or a local operation.
struct NoPayload {
  static constexpr bool is_inline = false;
  static constexpr bool is_single = false;
  uint32_t number = 0;  ///< 0; a member, because nvcc warns about loops up to a constant 0
  XIO_HOST_DEVICE constexpr uint32_t count() const { return number; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return number; }
  XIO_HOST_DEVICE static constexpr Sge at(uint32_t) { return {0, 0, 0}; }
};

/// One SGE.
struct OneSge {
  static constexpr bool is_inline = false;
  static constexpr bool is_single = true;
  Sge sge;
  XIO_HOST_DEVICE static constexpr uint32_t count() { return 1; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return sge.length; }
  XIO_HOST_DEVICE constexpr Sge at(uint32_t) const { return sge; }
};

/// Any number of SGEs, listed in memory that the caller can read.
struct SgeList {
  static constexpr bool is_inline = false;
  static constexpr bool is_single = false;
  const Sge* list;
  uint32_t number;
  XIO_HOST_DEVICE constexpr uint32_t count() const { return number; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < number; ++i) sum += list[i].length;
    return sum;
  }
  XIO_HOST_DEVICE constexpr Sge at(uint32_t i) const { return list[i]; }
};

/// Inline data, copied to the entry from memory that the caller can read.
struct InlineBytes {
  static constexpr bool is_inline = true;
  static constexpr bool is_single = false;
  const uint8_t* data;
  uint32_t length;
  XIO_HOST_DEVICE static constexpr uint32_t count() { return 0; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return length; }
  /// Four bytes from `offset` on, in memory order; bytes beyond the end, or before 0, are 0.
  XIO_HOST_DEVICE constexpr uint32_t word(int32_t offset) const {
    uint32_t value = 0;
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t at = offset + i;
      if (at >= 0 && at < static_cast<int32_t>(length)) value |= uint32_t{data[at]} << (8 * i);
    }
    return value;
  }
};

/// Inline data: an 8-byte value, stored in the entry from a register.
struct InlineValue {
  static constexpr bool is_inline = true;
  static constexpr bool is_single = false;
  uint64_t value;
  XIO_HOST_DEVICE static constexpr uint32_t count() { return 0; }
  XIO_HOST_DEVICE static constexpr uint64_t bytes() { return 8; }
  XIO_HOST_DEVICE constexpr uint32_t word(int32_t offset) const {
    return offset == 0 ? static_cast<uint32_t>(value) : offset == 4 ? static_cast<uint32_t>(value >> 32) : 0;
  }
};

/// 16 bytes of a queue entry.
struct alignas(16) Segment {
  uint32_t word[4];
};

/// The segment of inline data from `offset` on.
template <class Inline>
XIO_DEVICE constexpr Segment inline_segment(const Inline& data, int32_t offset) {
  return {{data.word(offset), data.word(offset + 4), data.word(offset + 8), data.word(offset + 12)}};
}

/// Properties that a send queue was created with.
struct SendShape {
  uint32_t qpn = 0;          ///< queue pair number; ERNIC: its handle
  uint32_t entries = 0;      ///< ring size in units; the vendor's producer counter counts units
  uint32_t entry_shift = 0;  ///< log2 of the size of a unit in bytes, if the vendor does not fix it
  uint32_t max_sges = 0;     ///< SGEs of one operation, at least 1: a single SGE is not checked against it
  uint32_t max_inline = 0;   ///< bytes of inline data of one operation
  uint32_t mtu_shift = 0;    ///< log2 of the path MTU in bytes (BNXT)
  uint32_t queue_type = 0;   ///< number of the send queues' doorbell register (IONIC with express doorbells)
};

/// Properties that a receive queue was created with.
struct ReceiveShape {
  uint32_t qpn = 0;          ///< queue pair number; ERNIC: its handle
  uint32_t entries = 0;      ///< entries of the ring
  uint32_t entry_shift = 0;  ///< log2 of the size of an entry in bytes
  uint32_t max_sges = 0;     ///< SGEs of one entry
};

/// Place of an entry in the queue, and the queue's state at that point.
struct Place {
  uint64_t index = 0;                   ///< producer counter of the entry's first unit, since the queue's creation
  uint64_t wr_id = 0;                   ///< returned in completions, for vendors whose entries hold it
  bool after_memory_operation = false;  ///< the preceding entry changed a key by a memory operation (MLX5)
};

/// Sink of an encoder in constant expressions and tests: an array that records which segments were stored.
template <uint32_t Segments>
struct ArraySink {
  static constexpr bool avoids_branches = true;  ///< as on GPUs

  Segment segment[Segments]{};
  bool stored[Segments]{};

  /// Stores segment `i` of the entry.
  XIO_HOST_DEVICE constexpr void put(uint32_t i, const Segment& value) {
    segment[i] = value;
    stored[i] = true;
  }
  /// Stores segment `i`, which is not a compile-time constant.
  XIO_HOST_DEVICE constexpr void put_chosen(uint32_t i, const Segment& value) { put(i, value); }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
