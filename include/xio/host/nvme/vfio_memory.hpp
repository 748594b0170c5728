// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory accessible to a device behind an IOMMU: bus addresses within the IOMMU's ranges, mapped once.

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/dma_arena.hpp>
#include <xio/host/memory/range_allocator.hpp>
#include <xio/host/nvme/vfio_access.hpp>
#include <xio/host/nvme/vfio_options.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// The bus addresses of one device. Usable from several threads; must end before the VfioAccess.
class VfioSpace {
 public:
  explicit VfioSpace(VfioAccess& access) : state_(std::make_shared<State>(access)) {}
  VfioSpace(const VfioSpace&) = delete;
  VfioSpace& operator=(const VfioSpace&) = delete;
  /// Removes all remaining mappings. Remaining buffers of map() keep their memory, but the device can no longer access
  /// it.
  ~VfioSpace() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    for (const auto& [iova, bytes] : state_->mapped) state_->try_unmap(iova, bytes);
    state_->mapped.clear();
    state_->access = nullptr;
  }

  /// Makes the caller's memory accessible to the device, until the buffer is destroyed. Does not zero the memory.
  /// @param data       a multiple of the page size, as is `bytes`
  /// @param alignment  of the bus address, a power of two
  /// @param owner      kept alive while the device can access the memory
  DmaBuffer map(void* data, size_t bytes, uint64_t alignment = 0, std::shared_ptr<void> owner = nullptr) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const uint64_t page = state_->page;
    if (bytes == 0 || bytes % page != 0 || reinterpret_cast<uintptr_t>(data) % page != 0)
      throw Error("vfio: address and size of controller memory must be multiples of " + std::to_string(page) +
                  " bytes");
    const auto iova = state_->ranges.allocate(bytes, std::max(alignment, page));
    if (!iova)
      throw Error("vfio: the IOMMU has no " + std::to_string(bytes) + " bus addresses in one piece for this device; " +
                  std::to_string(state_->ranges.largest_free()) + " are free");
    try {
      state_->access->map(data, *iova, bytes);
    } catch (...) {
      state_->ranges.release(*iova);
      throw;
    }
    state_->mapped[*iova] = bytes;
    return {data, *iova, bytes,
            std::shared_ptr<void>(
                data, [state = state_, iova = *iova, kept = std::move(owner)](void*) { state->release(iova); })};
  }

 private:
  /// Address 0 could be mistaken for a missing address, and firmware uses the first MiB.
  static constexpr uint64_t first_used = uint64_t{1} << 20;

  struct State {
    explicit State(VfioAccess& of) : access(&of) {
      page = std::max<uint64_t>(of.page_bytes(), static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
      for (const IovaRange& range : of.iova_ranges()) {
        const uint64_t first = std::max((range.first + page - 1) & ~(page - 1), first_used);
        // The end of a full 64-bit address space is not representable.
        const uint64_t end = (range.last == ~uint64_t{0} ? range.last : range.last + 1) & ~(page - 1);
        if (range.first <= range.last) ranges.add(first, end);
      }
    }

    void release(uint64_t iova) {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto found = mapped.find(iova);
      if (found == mapped.end()) return;
      // Addresses that may still be mapped are not reused.
      if (try_unmap(iova, found->second)) ranges.release(iova);
      mapped.erase(found);
    }

    bool try_unmap(uint64_t iova, uint64_t bytes) noexcept {
      try {
        // In a child of fork() the descriptors are the parent's, whose mapping it is.
        if (access != nullptr && maker.is_here()) access->unmap(iova, bytes);
        return true;
      } catch (const std::exception&) {
        return false;
      }
    }

    std::mutex mutex;
    const Maker maker;
    VfioAccess* access;
    uint64_t page;
    RangeAllocator ranges;
    std::map<uint64_t, uint64_t> mapped;  // bus address -> bytes
  };

  std::shared_ptr<State> state_;
};

namespace detail {

inline DmaArena make_vfio_arena(const VfioOptions& options) {
  DmaArena::Options wanted;
  wanted.name = "xio-vfio";
  wanted.bytes = options.dma_bytes;
  wanted.advice = "raise dma= (VfioOptions::dma_bytes)";
  wanted.huge_page_bytes = options.huge_pages == HugePages::gib1   ? size_t{1} << 30
                           : options.huge_pages == HugePages::none ? 0
                                                                   : size_t{2} << 20;
  if (options.huge_pages == HugePages::automatic) {
    try {
      return DmaArena(wanted);
    } catch (const Error&) {
      wanted.huge_page_bytes = 0;
    }
  }
  return DmaArena(wanted);
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
