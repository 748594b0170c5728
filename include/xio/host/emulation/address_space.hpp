// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bus addresses of an in-process device: a mapping table like an IOMMU's.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/device/arch/host/give_way.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation
/// @{

/// The memory accessible to the device, and its bus addresses.
///
/// A bus address is the CPU address plus a constant, so that confusing the two causes a fault or an unmapped address.
/// Any thread may map and unmap. One thread at a time, the device, reads through a BusReader.
class AddressSpace {
 public:
  struct Region {
    uint64_t bus;
    uint64_t bytes;
    unsigned char* data;
  };

  /// @param offset  bus address minus CPU address; a multiple of the largest page size in use
  explicit AddressSpace(uint64_t offset) : offset_(offset) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// Maps `bytes` bytes at `data`; the caller keeps ownership. Returns the bus address of the first byte. Throws
  /// host::Error if part of the memory is mapped already.
  uint64_t map(void* data, size_t bytes) {
    auto* const first = static_cast<unsigned char*>(data);
    const uint64_t bus = reinterpret_cast<uintptr_t>(data) + offset_;
    if (!data || bytes == 0) throw host::Error("AddressSpace::map: no memory given");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto after = position(bus);
    const bool meets_next = after != regions_.end() && after->bus - bus < bytes;
    const bool meets_previous = after != regions_.begin() && bus - (after - 1)->bus < (after - 1)->bytes;
    if (meets_next || meets_previous)
      throw host::Error("AddressSpace::map: a part of the memory is mapped already; unmap that first");
    regions_.insert(after, Region{bus, bytes, first});
    version_.fetch_add(1);
    return bus;
  }

  /// Removes the mapping that begins at `bus`. After the return, the device no longer accesses the memory.
  /// Must not be called from the device's thread. Throws host::Error if no mapping begins there.
  void unmap(uint64_t bus) {
    if (!try_unmap(bus)) throw host::Error("AddressSpace::unmap: nothing is mapped at this bus address");
  }
  /// Like unmap(), but returns false if no mapping begins at `bus`.
  bool try_unmap(uint64_t bus) {
    uint64_t version = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto after = position(bus);
      if (after == regions_.begin() || (after - 1)->bus != bus) return false;
      regions_.erase(after - 1);
      version = version_.fetch_add(1) + 1;
    }
    // In a child of fork() no controller runs that could acknowledge it.
    while (maker_.is_here() && reading_.load() && acknowledged_.load() < version) arch::give_way();
    return true;
  }

 private:
  friend class BusReader;

  /// First region that begins above `bus`.
  std::vector<Region>::iterator position(uint64_t bus) {
    return std::upper_bound(regions_.begin(), regions_.end(), bus,
                            [](uint64_t address, const Region& region) { return address < region.bus; });
  }

  const uint64_t offset_;
  std::mutex mutex_;
  std::vector<Region> regions_;  // by bus address
  std::atomic<uint64_t> version_{1};
  // unmap and the device synchronize as in Dekker's algorithm: each side stores, then loads the other's flag.
  std::atomic<bool> reading_{false};
  const host::Maker maker_;
  std::atomic<uint64_t> acknowledged_{0};
};

/// The device's view of an AddressSpace: a copy that is updated between the device's steps.
class BusReader {
 public:
  explicit BusReader(AddressSpace& space) : space_(space) {}
  BusReader(const BusReader&) = delete;
  BusReader& operator=(const BusReader&) = delete;

  /// Begins a step that accesses memory. Returns true if the table has changed: cached addresses are then invalid.
  bool begin() {
    space_.reading_.store(true);
    const uint64_t version = space_.version_.load();
    if (version == version_) return false;
    const std::lock_guard<std::mutex> lock(space_.mutex_);
    regions_ = space_.regions_;
    version_ = space_.version_.load();
    last_ = 0;
    space_.acknowledged_.store(version_);
    return true;
  }

  /// Ends the step: the device accesses no memory until the next begin().
  void end() { space_.reading_.store(false); }

  /// Returns the memory at a bus address, or null if it is not mapped.
  /// @param available  set to the number of bytes from there to the end of the mapping
  unsigned char* find(uint64_t bus, uint64_t& available) {
    unsigned char* const data = look_up(bus, available);
    if (data || space_.version_.load() == version_) return data;
    // Mapped after this step began, for a command rung since. version_ stays, so that begin() reports the change.
    {
      const std::lock_guard<std::mutex> lock(space_.mutex_);
      regions_ = space_.regions_;
    }
    last_ = 0;
    return look_up(bus, available);
  }

  /// Returns the memory at [bus, bus + bytes), or null unless a single mapping covers it.
  unsigned char* find_all(uint64_t bus, uint64_t bytes) {
    uint64_t available = 0;
    unsigned char* const data = find(bus, available);
    return available >= bytes ? data : nullptr;
  }

 private:
  unsigned char* look_up(uint64_t bus, uint64_t& available) {
    if (last_ < regions_.size() && bus - regions_[last_].bus < regions_[last_].bytes) return hit(last_, bus, available);
    const auto after =
        std::upper_bound(regions_.begin(), regions_.end(), bus,
                         [](uint64_t address, const AddressSpace::Region& region) { return address < region.bus; });
    if (after == regions_.begin()) return nullptr;
    const auto index = static_cast<size_t>(after - regions_.begin()) - 1;
    if (bus - regions_[index].bus >= regions_[index].bytes) return nullptr;
    last_ = index;
    return hit(index, bus, available);
  }

  unsigned char* hit(size_t index, uint64_t bus, uint64_t& available) const {
    const AddressSpace::Region& region = regions_[index];
    available = region.bytes - (bus - region.bus);
    return region.data + (bus - region.bus);
  }

  AddressSpace& space_;
  std::vector<AddressSpace::Region> regions_;
  uint64_t version_ = 0;
  size_t last_ = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
