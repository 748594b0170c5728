// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What is filled in and checked before a queue pair is created.

#include <cstddef>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/transport.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Returns `options` with unset members filled in for a GPU that is to run the kernels.
inline QueueOptions placed(QueueOptions options, NvmeTransport& transport) {
  const Executor& executor = options.executor;
  if (!executor.gpu()) return options;
  if (options.clock_hz == 0) options.clock_hz = executor.clock_hz();
  if (!options.executor_address) options.executor_address = [executor](void* cpu) { return executor.address(cpu); };
  if (!options.allocate_rings) {
    options.allocate_rings = [executor, &transport](size_t bytes, size_t alignment) {
      // GPU runtimes register whole pages.
      const size_t page = PageMap::page_bytes();
      return executor.share(transport.allocate((bytes + page - 1) / page * page, alignment < page ? page : alignment));
    };
  }
  if (!options.allocate_record) options.allocate_record = options.allocate_rings;
  if (!options.allocate_state) {
    // Only kernels access this state.
    options.allocate_state = [gpu = executor.gpu()](size_t bytes, size_t alignment) {
      const MemoryBuffer buffer = MemoryAllocator(gpu).allocate(MemoryKind::vram_coarse, bytes, alignment);
      return DmaBuffer(buffer.gpu(), 0, buffer.size(), buffer.owner(), buffer.memory());
    };
  }
  return options;
}

/// Commands queued without metadata_by_caller have no metadata buffer, and flush_inbound() never has one.
inline void check_metadata(const std::string& name, const NamespaceInfo& names, const QueueOptions& wanted) {
  if (wanted.metadata_by_caller && !names.extended_blocks && wanted.flush_bus == 0) return;
  const std::string type =
      names.protection_type == 0 ? "" : " (protection type " + std::to_string(names.protection_type) + ")";
  const std::string bytes = std::to_string(names.metadata_bytes) + " bytes of metadata";
  const std::string without = "format it without (nvme format --lbaf, which erases it)";
  if (names.extended_blocks) throw Error(name + " mixes " + bytes + " into its blocks" + type + "; " + without);
  if (wanted.metadata_by_caller)
    throw Error(name + " keeps " + bytes + " apart from its blocks" + type +
                ", for which flush_inbound() has no buffer; leave flush_bus out");
  throw Error(name + " keeps " + bytes + " apart from its blocks" + type + ", for which commands have no buffer; " +
              without + ", or see QueueOptions::metadata_by_caller");
}

}  // namespace host::detail

XIO_NAMESPACE_END
