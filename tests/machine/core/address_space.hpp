// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory that a GPU can access: ranges of this process's memory, at the same addresses.

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace machine {

/// Error that stops a run. what() contains instruction, source line and seed.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class MemoryKind : uint8_t {
  host,      ///< host memory that the GPU caches; devices and the CPU see data after its write-back
  uncached,  ///< host memory that the GPU's L2 does not keep (fine-grained on gfx90a and gfx11)
  local,     ///< the GPU's own memory; accesses do not cross PCIe
  registers  ///< a device's registers: stores arrive one by one, loads and atomics are errors
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  MemoryKind kind = MemoryKind::host;
  bool writable = true;
  std::string name;
  bool holds(uint64_t address, uint32_t bytes) const { return address >= begin && address + bytes <= end; }
};

/// The ranges of one GPU. Of overlapping ranges, the one added later takes precedence.
class AddressSpace {
 public:
  void add(const void* memory, size_t bytes, MemoryKind kind, std::string name, bool writable = true) {
    const auto begin = reinterpret_cast<uint64_t>(memory);
    ranges_.push_back({begin, begin + bytes, kind, writable, std::move(name)});
    last_ = ranges_.size() - 1;
  }
  /// Removes the range last added for this address.
  void remove(const void* memory) {
    for (size_t i = ranges_.size(); i-- > 0;) {
      if (ranges_[i].begin != reinterpret_cast<uint64_t>(memory)) continue;
      ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    last_ = 0;
  }
  void clear() {
    ranges_.clear();
    last_ = 0;
  }
  const std::vector<Range>& ranges() const { return ranges_; }

  /// The range that holds all bytes of an access.
  /// @throws Fault if there is none
  const Range& find(uint64_t address, uint32_t bytes) const {
    // Ranges may be nested: only the last range cannot be overlapped by a later one, so only it is cached.
    if (last_ + 1 == ranges_.size() && ranges_[last_].holds(address, bytes)) return ranges_[last_];
    for (size_t i = ranges_.size(); i-- > 0;) {
      if (ranges_[i].holds(address, bytes)) return ranges_[i];
    }
    char text[96];
    std::snprintf(text, sizeof text, "access of %u bytes to 0x%llx, where nothing is mapped", bytes,
                  static_cast<unsigned long long>(address));
    throw Fault(text);
  }

 private:
  std::vector<Range> ranges_;
  size_t last_ = 0;
};

}  // namespace machine
