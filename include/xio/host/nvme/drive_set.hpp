// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Creates the queues of a set of drives, and memory that all of them can access.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/device/nvme/drive_set.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/gpu_memory.hpp>
#include <xio/host/power_of_two.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Requested properties of a drive set.
struct DriveSetOptions {
  QueueOptions queue;             ///< of every queue; its `qid` is 0
  uint32_t queues_per_drive = 1;  ///< at least 1; waves with different numbers use different ones
  uint32_t stripe_blocks = 8;     ///< logical blocks in a stripe: a power of two
  /// What allocate() returns lies in the GPU's memory, and so do the completion rings of all queues: PCIe does not
  /// order data in one memory with completions in the other. That takes Placed policies, which a page cache refuses.
  bool gpu_memory = false;
};

/// Memory of the first controller, or of the GPU, that all controllers of a set can access. Must not outlive the set.
class DriveBuffer {
 public:
  void* data() const { return memory_.data(); }
  size_t size() const { return memory_.size(); }
  template <class T>
  T* as(size_t offset = 0) const {
    return memory_.as<T>(offset);
  }
  /// For kernels, passed by value.
  nvme::DriveRegion region() const { return region_; }
  /// The memory for one drive, for queues of its own.
  Region region(uint32_t drive) const {
    Region one = memory_.region();
    if (drive != 0) one.base = mapped_.at(drive - 1).bus();
    return one;
  }

 private:
  friend class NvmeDriveSet;
  DmaBuffer memory_;
  std::vector<DmaBuffer> mapped_;  // for the controllers after the first one
  std::shared_ptr<const uint64_t> bases_;
  nvme::DriveRegion region_{};
};

/// Queues on several controllers for nvme::DriveSet. The controllers must outlive it. Made by make_drive_set().
class NvmeDriveSet {
 public:
  NvmeDriveSet(std::vector<NvmeController*> controllers, Executor executor, const DriveSetOptions& options)
      : controllers_(std::move(controllers)), executor_(std::move(executor)), gpu_memory_(options.gpu_memory) {
    if (controllers_.empty()) throw Error("a drive set needs at least one controller");
    if (options.queues_per_drive == 0) throw Error("queues_per_drive = 0 is not accepted; expected at least 1");
    if (!is_power_of_two(options.stripe_blocks))
      throw Error("stripe_blocks = " + std::to_string(options.stripe_blocks) +
                  " is not accepted; expected a power of two");
    if (options.queue.qid != 0) throw Error("a drive set chooses the identifiers of its queues: leave qid at 0");
    const auto drives = static_cast<uint32_t>(controllers_.size());
    std::vector<nvme::QueueHandle> handles;
    for (NvmeController* const one : controllers_) {
      QueueOptions queue = on(executor_, options.queue);
      if (gpu_memory_)
        queue.allocate_cq = [executor = executor_, one](size_t bytes, size_t alignment) {
          const MemoryBuffer ring = detail::allocate_gpu_memory(executor, memory_mode::cq, bytes, alignment);
          return detail::map_gpu_memory(ring, *executor.gpu(), executor, one->transport());
        };
      for (uint32_t i = 0; i < options.queues_per_drive; ++i) {
        queues_.push_back(one->create_queue(queue));
        handles.push_back(queues_.back().handle());
      }
    }
    check_alike(options.queues_per_drive);
    handles_ = place(handles);
    handle_.queues = handles_.get();
    handle_.drives = drives;
    handle_.queues_per_drive = options.queues_per_drive;
    while (options.stripe_blocks >> handle_.stripe_shift > 1) ++handle_.stripe_shift;
  }

  /// For kernels, passed by value; valid as long as this object, and until a controller is reset.
  nvme::DriveSetHandle handle() const { return handle_; }
  const Executor& executor() const { return executor_; }
  /// All queues of drive 0, then those of drive 1, and so on.
  const std::vector<NvmeQueue>& queues() const { return queues_; }
  /// Capacity: as many whole stripes as the smallest drive holds, on each.
  uint64_t blocks() const {
    uint64_t least = ~uint64_t{0};
    for (const NvmeQueue& one : queues_) least = std::min(least, one.handle().namespace_blocks);
    return (least >> handle_.stripe_shift << handle_.stripe_shift) * handle_.drives;
  }
  uint32_t block_bytes() const { return 1u << queues_.front().handle().block_shift; }

  /// Zeroed memory that the kernels and every controller of the set can access. Throws Error where a controller cannot
  /// access the first one's memory, or the GPU's (NvmeTransport::map_memory()).
  /// @param bytes  rounded up to pages
  DriveBuffer allocate(size_t bytes) const {
    // To be mapped: whole pages of the CPU and of every controller.
    size_t page = PageMap::page_bytes();
    for (const NvmeController* const one : controllers_) page = std::max<size_t>(page, one->page_bytes());
    bytes = whole(bytes == 0 ? 1 : bytes, page);
    DriveBuffer made;
    const MemoryBuffer own =
        gpu_memory_ ? detail::allocate_gpu_memory(executor_, memory_mode::data, bytes, page) : MemoryBuffer();
    const auto map = [&](NvmeTransport& transport) {
      if (own) return detail::map_gpu_memory(own, *executor_.gpu(), executor_, transport);
      if (made.memory_) return transport.map_memory(made.memory_.data(), made.memory_.size(), nullptr);
      return executor_.share(transport.allocate(bytes, page));
    };
    made.memory_ = map(controllers_.front()->transport());
    std::vector<uint64_t> bases{made.memory_.bus()};
    for (size_t i = 1; i < controllers_.size(); ++i) {
      made.mapped_.push_back(map(controllers_[i]->transport()));
      bases.push_back(made.mapped_.back().bus());
    }
    made.bases_ = place(bases);
    made.region_ = {made.bases_.get(), made.memory_.size(), made.memory_.region().memory};
    return made;
  }

 private:
  static size_t whole(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

  /// Copies what only kernels read to the executor's own memory: on a GPU, they would else read it over PCIe.
  template <class Object>
  std::shared_ptr<const Object> place(const std::vector<Object>& objects) const {
    const size_t bytes = objects.size() * sizeof(Object);
    const MemoryBuffer made = MemoryAllocator(executor_.gpu()).allocate(MemoryKind::vram_coarse, bytes);
    if (executor_.gpu())
      executor_.gpu()->copy(made.gpu(), objects.data(), bytes);
    else
      std::memcpy(made.gpu(), objects.data(), bytes);
    return {made.owner(), static_cast<const Object*>(made.gpu())};
  }

  void check_alike(uint32_t queues_per_drive) const {
    for (size_t i = 0; i < queues_.size(); ++i)
      if (queues_[i].handle().block_shift != queues_.front().handle().block_shift)
        throw Error("the drives of a set need blocks of one size: " +
                    controllers_[i / queues_per_drive]->transport().description() + " has " +
                    std::to_string(1u << queues_[i].handle().block_shift) + " bytes, the first one " +
                    std::to_string(block_bytes()));
  }

  std::vector<NvmeController*> controllers_;
  Executor executor_;
  bool gpu_memory_;
  std::shared_ptr<const nvme::QueueHandle> handles_;
  std::vector<NvmeQueue> queues_;
  nvme::DriveSetHandle handle_{};
};

/// Creates queues for a DriveSet: `options.queues_per_drive` on each controller, for kernels of `executor`.
///
/// Throws Error if the drives' blocks differ in size, and what NvmeController::create_queue() throws.
/// @snippet drive_set.cpp make_drive_set
inline NvmeDriveSet make_drive_set(std::vector<NvmeController*> controllers, Executor executor,
                                   const DriveSetOptions& options = {}) {
  return {std::move(controllers), std::move(executor), options};
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
