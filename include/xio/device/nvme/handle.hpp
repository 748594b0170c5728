// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Handle of one NVMe queue pair: a trivially copyable struct that the host passes to a kernel by value.

#include <xio/device/core/notification.hpp>
#include <xio/device/core/placement.hpp>
#include <xio/device/nvme/completion_table.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Handle of one queue pair and one namespace. Filled by the host (see xio/host/nvme/controller.hpp); constant for the
/// kernel.
///
/// All pointers are addresses usable by the executing side (GPU or CPU); every member named `_bus` is an address usable
/// by the controller. Counts are numbers of entries or of logical blocks; sizes are in bytes.
struct QueueHandle {
  // Members that every submission needs come first: wide scalar loads fetch them.
  QueueState* state;      ///< mutable state, zeroed before the first use
  uint32_t depth;         ///< maximum number of operations in flight; <= sq_mask and <= cq_mask
  uint32_t list_bytes;    ///< PRP list bytes per completion slot: a power of two, 8 to the page size, or whole pages
  Sqe* sq;                ///< submission ring, `sq_mask + 1` entries
  uint32_t* sq_doorbell;  ///< SQ tail doorbell: a mapped register, or a word that a host proxy forwards
  uint32_t sq_mask;       ///< SQ size - 1; the size is a power of two
  uint32_t slot_mask;     ///< completion slots - 1; a power of two >= 2 * depth and <= 32768
  uint32_t nsid;          ///< default namespace of commands
  uint32_t page_shift;    ///< log2 of the controller's memory page size (CC.MPS): 12 means 4096 bytes
  /// Completion table, `slot_mask + 1` entries, zeroed before the first use. It counts 2^48 operations; those of its
  /// last lap, the last `slot_mask + 1` of them, end with Status::broken, or time out: the host then recovers the
  /// queue.
  CompletionSlot* slots;
  uint32_t block_shift;  ///< log2 of the logical block size in bytes
  uint32_t max_blocks;   ///< maximum logical blocks per command (MDTS and the 16-bit field), less than 4 GiB of data;
                         ///< larger commands are split. 0: refused without metadata() or protection_action()
  uint64_t namespace_blocks;  ///< capacity of the namespace in logical blocks; 0: not checked by the kernel
  uint64_t* lists;            ///< list memory: `list_bytes` per completion slot; null: no command needs a list
  uint64_t lists_bus;         ///< bus address of `lists`; aligned to the lesser of `list_bytes` and the page size

  const Cqe* cq;                 ///< completion ring, `cq_mask + 1` entries
  uint32_t* cq_doorbell;         ///< CQ head doorbell, like `sq_doorbell`
  uint32_t cq_mask;              ///< CQ size - 1; the size is a power of two
  uint32_t qid;                  ///< identifier of the SQ and of the CQ
  Notification** notifications;  ///< one pointer per completion slot, zeroed; null if no policy uses notifications, and
                                 ///< flush_inbound() is not used: late failures of its commands would be reported
  FailureLog* failures;          ///< followed by `failure_entries` words, all zeroed before the first use
  uint64_t flush_bus;            ///< bus address of one block in the data's memory, for flush_inbound(); 0: not offered
  uint64_t clock_hz;             ///< measured rate of the executing side's clock; 0: arch::clock_hz

  uint32_t* sq_shadow;             ///< DBBUF shadow of the SQ tail; null: unused
  uint32_t* cq_shadow;             ///< DBBUF shadow of the CQ head
  const uint32_t* sq_event_index;  ///< DBBUF EventIdx of the SQ tail
  const uint32_t* cq_event_index;  ///< DBBUF EventIdx of the CQ head

  uint32_t failure_entries;  ///< entries of the failure log, at least 64
  // Controller limits of commands for which max_blocks does not hold.
  uint32_t max_bytes;      ///< data of a command that is not split, in bytes (MDTS); 0: not checked by the kernel
  uint32_t append_bytes;   ///< data of Zone Append, in bytes (ZASL); 0: max_bytes
  uint32_t verify_blocks;  ///< logical blocks of Verify (VSL), at most 65536; larger commands are split. 0: max_blocks
  uint32_t write_zeroes_blocks;   ///< logical blocks of Write Zeroes (WZSL), likewise
  uint32_t uncorrectable_blocks;  ///< logical blocks of Write Uncorrectable (WUSL), likewise
  uint32_t dsm_ranges;            ///< ranges of Dataset Management (DMRL), at most 256; 0: not checked by the kernel
  uint32_t dsm_range_blocks;      ///< logical blocks of one range (DMRSL), for cover_ranges(); 0: no limit
  uint64_t dsm_blocks;            ///< logical blocks of all ranges of a command (DMSL), likewise
  uint32_t metadata_blocks;       ///< max_blocks of commands with metadata(); 0: max_blocks
  uint32_t protection_blocks;     ///< max_blocks of commands with protection_action() only; 0: max_blocks

  /// Parts that the host has allocated in the memory of the GPU that runs the kernels, as bits of memory_mode: the
  /// lists belong to the submission ring; without shadow doorbells there is no record, which counts as such. 0: all
  /// lies in host memory. See InGpuMemory.
  uint32_t gpu_memory;

  uint32_t abi;           ///< XIO_ABI_NUMBER of the side that filled the handle
  uint32_t handle_bytes;  ///< sizeof(QueueHandle) on that side

  /// CommandSet of the namespace. One without blocks has max_blocks 0 and namespace_blocks 1, so that
  /// nvme::Queue refuses commands with blocks too.
  uint32_t command_set;
};

/// Whether both sides were compiled against the same layout. A kernel may check this once.
XIO_DEVICE constexpr bool layout_agrees(const QueueHandle& handle) {
  return handle.abi == XIO_ABI_NUMBER && handle.handle_bytes == sizeof(QueueHandle);
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
