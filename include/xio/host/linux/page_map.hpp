// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bus addresses of the pages of a buffer.

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/pages.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Bus address of each page of a buffer. Default-constructed: empty.
class PageMap {
 public:
  PageMap() = default;

  /// Map of a buffer with contiguous bus addresses, for example behind an IOMMU.
  /// @param bus  address of the first byte; a multiple of the page size
  static PageMap contiguous(uint64_t bus, size_t bytes) {
    PageMap map;
    const uint64_t page = page_bytes();
    for (uint64_t at = 0; at < bytes; at += page) map.pages_.push_back(bus + at);
    return map;
  }

  /// Map of this process's memory by physical address, which is the bus address if no IOMMU translates. The pages must
  /// not move: locked, or huge. Throws Error if a page is absent or the kernel hides the addresses from this process.
  /// @param data  first byte; a multiple of the page size
  static PageMap of_process(const void* data, size_t bytes, const std::string& file = process_file) {
    PageMap found;
    for (const uint64_t entry : entries_of_process(data, bytes, file)) {
      if (!is_present(entry)) throw Error("page map: a page of the buffer is not resident; lock it (mlock)");
      found.pages_.push_back(address_in(entry));
    }
    return found;
  }

  /// Page map of this process (Linux, Documentation/admin-guide/mm/pagemap.rst).
  static constexpr const char* process_file = "/proc/self/pagemap";
  /// Reads the page map entry of each page of the buffer.
  static std::vector<uint64_t> entries_of_process(const void* data, size_t bytes, const std::string& file) {
    const uint64_t page = page_bytes();
    const auto first = reinterpret_cast<uintptr_t>(data);
    if (bytes == 0 || first % page != 0) throw Error("page map: the memory must be page-aligned");
    std::vector<uint64_t> entries((bytes + page - 1) / page);
    const FileDescriptor map(::open(file.c_str(), O_RDONLY | O_CLOEXEC), "page map: cannot open " + file);
    const auto wanted = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
    const auto offset = static_cast<off_t>(first / page * sizeof entries[0]);
    if (::pread(map.get(), entries.data(), static_cast<size_t>(wanted), offset) != wanted)
      throw Error("page map: " + file + " does not cover " + to_hex(first));
    return entries;
  }
  /// Returns whether the page of an entry is in memory. Device pages count as absent: they have no entry.
  static bool is_present(uint64_t entry) { return (entry >> 63) != 0; }
  /// Physical address in the entry of a present page. Throws Error if the kernel hides it.
  static uint64_t address_in(uint64_t entry) {
    const uint64_t number = entry & ((uint64_t{1} << 55) - 1);
    if (number == 0) throw Error("page map: physical addresses need root (CAP_SYS_ADMIN)");
    return number * page_bytes();
  }

  bool empty() const { return pages_.empty(); }
  const std::vector<uint64_t>& pages() const { return pages_; }
  /// Bus address of the byte at `offset`. Throws Error beyond the last page.
  uint64_t bus(size_t offset) const {
    const uint64_t page = page_bytes();
    if (offset / page >= pages_.size()) throw Error("page map: the offset is beyond the buffer");
    return pages_[offset / page] + offset % page;
  }
  /// Returns whether the bus addresses are contiguous.
  bool is_contiguous() const {
    for (size_t i = 1; i < pages_.size(); ++i)
      if (pages_[i] != pages_[i - 1] + page_bytes()) return false;
    return !pages_.empty();
  }
  /// View for commands; valid for the lifetime of this object.
  nvme::PageArray view() const { return {pages_.data(), static_cast<uint32_t>(__builtin_ctzll(page_bytes())), 0}; }

  static uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  std::vector<uint64_t> pages_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
