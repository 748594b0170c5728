// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Huge pages that a controller without a translating IOMMU accesses by physical address, in a file that
/// outlives the process.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/huge_page_limit.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/range_allocator.hpp>
#include <xio/host/nvme/kernel_huge_pages.hpp>
#include <xio/host/nvme/kernel_shared_record.hpp>
#include <xio/host/power_of_two.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Physical address of a page of this process that is locked in memory; throws Error if the kernel does not reveal it.
inline uint64_t physical_address(KernelCalls& calls, const void* page) {
  const uint64_t entry = calls.pagemap_entry(page);
  const uint64_t frame = entry & ((uint64_t{1} << 55) - 1);
  if ((entry >> 63) == 0 || frame == 0)
    throw Error("kernel-shared: /proc/self/pagemap does not report physical addresses: run as root (CAP_SYS_ADMIN)");
  return frame * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Allocator of DmaBuffers whose bus addresses are physical, with the record of the library's queues. Buffers may
/// outlive the object. Usable from several threads.
///
/// The file is removed at the end if no queue is on record; otherwise it stays, so that its pages are not reused before
/// the next process deletes the queues.
class KernelSharedMemory {
 public:
  /// Requires SharedFolder::lock().
  KernelSharedMemory(KernelCalls& calls, const SharedFolder& folder, size_t bytes)
      : state_(std::make_shared<State>(calls, folder, bytes)) {}
  KernelSharedMemory(const KernelSharedMemory&) = delete;
  KernelSharedMemory& operator=(const KernelSharedMemory&) = delete;
  ~KernelSharedMemory() { state_->finish(); }

  /// Path of the file.
  const std::string& path() const { return state_->path; }
  QueueRecordPage& record() const { return *state_->record; }
  Span<unsigned char> window() const { return {state_->data, state_->bytes}; }

  /// Allocates zeroed memory, contiguous on the bus.
  DmaBuffer allocate(size_t bytes, size_t alignment) const {
    constexpr size_t line_bytes = 64;
    if (bytes == 0 || !is_power_of_two(alignment))
      throw Error("DMA memory: a size of at least 1 and an alignment that is a power of two are needed");
    if (alignment > SharedFolder::huge_page_bytes) throw Error("DMA memory: the largest alignment is 2 MiB");
    const size_t length = (bytes + line_bytes - 1) & ~(line_bytes - 1);
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto bus = state_->ranges.allocate(length, std::max(alignment, line_bytes));
    if (!bus)
      throw Error("DMA memory is full: " + std::to_string(bytes) + " bytes wanted, " +
                  std::to_string(state_->ranges.largest_free()) + " of " + std::to_string(state_->bytes) +
                  " free in one piece; raise dma= (KernelSharedOptions::dma_bytes), or reserve huge pages soon after "
                  "boot, when they are contiguous");
    void* const data = state_->at(*bus, bytes);
    std::memset(data, 0, bytes);
    return {data, *bus, bytes, std::shared_ptr<void>(data, [state = state_, start = *bus](void*) {
              const std::lock_guard<std::mutex> guard(state->mutex);
              state->ranges.release(start);
            })};
  }

  /// CPU address of `bytes` of this memory from bus address `bus`; null if they do not all belong to it.
  void* at(uint64_t bus, size_t bytes) const { return state_->at(bus, bytes); }

 private:
  static constexpr size_t page = SharedFolder::huge_page_bytes;

  /// A huge page: its position in the file and its bus address.
  struct Piece {
    size_t file_page;
    uint64_t bus;
  };

  struct State {
    State(KernelCalls& calls, const SharedFolder& folder, size_t wanted)
        : bytes((wanted + page - 1) / page * page), pieces(bytes / page) {
      std::tie(file, path) = folder.create();
      try {
        map(calls);
      } catch (...) {
        if (data != nullptr) ::munmap(data, bytes);
        ::unlink(path.c_str());
        throw;
      }
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { ::munmap(data, bytes); }

    void map(KernelCalls& calls) {
      allocate_pages(calls);
      // Address space for all pages, aligned to the page size.
      void* const room = ::mmap(nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (room == MAP_FAILED) throw_system_error("kernel-shared: cannot reserve addresses for memory", errno);
      const size_t before = (page - reinterpret_cast<uintptr_t>(room) % page) % page;
      data = static_cast<unsigned char*>(room) + before;
      if (before != 0) ::munmap(room, before);
      ::munmap(data + bytes, page - before);
      place(data, bytes, 0);
      for (size_t i = 0; i < pieces.size(); ++i) {
        std::memset(data + i * page, 0, page);
        pieces[i] = {i, physical_address(calls, data + i * page)};
        if (pieces[i].bus % page != 0) throw Error("kernel-shared: " + path + " is not in huge pages of 2 MiB");
      }
      // Pages that are adjacent on the bus are mapped adjacently, so that buffers may exceed one page.
      std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.bus < b.bus; });
      for (size_t i = 0; i < pieces.size(); ++i) {
        unsigned char* const slot = data + i * page;
        place(slot, page, pieces[i].file_page * page);
        if (physical_address(calls, slot) != pieces[i].bus)
          throw Error("kernel-shared: the kernel is migrating huge pages; try again");
        if (pieces[i].file_page == 0) record = reinterpret_cast<QueueRecordPage*>(slot);
      }
      add_ranges();
      record->process = static_cast<uint64_t>(::getpid());
      __atomic_store_n(&record->magic, QueueRecordPage::known_magic, __ATOMIC_RELEASE);
    }

    /// Allocates all pages by a call that reports: where a cgroup limits them, the first access would be a SIGBUS.
    void allocate_pages(KernelCalls& calls) const {
      if (const std::string why = why_limited(calls, page, bytes); !why.empty())
        throw Error("kernel-shared: " + why + ", or lower dma= (KernelSharedOptions::dma_bytes)");
      if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) throw_system_error("kernel-shared: " + path, errno);
      if (calls.allocate(file.get(), bytes) == 0) return;
      if (errno == ENOSPC || errno == ENOMEM) throw Error(no_huge_pages(bytes / page).message);
      throw_system_error("kernel-shared: " + path + " cannot be allocated", errno);
    }

    /// Adjacent pages form one range; the record is excluded.
    void add_ranges() {
      for (size_t i = 0; i < pieces.size();) {
        uint64_t first = pieces[i].bus;
        do {
          if (pieces[i].file_page != 0) continue;
          ranges.add(first, pieces[i].bus);
          first = pieces[i].bus + header_bytes;
        } while (++i < pieces.size() && pieces[i].bus == pieces[i - 1].bus + page);
        ranges.add(first, pieces[i - 1].bus + page);
      }
    }

    void place(unsigned char* where, size_t length, size_t offset) const {
      if (::mmap(where, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file.get(),
                 static_cast<off_t>(offset)) == MAP_FAILED)
        throw_system_error("kernel-shared: " + path + " cannot be mapped", errno);
    }

    void* at(uint64_t bus, size_t length) const {
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (bus < pieces[i].bus || bus - pieces[i].bus >= page) continue;
        // Extend to the end of the adjacent pages on the bus.
        size_t last = i;
        while (last + 1 < pieces.size() && pieces[last + 1].bus == pieces[last].bus + page) ++last;
        if (length > pieces[last].bus + page - bus) return nullptr;
        return data + i * page + (bus - pieces[i].bus);
      }
      return nullptr;
    }

    void finish() const {
      if (record->all().empty()) ::unlink(path.c_str());
    }

    static constexpr size_t header_bytes = (sizeof(QueueRecordPage) + 4095) / 4096 * 4096;

    std::string path;
    FileDescriptor file;
    const size_t bytes;
    unsigned char* data = nullptr;
    std::vector<Piece> pieces;  // by bus address; page n is mapped at data + n * page
    QueueRecordPage* record = nullptr;
    std::mutex mutex;
    RangeAllocator ranges;  // of bus addresses
  };

  std::shared_ptr<State> state_;
};

}  // namespace host::detail

XIO_NAMESPACE_END
