// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One region of shareable memory (a memfd), from which DmaBuffers are allocated.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/huge_page_limit.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/range_allocator.hpp>
#include <xio/host/power_of_two.hpp>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Memory mapped here that another process can map by file descriptor. Not movable.
class SharedMemory {
 public:
  /// @param bytes  a multiple of the page size; ordinary pages are allocated on first access, huge pages at once
  /// @param huge_page_bytes  size of the huge pages to use, a power of two; 0: ordinary pages. Throws Error if not
  ///                         enough huge pages are reserved.
  SharedMemory(const std::string& name, size_t bytes, size_t huge_page_bytes = 0)
      : fd_(::memfd_create(name.c_str(), MFD_CLOEXEC | huge_flags(huge_page_bytes)),
            "cannot create shared memory '" + name + "'"),
        size_(bytes) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
      throw_system_error("cannot allocate " + std::to_string(bytes) + " bytes for shared memory '" + name + "'", errno);
    if (huge_page_bytes != 0) allocate_huge_pages(huge_page_bytes);
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (data_ == MAP_FAILED)
      throw_system_error("cannot map " + std::to_string(bytes) + " bytes of shared memory '" + name + "'", errno);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(data_, size_); }

  int fd() const { return fd_.get(); }
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  size_t size() const { return size_; }

 private:
  static unsigned huge_flags(size_t huge_page_bytes) {
    if (huge_page_bytes == 0) return 0;
    return MFD_HUGETLB | static_cast<unsigned>(__builtin_ctzll(huge_page_bytes))
                             << 26;  // linux/memfd.h: MFD_HUGE_SHIFT
  }

  /// Allocates all pages by a call that reports: where a cgroup limits them, the first access would be a SIGBUS.
  void allocate_huge_pages(size_t page) const {
    KernelCalls calls;
    if (const std::string why = detail::why_limited(calls, page, size_); !why.empty()) throw Error(why);
    if (calls.allocate(fd_.get(), size_) == 0) return;
    const std::string kilobytes = std::to_string(page >> 10);
    throw_system_error("no " + std::to_string(size_ / page) + " huge pages of " + kilobytes +
                           " kB are free: reserve them in /sys/kernel/mm/hugepages/hugepages-" + kilobytes +
                           "kB/nr_hugepages",
                       errno);
  }

  FileDescriptor fd_;
  size_t size_ = 0;
  void* data_ = nullptr;
};

/// Allocator of DmaBuffers over one SharedMemory. Copies allocate from the same region, each with a bus base of its
/// own: one for each bus that the region is on. Buffers may outlive the arena objects: the region is freed with the
/// last of them. Usable from several threads. Under AddressSanitizer, memory that is not allocated is poisoned.
class DmaArena {
 public:
  struct Options {
    std::string name = "xio-dma";
    size_t bytes = size_t{256} << 20;  ///< size of the region; rounded up to whole pages
    uint64_t reserved = 0;             ///< bytes at the start that are never allocated
    size_t huge_page_bytes = 0;        ///< size of the huge pages, a power of two; 0: ordinary pages
    /// Advice appended to the error when the region is full: which option enlarges it.
    std::string advice = "ask for a larger DMA region";
  };

  explicit DmaArena(const Options& options) : state_(std::make_shared<State>(options)) {}

  int fd() const { return state_->memory.fd(); }
  unsigned char* data() const { return state_->memory.data(); }
  size_t size() const { return state_->memory.size(); }

  /// Bytes at the start that are never allocated.
  uint64_t reserved() const { return state_->reserved; }

  /// Sets the bus address of the first byte of the region, for this object; call it before its first allocation.
  void set_bus_base(uint64_t bus) { bus_base_ = bus; }
  uint64_t bus_base() const { return bus_base_; }

  /// Whether `bytes` from `data` on lie in the region.
  bool contains(const void* data, size_t bytes) const {
    const uint64_t offset = address_of(data) - address_of(this->data());
    return offset <= size() && bytes <= size() - offset;
  }

  /// Allocates zeroed memory. Throws Error if no free range is large enough.
  /// @param bytes      at least 1
  /// @param alignment  power of two up to the page size, for both addresses
  DmaBuffer allocate(size_t bytes, size_t alignment) {
    if (bytes == 0 || !is_power_of_two(alignment))
      throw Error("DMA memory: a size of at least 1 and an alignment that is a power of two are needed");
    // The mapping and the bus base are page aligned only, and alignment applies to offsets.
    if (alignment > page_bytes() && (bus_base() % alignment != 0 || address_of(data()) % alignment != 0))
      throw Error("DMA memory: the largest alignment is " + std::to_string(page_bytes()) + " bytes");
    if (alignment < line_bytes) alignment = line_bytes;
    const size_t length = (bytes + line_bytes - 1) & ~(line_bytes - 1);

    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto start = bytes <= size() ? state_->ranges.allocate(length, alignment) : std::nullopt;
    if (!start)
      throw Error("DMA memory is full: " + std::to_string(bytes) + " bytes wanted, " +
                  std::to_string(state_->ranges.largest_free()) + " of " + std::to_string(size()) +
                  " free in one piece; " + state_->advice);
    unsigned char* data_address = data() + *start;
    unpoison(data_address, bytes);
    // Memory that was never allocated is still zero; writing zeroes would only make it resident.
    if (*start < state_->touched) {
      const uint64_t old = state_->touched - *start;
      std::memset(data_address, 0, old < bytes ? static_cast<size_t>(old) : bytes);
    }
    if (state_->touched < *start + length) state_->touched = *start + length;

    const std::shared_ptr<State> state = state_;
    const uint64_t offset = *start;
    return DmaBuffer(data_address, bus_base_ + offset, bytes,
                     std::shared_ptr<void>(data_address, [state, offset](void*) { state->release(offset); }));
  }

  /// Total free bytes, in any fragmentation.
  uint64_t free_bytes() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->ranges.total_free();
  }
  /// Number of buffers that are alive.
  size_t buffers() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->ranges.used_ranges();
  }

 private:
  static constexpr size_t line_bytes = 64;  // buffers do not share a cache line

  static size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }
  static uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  static void poison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(ASAN_POISON_MEMORY_REGION)
    ASAN_POISON_MEMORY_REGION(data, bytes);
#endif
  }
  static void unpoison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(ASAN_UNPOISON_MEMORY_REGION)
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#endif
  }

  struct State {
    explicit State(const Options& options)
        : memory(options.name, rounded(options), options.huge_page_bytes),
          reserved(options.reserved),
          ranges(options.reserved, memory.size()),
          touched(options.reserved),
          advice(options.advice) {
      poison(memory.data(), memory.size());
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { unpoison(memory.data(), memory.size()); }

    static size_t rounded(const Options& options) {
      const size_t page = options.huge_page_bytes != 0 ? options.huge_page_bytes : page_bytes();
      return (options.bytes + page - 1) / page * page;
    }

    void release(uint64_t offset) {
      const std::lock_guard<std::mutex> lock(mutex);
      poison(memory.data() + offset, static_cast<size_t>(ranges.release(offset)));
    }

    SharedMemory memory;
    const uint64_t reserved;
    std::mutex mutex;
    RangeAllocator ranges;
    uint64_t touched;  // end of the memory allocated so far
    std::string advice;
  };

  std::shared_ptr<State> state_;
  uint64_t bus_base_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
