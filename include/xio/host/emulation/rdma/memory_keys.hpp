// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registered memory of emulated NICs. Key, bounds and access rights are checked on every access.

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Access rights of a key.
namespace rdma_access {
/// @addtogroup emulation_rdma
/// @{
constexpr uint32_t local_write = 1;
constexpr uint32_t remote_write = 2;
constexpr uint32_t remote_read = 4;
constexpr uint32_t remote_atomic = 8;
constexpr uint32_t all = 15;
/// @}
}  // namespace rdma_access

/// Memory that NICs access by key. Thread-safe.
class MemoryKeys {
 public:
  /// Registers memory; the key serves as local and as remote key.
  /// @snippet emulation.cpp keys
  uint32_t add(void* memory, uint64_t bytes, uint32_t access = rdma_access::all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint32_t key = next_;
    // Neighbouring keys stay invalid to detect off-by-one keys.
    next_ += 0x11;
    regions_[key] = {reinterpret_cast<uint64_t>(memory), bytes, access};
    return key;
  }

  /// Removes a key. Returns false if it is unknown.
  bool remove(uint32_t key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return regions_.erase(key) != 0;
  }

  /// Returns the memory at `address`, or null if the key does not cover all of it or does not grant `access`.
  void* find(uint32_t key, uint64_t address, uint64_t bytes, uint32_t access) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto region = regions_.find(key);
    if (region == regions_.end()) return nullptr;
    const Region& r = region->second;
    if ((r.access & access) != access || address < r.begin || address - r.begin > r.bytes ||
        bytes > r.bytes - (address - r.begin))
      return nullptr;
    return reinterpret_cast<void*>(address);
  }

 private:
  struct Region {
    uint64_t begin;
    uint64_t bytes;
    uint32_t access;
  };
  mutable std::mutex mutex_;
  std::map<uint32_t, Region> regions_;
  uint32_t next_ = 0x1100;
};

/// Copies like a NIC: if the target ends on an 8-byte boundary, the last word is stored after all others with release
/// order, so that a reader that polls it sees the rest.
inline void copy_as_device(void* to, const void* from, uint64_t bytes) {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  const bool ends_with_word = bytes >= 8 && (reinterpret_cast<uint64_t>(target) + bytes) % 8 == 0;
  const uint64_t front = ends_with_word ? bytes - 8 : bytes;
  if (front != 0) std::memmove(target, source, front);
  if (!ends_with_word) return;
  uint64_t last;
  std::memcpy(&last, source + front, sizeof last);
  __atomic_store_n(reinterpret_cast<uint64_t*>(target + front), last, __ATOMIC_RELEASE);
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
