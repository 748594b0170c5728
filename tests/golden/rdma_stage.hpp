// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: memory and registers of the library's own queue pair, and every store to them in order.

#include <string>
#include <utility>
#include <vector>

#include "rdma_request.hpp"

namespace golden::rdma {

/// What a region of a recording is to the device.
enum class Role {
  entry,     ///< a ring, or a table that goes with it: read once it is announced
  record,    ///< a counter in memory: announces entries
  registers  ///< device registers: a store makes the device look
};
Role role_of(const std::string& region);

/// Regions as a recording names them, where the library's queues can store to them. Sees each store of the thread.
class Stage : public xio::arch::StoreObserver {
 public:
  /// Sees stores for as long as it lives.
  class Watch {
   public:
    explicit Watch(Stage& stage) : outer_(std::exchange(xio::arch::store_observer, &stage)) {}
    ~Watch() { xio::arch::store_observer = outer_; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    xio::arch::StoreObserver* outer_;
  };

  void add(const std::string& name, const Bytes& content);
  void add(const std::string& name, size_t bytes) { add(name, Bytes(bytes, Memory::fill)); }
  /// State of the library's own, which no device sees.
  void add_state(const void* begin, size_t bytes);
  template <class T>
  T* at(const std::string& name, uint64_t offset = 0) {
    return reinterpret_cast<T*>(byte_at(name, offset));
  }
  Bytes content(const std::string& name) const;
  size_t size(const std::string& name) const { return find(name).shadow.size(); }

  /// Stores and fences since the last call. @throws Mismatch where something was stored that nobody saw, or as what it
  /// is not
  void take(Posted& posted);

  void on_store(xio::arch::StoreKind kind, const void* to, const void* value, uint32_t bytes) override;
  void on_fence(xio::arch::FenceKind kind) override;

 private:
  struct alignas(64) Line {
    uint8_t byte[64];
  };
  struct Region {
    std::string name;
    std::vector<Line> memory;
    Bytes shadow;  ///< what the stores that were seen leave there
    const uint8_t* begin() const { return memory.front().byte; }
  };
  const Region& find(const std::string& name) const;
  uint8_t* byte_at(const std::string& name, uint64_t offset);

  std::vector<Region> regions_;
  std::vector<std::pair<const uint8_t*, size_t>> state_;
  std::vector<Store> stores_;
  std::vector<Fence> fences_;
  std::string fault_;
};

}  // namespace golden::rdma
