// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bus addresses of an in-process device: a table of mapped memory, as an IOMMU keeps one.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/device/arch/host/give_way.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Which memory the device may reach, and under which bus addresses.
///
/// A bus address is the CPU's address plus a constant that makes it useless as a pointer: whoever mixes the two up
/// meets a fault or an unmapped address. Any thread may map and unmap. One thread at a time, the device, reads through
/// a BusReader.
class AddressSpace {
 public:
  struct Region {
    uint64_t bus;
    uint64_t bytes;
    unsigned char* data;
  };

  /// @param offset  added to a CPU address to form a bus address; a multiple of the largest page size in use
  explicit AddressSpace(uint64_t offset) : offset_(offset) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// Makes `bytes` bytes at `data` reachable; the memory stays the caller's. Returns the bus address of the first byte.
  /// Throws host::Error where a part of it is mapped already.
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

  /// Ends the mapping that begins at `bus`. The device does not touch the memory after the return.
  /// Not to be called from the device's own thread.
  void unmap(uint64_t bus) {
    if (!try_unmap(bus)) throw host::Error("AddressSpace::unmap: nothing is mapped at this bus address");
  }
  /// As unmap(); false where nothing is mapped.
  bool try_unmap(uint64_t bus) {
    uint64_t version = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto after = position(bus);
      if (after == regions_.begin() || (after - 1)->bus != bus) return false;
      regions_.erase(after - 1);
      version = version_.fetch_add(1) + 1;
    }
    while (reading_.load() && acknowledged_.load() < version) arch::give_way();
    return true;
  }

 private:
  friend class BusReader;

  /// First region that begins behind `bus`.
  std::vector<Region>::iterator position(uint64_t bus) {
    return std::upper_bound(regions_.begin(), regions_.end(), bus,
                            [](uint64_t address, const Region& region) { return address < region.bus; });
  }

  const uint64_t offset_;
  std::mutex mutex_;
  std::vector<Region> regions_;  // by bus address
  std::atomic<uint64_t> version_{1};
  // unmap and the device pass each other as in Dekker's algorithm: both sides store first, then look.
  std::atomic<bool> reading_{false};
  std::atomic<uint64_t> acknowledged_{0};
};

/// The device's view of an AddressSpace: a copy that is brought up to date between the device's steps.
class BusReader {
 public:
  explicit BusReader(AddressSpace& space) : space_(space) {}
  BusReader(const BusReader&) = delete;
  BusReader& operator=(const BusReader&) = delete;

  /// The device begins to use memory. Returns whether the table differs from what it was: cached addresses are void.
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

  /// The device touches no memory until the next begin().
  void end() { space_.reading_.store(false); }

  /// Memory behind a bus address; null where nothing is mapped.
  /// @param available  set to the number of bytes that follow in the same mapping
  unsigned char* find(uint64_t bus, uint64_t& available) {
    unsigned char* const data = look_up(bus, available);
    if (data || space_.version_.load() == version_) return data;
    // Mapped after this step began, for a command that was rung a moment ago. begin() still has to hear of the change.
    {
      const std::lock_guard<std::mutex> lock(space_.mutex_);
      regions_ = space_.regions_;
    }
    last_ = 0;
    return look_up(bus, available);
  }

  /// Memory behind [bus, bus + bytes); null where it is not mapped as one piece.
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

}  // namespace emulation

XIO_NAMESPACE_END
