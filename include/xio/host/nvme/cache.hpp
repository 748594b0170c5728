// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Makes a page cache over drives, for kernels of one executor.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/device/cache/frames.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/nvme/drive_set.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Requested properties of a page cache.
struct CacheOptions {
  size_t page_bytes = 4096;        ///< a power of two, at least a block of the drives
  size_t bytes = size_t{1} << 26;  ///< of all frames: at least one; from one set on rounded down to a power of two
  uint32_t ways = 8;               ///< frames of a set, one of which a page takes: a power of two, 4 to 64
  QueueOptions queue;              ///< of every queue; its `qid` is 0
  uint32_t queues_per_drive = 1;   ///< at least 1; waves with different numbers use different ones
  bool gpu_memory = false;         ///< frames and completion rings lie in the GPU's memory, as DriveSetOptions says
};

/// A page cache and its queues. The controllers, or the caller's queues and memory, must outlive it. Made by
/// make_cache().
///
/// Page n lies on drive n mod the number of drives. The frames lie in memory of the first controller or of the GPU,
/// mapped for the others, or in the caller's; the cache's own words lie in the memory of the GPU that runs the kernels.
class NvmeCache {
 public:
  NvmeCache(Executor executor, std::vector<NvmeController*> controllers, const CacheOptions& options)
      : executor_(std::move(executor)),
        set_(std::in_place, std::move(controllers), executor_,
             DriveSetOptions{options.queue, options.queues_per_drive, 1, options.gpu_memory}) {
    for (const NvmeQueue& one : set_->queues()) queues_.push_back(one.handle());
    handle_.drives = set_->handle();
    plan(options);
    frames_ = set_->allocate(usable_ * options.page_bytes);
    handle_.memory = frames_.region();
    handle_.data = executor_.address(frames_.as<char>());
    make_words();
  }
  NvmeCache(std::vector<nvme::QueueHandle> queues, void* memory, const CacheOptions& options)
      : queues_(std::move(queues)) {
    check_queues(memory, options);
    const auto drives = static_cast<uint32_t>(queues_.size()) / options.queues_per_drive;
    handle_.drives = {queues_.data(), drives, options.queues_per_drive, 0};
    plan(options);
    bases_.assign(drives, reinterpret_cast<uintptr_t>(memory));
    handle_.memory = {bases_.data(), usable_ * options.page_bytes};
    handle_.data = static_cast<char*>(memory);
    make_words();
  }

  /// For kernels, passed by value; valid as long as this object, and until a controller is reset.
  /// @snippet cache.cpp make_cache
  CacheHandle handle() const { return handle_; }
  /// Elements of `bytes` bytes that lie on the drives.
  /// @snippet cache.cpp handle
  uint64_t elements(size_t bytes) const { return (handle_.pages << handle_.page_shift) / bytes; }
  uint64_t pages() const { return handle_.pages; }        ///< of all drives
  uint64_t frames() const { return usable_; }             ///< number of frames that can hold a page
  const Executor& executor() const { return executor_; }  ///< where its kernels run
  /// The drives and their queues. Throws Error for a cache of the caller's queues.
  const NvmeDriveSet& drives() const {
    if (!set_) throw Error("a page cache of the caller's queues has no drive set: ask those queues");
    return *set_;
  }

  /// What was counted so far; call it while no kernel runs.
  /// @snippet cache.cpp counts
  CacheCounts counts() const {
    CacheCounts result{};
    copy(&result, handle_.counts, sizeof(result));
    return result;
  }
  /// Forgets all pages, and what was not written back (Cache::flush()). For drives that others have written, and after
  /// a reset of a controller; call it while no kernel runs.
  /// @snippet cache.cpp forget
  void forget() {
    const CacheCounts counted = counts();
    const std::vector<unsigned char> zeros(words_.size());
    copy(words_.gpu(), zeros.data(), zeros.size());
    copy(handle_.counts, &counted, sizeof(counted));
    mark_unusable();
  }

 private:
  static uint32_t log2(uint64_t power) {
    uint32_t shift = 0;
    while (power >> shift > 1) ++shift;
    return shift;
  }
  template <class T>
  static T* part(unsigned char*& at, uint64_t count) {
    auto* const first = reinterpret_cast<T*>(at);
    at += count * sizeof(T);
    return first;
  }
  void copy(void* to, const void* from, size_t bytes) const {
    if (executor_.gpu()) {
      executor_.gpu()->copy(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  void mark_unusable() const {
    constexpr uint64_t word = xio::detail::CacheWord::unusable;
    for (uint64_t i = usable_; i < handle_.frames(); ++i) copy(handle_.words + i, &word, sizeof(word));
  }

  [[noreturn]] static void refuse(const char* what, uint64_t value, const std::string& expected) {
    throw Error(std::string("a page cache: ") + what + " = " + std::to_string(value) + " is not accepted; expected " +
                expected);
  }

  void check_queues(const void* memory, const CacheOptions& options) const {
    const size_t count = queues_.size();
    if (options.queues_per_drive == 0 || count == 0 || count % options.queues_per_drive != 0)
      refuse("queues_per_drive", options.queues_per_drive,
             "a divisor of the number of queues, " + std::to_string(count) + ", of which there is at least one");
    constexpr uintptr_t line = 64;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    if (address == 0 || address % line != 0) refuse("memory", address, "a multiple of " + std::to_string(line));
    for (const nvme::QueueHandle& one : queues_)
      if (one.block_shift != queues_.front().block_shift)
        refuse("a drive's block", uint64_t{1} << one.block_shift,
               "that of the first drive, " + std::to_string(1u << queues_.front().block_shift));
  }

  void check(const CacheOptions& options) const {
    const uint64_t block = uint64_t{1} << queues_.front().block_shift;
    if (!is_power_of_two(options.page_bytes) || options.page_bytes < block || options.page_bytes > size_t{1} << 30)
      refuse("page_bytes", options.page_bytes,
             "a power of two from the drives' block, " + std::to_string(block) + ", to 1 GiB");
    if (!is_power_of_two(options.ways) || options.ways < 4 || options.ways > 64)
      refuse("ways", options.ways, "a power of two, 4 to 64");
    if (options.bytes < options.page_bytes || options.bytes / options.page_bytes > uint64_t{1} << 28)
      refuse("bytes", options.bytes, "at least a page, and at most 2^28 pages");
  }

  /// Sizes, and what the drives have room for.
  void plan(const CacheOptions& options) {
    check(options);
    // A cache of less than a set has frames that are not there.
    const uint64_t wanted = options.bytes / options.page_bytes;
    const uint64_t frames = wanted < options.ways ? options.ways : power_of_two_up_to(wanted);
    usable_ = wanted < options.ways ? wanted : frames;
    handle_.page_shift = log2(options.page_bytes);
    handle_.way_shift = log2(options.ways);
    handle_.set_shift = log2(frames) - handle_.way_shift;
    handle_.drives.stripe_shift = handle_.page_shift - queues_.front().block_shift;
    plan_pages();
  }

  /// Parts of one piece of memory, the most aligned ones first.
  void make_words() {
    const uint64_t frames = handle_.frames();
    const uint64_t sets = frames >> handle_.way_shift;
    words_ =
        MemoryAllocator(executor_.gpu())
            .allocate(MemoryKind::vram_coarse, frames * (sizeof(KeptResult) + 16) + sets * 16 + sizeof(CacheCounts));
    auto* at = static_cast<unsigned char*>(words_.gpu());
    handle_.ends = part<KeptResult>(at, frames);
    handle_.words = part<uint64_t>(at, frames);
    handle_.counts = part<CacheCounts>(at, 1);
    handle_.notes = part<uint32_t>(at, 2 * frames);
    handle_.sets = part<uint32_t>(at, 4 * sets);
    mark_unusable();
  }

  void plan_pages() {
    const uint32_t blocks = 1u << handle_.drives.stripe_shift;
    uint64_t least = ~uint64_t{0};
    for (const nvme::QueueHandle& queue : queues_) {
      least = std::min(least, queue.namespace_blocks);
      if (queue.max_blocks == 0 || blocks <= queue.max_blocks) continue;
      handle_.splits = 1;
      const uint32_t parts = (blocks + queue.max_blocks - 1) / queue.max_blocks;
      if (parts > queue.depth)
        refuse("page_bytes", uint64_t{1} << handle_.page_shift,
               "a page that a queue of depth " + std::to_string(queue.depth) + " can hold: it takes " +
                   std::to_string(parts) + " commands");
    }
    handle_.pages = (least >> handle_.drives.stripe_shift) * handle_.drives.drives;
    if (handle_.pages == 0) throw Error("a page cache: the drives are smaller than a page, or their size is not known");
    if (handle_.pages >> handle_.set_shift >= ~uint32_t{0})
      throw Error("a page cache of " + std::to_string(handle_.frames()) + " frames cannot tell " +
                  std::to_string(handle_.pages) + " pages apart: more sets or larger pages can");
  }

  Executor executor_;
  std::optional<NvmeDriveSet> set_;
  std::vector<nvme::QueueHandle> queues_;  // as the host sees them
  std::vector<uint64_t> bases_;            // of the caller's memory, for each drive
  DriveBuffer frames_;
  MemoryBuffer words_;
  uint64_t usable_ = 0;  // frames that are there
  CacheHandle handle_{};
};

/// Makes a page cache over the drives of `controllers`, whose blocks have one size, for kernels of `executor`.
///
/// Throws Error for sizes that it cannot have, and what make_drive_set() throws.
/// @snippet cache.cpp make_cache
inline NvmeCache make_cache(Executor executor, std::vector<NvmeController*> controllers,
                            const CacheOptions& options = {}) {
  return {std::move(executor), std::move(controllers), options};
}

/// Makes a page cache over queues and memory of the caller's, for kernels on the CPU.
///
/// Over RDMA: handles of queues (FabricQueueOf) that were made with FabricQueueOptions::data = `memory`. The kernels'
/// `Options` have a `QueuePolicy` with Notify and the queues' RingBy.
///
/// Throws Error for sizes that it cannot have. After reconnect(), make queues and cache anew.
/// @param queues  all of drive 0, then those of drive 1, and so on: `options.queues_per_drive` of each
/// @param memory  of the frames, at the same address for kernels and drives: `options.bytes` bytes from a multiple of
/// 64
/// @param options `queue` is not used
inline NvmeCache make_cache(std::vector<nvme::QueueHandle> queues, void* memory, const CacheOptions& options = {}) {
  return {std::move(queues), memory, options};
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
