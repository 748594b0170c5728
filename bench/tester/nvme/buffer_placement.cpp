// SPDX-License-Identifier: MIT
#include "tester/nvme/buffer_placement.hpp"

#include <utility>

#include <xio/host/gpu/find.hpp>
#include <xio/host/memory/placement.hpp>
#include <xio/host/nvme/gpu_memory.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

using xio::host::DmaBuffer;
using xio::host::MemoryBuffer;
namespace memory_mode = xio::memory_mode;

std::shared_ptr<xio::host::GpuRuntime> gpu_for_mode(uint32_t mode,
                                                    const std::shared_ptr<xio::host::GpuRuntime>& executor) {
  if (mode == 0) return nullptr;
  if (executor) return executor;
  xio::host::FoundGpu found = xio::host::find_gpu();
  if (!found.runtime)
    throw CannotRun("--memory-mode " + std::to_string(mode) + ": " + xio::host::parts_text(mode) +
                    " in GPU memory, but there is no GPU; 0 is offered (" + found.why_none + ")");
  return std::move(found.runtime);
}

BufferPlacement::BufferPlacement(uint32_t mode, std::shared_ptr<xio::host::GpuRuntime> gpu, const Target& target,
                                 const ExecutorMemory& executor)
    : mode_(mode), allocator_(std::move(gpu)), controller_(target.controller.get()), executor_(executor) {
  if (xio::needs_inbound_flush(mode) && (controller_->info().view().oncs() & xio::nvme::oncs::compare) == 0)
    throw CannotRun("--memory-mode " + std::to_string(mode) +
                    ": data in GPU memory and completions in host memory are not ordered, and this controller has no "
                    "Compare to make them so; put the CQ there too (" +
                    std::to_string(mode | memory_mode::cq) + ")");
}

std::string BufferPlacement::gpu() const { return allocator_.has_gpu() ? allocator_.description() : std::string(); }

/// Maps GPU memory for the CPU and the controller. The CPU fills the rings; if it runs the kernels, it must also access
/// the data.
DmaBuffer BufferPlacement::reach(const MemoryBuffer& buffer) const {
  try {
    return xio::host::detail::map_gpu_memory(buffer, *allocator_.gpu(), executor_, controller_->transport());
  } catch (const xio::host::Error& reason) {
    throw CannotRun("--memory-mode " + std::to_string(mode_) + ": " + reason.what());
  }
}

DmaBuffer BufferPlacement::allocate(uint32_t part, size_t bytes, size_t alignment) const {
  if ((mode_ & part) == 0) return allocate_host(bytes, alignment);
  return reach(xio::host::allocate_for(allocator_, part, mode_, bytes, alignment));
}

DmaBuffer BufferPlacement::allocate_host(size_t bytes, size_t alignment) const {
  if (!executor_.gpu()) return controller_->transport().allocate(bytes, alignment);
  // Runtimes register whole pages, each page only once.
  const size_t page = xio::host::PageMap::page_bytes();
  return executor_.share(
      controller_->transport().allocate((bytes + page - 1) / page * page, alignment < page ? page : alignment));
}

DmaBuffer BufferPlacement::data(uint64_t bytes) const {
  return allocate(memory_mode::data, bytes, controller_->page_bytes());
}

void BufferPlacement::place(xio::host::QueueOptions& options, uint32_t block_bytes) {
  const auto part = [this](uint32_t one) {
    return [this, one](size_t bytes, size_t alignment) { return allocate(one, bytes, alignment); };
  };
  options.executor = executor_;
  if ((mode_ & memory_mode::sq) != 0) options.allocate_sq = part(memory_mode::sq);
  if ((mode_ & memory_mode::cq) != 0) options.allocate_cq = part(memory_mode::cq);
  if ((mode_ & memory_mode::doorbell_record) != 0) options.allocate_record = part(memory_mode::doorbell_record);
  if (!xio::needs_inbound_flush(mode_)) return;
  if (!flushed_) flushed_ = data(block_bytes);
  options.flush_bus = flushed_.bus();
}

}  // namespace tester
