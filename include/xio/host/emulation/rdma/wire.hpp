// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue pair's memory as an emulated NIC sees it. How its bytes are read and written is each vendor's wire
/// (mlx5_wire.hpp and its like), which shares layouts with the device code and nothing else.

#include <cstdint>
#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/memory_keys.hpp>
#include <xio/host/emulation/rdma/types.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// How a queue pair was made.
struct RdmaQueueConfig {
  uint32_t qpn = 0x11;
  uint32_t handle = 0;                   ///< ERNIC's name of the queue pair
  uint64_t cookie = 0xb0c01234567890d5;  ///< BNXT's name of the queue pair in completions; 0 would mean a stale one
  uint32_t cqn = 0x21;                   ///< of the send queue's completion queue
  uint32_t receive_cqn = 0x22;
  uint32_t sq_units = 128;      ///< of the send ring, as the vendor counts
  uint32_t sq_unit_shift = 6;   ///< log2 of the bytes of a unit
  uint32_t cq_entries = 256;    ///< a power of two
  uint32_t rq_entries = 64;     ///< a power of two
  uint32_t rq_entry_shift = 7;  ///< log2 of the bytes of an entry
  uint32_t receive_cq_entries = 128;
  uint32_t max_sges = 4;
  uint32_t max_inline = 64;
  uint32_t mtu_shift = 10;
  uint32_t first_psn = 0xabc123;
  uint32_t side_entries = 0;
  uint32_t access = rdma_access::all;  ///< what peers may ask of the queue pair, with whatever key
};

/// The queue pair beside it, which has another name.
inline RdmaQueueConfig another(RdmaQueueConfig config) {
  config.qpn ^= 1;
  config.handle ^= 1;
  config.cookie ^= 1;
  return config;
}

/// What the NIC and the driver share.
struct RdmaQueueMemory {
  uint8_t* sq = nullptr;
  uint32_t* sq_record = nullptr;
  uint64_t* sq_doorbell = nullptr;
  uint64_t* side_table = nullptr;
  uint8_t* cq = nullptr;
  uint32_t* cq_record = nullptr;
  uint32_t* cq_producer = nullptr;
  uint64_t* cq_doorbell = nullptr;
  uint8_t* rq = nullptr;
  uint32_t* rq_record = nullptr;
  uint64_t* rq_doorbell = nullptr;
  uint8_t* receive_cq = nullptr;
  uint32_t* receive_cq_record = nullptr;
  uint32_t* receive_cq_producer = nullptr;
  uint64_t* receive_cq_doorbell = nullptr;
};

/// Content of a doorbell word that the NIC has taken note of.
constexpr uint64_t doorbell_taken = ~uint64_t{0};

/// Reads integers and layout structs out of raw bytes.
template <class T>
T peek(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The counter value at or after `known` whose low bits under `mask` are `wire`.
inline uint64_t catch_up(uint64_t known, uint64_t wire, uint64_t mask) { return known + ((wire - known) & mask); }

/// Stores an entry so that whoever finds its word at `offset` finds the rest of it.
template <class Entry>
void publish_entry(uint8_t* to, const Entry& entry, size_t offset) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const unsigned char*>(&entry) + offset, sizeof word);
  for (size_t at = 0; at < sizeof entry; at += sizeof(uint64_t)) {
    if (at == offset) continue;
    uint64_t other;
    std::memcpy(&other, reinterpret_cast<const unsigned char*>(&entry) + at, sizeof other);
    __atomic_store_n(reinterpret_cast<uint64_t*>(to + at), other, __ATOMIC_RELAXED);
  }
  __atomic_store_n(reinterpret_cast<uint64_t*>(to + offset), word, __ATOMIC_RELEASE);
}

/// As publish_entry(), over an entry that somebody may be reading. A NIC stores it at once; here whoever finds the word
/// at `offset` to be the old or the new one, twice, read nothing of another entry between. Meanwhile the word is
/// `none`.
template <class Entry>
void replace_entry(uint8_t* to, const Entry& entry, size_t offset, uint64_t none) {
  const auto put = [to](size_t at, uint64_t word) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(to + at), word, __ATOMIC_RELEASE);
  };
  put(offset, none);
  for (size_t i = 1; i <= sizeof entry / sizeof(uint64_t); ++i) {
    const size_t at = (offset + i * sizeof(uint64_t)) % sizeof entry;
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const unsigned char*>(&entry) + at, sizeof word);
    put(at, word);
  }
}

/// What a wire need not say, where its vendor does nothing special. Wires derive from it.
struct RdmaWireDefaults {
  static constexpr bool has_last_entry = false;   ///< whether write_last() follows the first failure's completion
  static constexpr uint32_t doorbell_stride = 0;  ///< bytes between the two doorbells of a send queue; 0: it has one
  static constexpr bool collapsed = false;  ///< send completions overwrite one entry; nobody tells of reading them

  /// Most units of a send ring that can be told from none.
  static uint64_t capacity(const RdmaQueueConfig& config) { return config.sq_units; }
  /// Most entries of a completion queue that can be told from none.
  static uint64_t cq_capacity(uint32_t entries) { return entries; }
  /// The NIC is done with the send ring before `consumer`.
  static void consumed(const RdmaQueueConfig&, const RdmaQueueMemory&, uint64_t /*consumer*/) {}
  /// The NIC is done with the receive ring before `consumer`.
  static void receive_consumed(const RdmaQueueConfig&, const RdmaQueueMemory&, uint64_t /*consumer*/) {}
};

}  // namespace emulation

XIO_NAMESPACE_END
