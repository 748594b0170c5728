// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory of a queue pair as seen by an emulated NIC. Each vendor's wire format (mlx5_wire.hpp, …) decodes and
/// encodes its bytes; it shares only layouts with the device code.

#include <cstdint>
#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/memory_keys.hpp>
#include <xio/host/emulation/rdma/types.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Configuration of a queue pair.
struct RdmaQueueConfig {
  uint32_t qpn = 0x11;
  uint32_t handle = 0;                   ///< queue pair handle of ERNIC; 0: none
  uint64_t cookie = 0xb0c01234567890d5;  ///< queue pair handle in BNXT completions; 0 would denote a stale one
  uint32_t cqn = 0x21;                   ///< number of the send completion queue
  uint32_t receive_cqn = 0x22;
  uint32_t sq_units = 128;      ///< size of the send ring in the vendor's units
  uint32_t sq_unit_shift = 6;   ///< log2 of the unit size in bytes
  uint32_t cq_entries = 256;    ///< a power of two
  uint32_t rq_entries = 64;     ///< a power of two
  uint32_t rq_entry_shift = 7;  ///< log2 of the entry size in bytes
  uint32_t receive_cq_entries = 128;
  uint32_t max_sges = 4;
  uint32_t max_inline = 64;
  uint32_t mtu_shift = 10;
  uint32_t first_psn = 0xabc123;
  uint32_t side_entries = 0;
  uint32_t access = rdma_access::all;  ///< access that the queue pair grants peers, regardless of keys
};

/// Returns a configuration with another number, handle and cookie.
inline RdmaQueueConfig another(RdmaQueueConfig config) {
  config.qpn ^= 1;
  config.handle ^= 1;
  config.cookie ^= 1;
  return config;
}

/// Memory shared by the NIC and the driver.
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

/// Content of a doorbell word whose value the NIC has consumed.
constexpr uint64_t doorbell_taken = ~uint64_t{0};

/// Reads an integer or layout struct from raw bytes.
template <class T>
T peek(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Extends a wrapped counter: returns the first value at or after `known` whose bits under `mask` equal `wire`.
inline uint64_t catch_up(uint64_t known, uint64_t wire, uint64_t mask) { return known + ((wire - known) & mask); }

/// Stores an entry; its word at `offset` is stored last, with release order, and publishes the rest.
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

/// Like publish_entry(), but overwrites an entry that may be read concurrently, which a NIC does with one store. The
/// word at `offset` is `none` during the update: a reader that reads equal valid words before and after the rest has
/// read a consistent entry.
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

/// Default members of wire formats, which derive from it.
struct RdmaWireDefaults {
  static constexpr bool has_last_entry = false;  ///< whether write_last() follows the first failure's completion
  static constexpr bool ends_receives = false;   ///< a failed queue pair has a last completion in its receive queue too
  static constexpr uint32_t doorbell_stride = 0;  ///< bytes between the two doorbells of a send queue; 0: it has one
  static constexpr bool collapsed = false;        ///< send completions overwrite one entry; there is no consumer index

  /// Usable units of a send ring: one less than its size if a full ring cannot be distinguished from an empty one.
  static uint64_t capacity(const RdmaQueueConfig& config) { return config.sq_units; }
  /// Usable entries of a completion queue, by the same criterion.
  static uint64_t cq_capacity(uint32_t entries) { return entries; }
  /// Reports that the NIC has consumed the send ring up to, not including, `consumer`.
  static void consumed(const RdmaQueueConfig&, const RdmaQueueMemory&, uint64_t /*consumer*/) {}
  /// Reports that the NIC has consumed the receive ring up to, not including, `consumer`.
  static void receive_consumed(const RdmaQueueConfig&, const RdmaQueueMemory&, uint64_t /*consumer*/) {}
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
