// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What is filled in and checked before a queue pair is created.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/device/nvme/handle.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller_access.hpp>
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

/// Queue identifiers to try, in this order; not empty.
/// @param uses whether a queue has an identifier
template <class Uses>
std::vector<uint32_t> free_qids(const QueueIds& ids, uint32_t wanted, Uses uses) {
  if (wanted != 0) {
    if (wanted < ids.first || wanted > ids.last)
      throw Error("queue " + std::to_string(wanted) + " is out of range; the controller granted " +
                  (ids.first == 1 ? std::to_string(ids.count()) + " queue pairs"
                                  : "queues " + std::to_string(ids.first) + " to " + std::to_string(ids.last)));
    if (uses(wanted)) throw Error("queue " + std::to_string(wanted) + " exists already");
    return {wanted};
  }
  std::vector<uint32_t> free;
  for (uint32_t qid = ids.first; qid <= ids.last; ++qid)
    if (!uses(qid)) free.push_back(qid);
  if (ids.from_top) std::reverse(free.begin(), free.end());
  if (free.empty())
    throw Error("all " + std::to_string(ids.count()) + " queue pairs that the controller granted are in use");
  return free;
}

/// What a queue of a key-value namespace supposes of it. Nobody watches it: it has no blocks whose size could change.
inline NamespaceInfo without_blocks() {
  NamespaceInfo info;
  info.block_shift = 9;
  info.blocks = 1;
  info.command_set = nvme::CommandSet::key_value;
  return info;
}

/// Format of a queue's namespace, as far as commands depend on it.
struct QueueFormat {
  uint64_t blocks = 0;
  uint32_t block_shift = 0;
  uint32_t metadata_bytes = 0;
  bool only_protection = false;  ///< the metadata is protection information, which the controller can generate
  bool key_values = false;

  explicit QueueFormat(const NamespaceInfo& from)
      : blocks(from.blocks),
        block_shift(from.block_shift),
        metadata_bytes(from.metadata_bytes),
        only_protection(from.protection_type != 0 && from.metadata_bytes == protection_bytes),
        key_values(from.command_set == nvme::CommandSet::key_value) {}

 private:
  static constexpr uint32_t protection_bytes = 8;  // guard, application tag and reference tag
};

/// Sets the limits of commands in a handle.
inline void set_limits(nvme::QueueHandle& handle, const QueueFormat& format, const QueuePlan& plan,
                       const CommandLimits& limits) {
  // Without a buffer the controller would use bus address 0 for metadata. Without blocks no command may move some.
  handle.max_blocks = format.metadata_bytes != 0 || format.key_values ? 0 : plan.max_blocks;
  handle.metadata_blocks = format.key_values ? 0 : plan.max_blocks;
  handle.protection_blocks = format.only_protection ? plan.max_blocks : 0;
  handle.max_bytes = plan.max_bytes;
  handle.append_bytes = plan.append_bytes;
  handle.verify_blocks = plan.verify_blocks;
  handle.write_zeroes_blocks = plan.write_zeroes_blocks;
  handle.uncorrectable_blocks = plan.uncorrectable_blocks;
  handle.dsm_ranges = limits.dsm_ranges;
  handle.dsm_range_blocks = limits.dsm_range_blocks;
  handle.dsm_blocks = limits.dsm_blocks;
  handle.namespace_blocks = format.blocks;
  handle.block_shift = format.block_shift;
  handle.command_set = static_cast<uint32_t>(format.key_values ? nvme::CommandSet::key_value : nvme::CommandSet::nvm);
}

/// Commands queued without metadata_by_caller have no metadata buffer, and flush_inbound() never has one.
inline void check_metadata(const std::string& name, const NamespaceInfo& names, const QueueOptions& wanted) {
  if (names.metadata_bytes == 0) return;
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

/// Throws Error unless queues for blocks of this format can be made. A device may say anything.
inline void check_format(const std::string& name, const NamespaceInfo& names, const QueueOptions& wanted) {
  if (names.block_shift < 9 || names.block_shift > 24) throw Error(name + " has an unsupported block size");
  check_metadata(name, names, wanted);
}

}  // namespace host::detail

XIO_NAMESPACE_END
