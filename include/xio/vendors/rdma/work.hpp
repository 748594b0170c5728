// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief RDMA operations as all vendors' encoders take them: what to do, where the data lies, where the entry goes.
///
/// Integers are the CPU's; each vendor's encoder turns them into what its device reads. Keys are those of the verbs
/// (InfiniBand Architecture Specification 1.5, volume 1, chapters 9 and 10).

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// What an entry of a send queue asks for.
enum class Operation : uint8_t {
  put,               ///< RDMA write
  put_immediate,     ///< RDMA write with immediate
  send,              ///< send
  send_immediate,    ///< send with immediate
  send_invalidate,   ///< send, and invalidate a key of the receiver
  get,               ///< RDMA read
  compare_swap,      ///< atomic compare and swap of 8 bytes
  fetch_add,         ///< atomic fetch and add of 8 bytes
  local_invalidate,  ///< invalidate a local key
  nop,               ///< nothing but to end after all that was posted before (MLX5)
};

/// Whether an operation names remote memory.
XIO_DEVICE constexpr bool is_remote(Operation operation) {
  return operation == Operation::put || operation == Operation::put_immediate || operation == Operation::get ||
         operation == Operation::compare_swap || operation == Operation::fetch_add;
}
/// Whether an operation changes 8 bytes of remote memory and returns what was there.
XIO_DEVICE constexpr bool is_atomic(Operation operation) {
  return operation == Operation::compare_swap || operation == Operation::fetch_add;
}
/// Whether the data of an operation goes to local memory.
XIO_DEVICE constexpr bool fills_local(Operation operation) {
  return operation == Operation::get || is_atomic(operation);
}
/// Whether an operation is the device's own: no peer learns of it, and it carries no data.
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

/// Flags of an operation, to be combined.
namespace work_flag {
/// @addtogroup vendors_rdma
/// @{
/// Write a completion entry; failed operations always do. Where the vendor has no Operation::nop, operations other than
/// writes do so too (QueuePairHandle::signal_every).
constexpr uint32_t signaled = 1;
constexpr uint32_t fence = 2;      ///< begin after all earlier gets and atomics have ended
constexpr uint32_t solicited = 4;  ///< the receiver's completion raises a solicited event
/// @}
}  // namespace work_flag

/// One operation of a send queue, without its data.
struct Work {
  Operation operation = Operation::put;
  uint32_t flags = 0;      ///< work_flag
  uint32_t rkey = 0;       ///< key of the remote memory
  uint32_t immediate = 0;  ///< immediate data, most significant byte first on the wire; or the key to invalidate
  uint64_t remote = 0;     ///< remote virtual address
  uint64_t swap_add = 0;   ///< atomics: what to store, or to add
  uint64_t compare = 0;    ///< compare_swap: what to compare with

  XIO_HOST_DEVICE constexpr bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

/// A piece of registered local memory.
struct Sge {
  uint64_t address;  ///< local virtual address
  uint32_t length;   ///< bytes
  uint32_t lkey;     ///< local key
};

// Where the data of an operation lies. A payload's type says what is known when a kernel is compiled; `is_single`: that
// it is one piece of memory.

/// No data: a message of length 0, or a local operation.
struct NoPayload {
  static constexpr bool is_inline = false;
  static constexpr bool is_single = false;
  uint32_t number = 0;  ///< 0; a member, because nvcc complains of loops up to a constant 0
  XIO_HOST_DEVICE constexpr uint32_t count() const { return number; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return number; }
  XIO_HOST_DEVICE static constexpr Sge at(uint32_t) { return {0, 0, 0}; }
};

/// One piece of memory.
struct OneSge {
  static constexpr bool is_inline = false;
  static constexpr bool is_single = true;
  Sge sge;
  XIO_HOST_DEVICE static constexpr uint32_t count() { return 1; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return sge.length; }
  XIO_HOST_DEVICE constexpr Sge at(uint32_t) const { return sge; }
};

/// Any number of pieces, listed in memory that the caller can read.
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

/// Bytes that travel in the entry itself, copied from memory that the caller can read.
struct InlineBytes {
  static constexpr bool is_inline = true;
  static constexpr bool is_single = false;
  const uint8_t* data;
  uint32_t length;
  XIO_HOST_DEVICE static constexpr uint32_t count() { return 0; }
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return length; }
  /// Four bytes from `offset` on as they lie in memory; what is beyond the end, or before 0, is 0.
  XIO_HOST_DEVICE constexpr uint32_t word(int32_t offset) const {
    uint32_t value = 0;
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t at = offset + i;
      if (at >= 0 && at < static_cast<int32_t>(length)) value |= uint32_t{data[at]} << (8 * i);
    }
    return value;
  }
};

/// An 8-byte value that travels in the entry itself, from a register.
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

/// The segment from `offset` of inline data on.
template <class Inline>
XIO_DEVICE constexpr Segment inline_segment(const Inline& data, int32_t offset) {
  return {{data.word(offset), data.word(offset + 4), data.word(offset + 8), data.word(offset + 12)}};
}

/// What a send queue was made with.
struct SendShape {
  uint32_t qpn = 0;          ///< queue pair number; ERNIC: its handle
  uint32_t entries = 0;      ///< units of the ring; a unit is what the vendor's producer counter counts
  uint32_t entry_shift = 0;  ///< log2 of the bytes of a unit, where it is not fixed by the vendor
  uint32_t max_sges = 0;     ///< pieces of memory of one operation, at least 1: one is not compared with it
  uint32_t max_inline = 0;   ///< bytes of inline data of one operation
  uint32_t mtu_shift = 0;    ///< log2 of the path MTU in bytes (BNXT)
  uint32_t queue_type = 0;   ///< number of the send queues' doorbell register (IONIC with express doorbells)
};

/// What a receive queue was made with.
struct ReceiveShape {
  uint32_t qpn = 0;          ///< queue pair number; ERNIC: its handle
  uint32_t entries = 0;      ///< entries of the ring
  uint32_t entry_shift = 0;  ///< log2 of the bytes of an entry
  uint32_t max_sges = 0;     ///< pieces of memory of one entry
};

/// Where an entry goes, and what only the queue knows of it.
struct Place {
  uint64_t index = 0;                   ///< producer counter of the entry's first unit, since the queue's creation
  uint64_t wr_id = 0;                   ///< comes back in completions of those vendors that have room for it
  bool after_memory_operation = false;  ///< the entry before changed a key by a memory operation (MLX5)
};

/// Sink of an encoder in constant expressions and tests: an array that knows which segments were stored.
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
  /// The same, where `i` is known only when the kernel runs.
  XIO_HOST_DEVICE constexpr void put_chosen(uint32_t i, const Segment& value) { put(i, value); }
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
