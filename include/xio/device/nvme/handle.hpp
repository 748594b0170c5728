// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host tells a kernel about one NVMe queue pair: a trivially copyable struct, passed by value.

#include <xio/device/queue/completion.hpp>
#include <xio/device/queue/room.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// One queue pair and one namespace. Filled by the host (xio/host/nvme/controller.hpp does it); constants for the
/// kernel.
///
/// All pointers are addresses that the executing side (GPU or CPU) can use; everything named `_bus` is an address that
/// the controller can use. Counts are numbers of entries or of logical blocks, sizes are bytes.
struct QueueHandle {
  // What every submission needs comes first: wide scalar loads fetch it.
  QueueState* state;      ///< mutable state, zeroed before the first use
  uint32_t depth;         ///< most operations in flight; <= sq_mask and <= cq_mask
  uint32_t list_bytes;    ///< PRP list memory of one completion slot: a power of two from 8 to the page, or whole pages
  Sqe* sq;                ///< submission ring, `sq_mask + 1` entries
  uint32_t* sq_doorbell;  ///< SQ tail doorbell: a mapped register, or a word that a host proxy forwards
  uint32_t sq_mask;       ///< SQ size - 1; the size is a power of two
  uint32_t slot_mask;     ///< completion slots - 1; a power of two >= 2 * depth and <= 32768
  uint32_t nsid;          ///< namespace of commands that name none
  uint32_t page_shift;    ///< log2 of the controller's memory page size (CC.MPS): 12 means 4096 bytes
  CompletionSlot* slots;  ///< completion table, `slot_mask + 1` entries, zeroed before the first use
  uint32_t block_shift;   ///< log2 of the logical block size in bytes
  uint32_t max_blocks;    ///< most logical blocks of one command (MDTS, and the 16-bit field); larger ones are split
  uint64_t namespace_blocks;  ///< capacity of the namespace in logical blocks; 0: not checked here
  uint64_t* lists;            ///< list memory: `list_bytes` for each completion slot; null: no command needs a list
  uint64_t lists_bus;         ///< bus address of `lists`; a multiple of `list_bytes`, or of the page where that is less

  const Cqe* cq;                 ///< completion ring, `cq_mask + 1` entries
  uint32_t* cq_doorbell;         ///< CQ head doorbell, like `sq_doorbell`
  uint32_t cq_mask;              ///< CQ size - 1; the size is a power of two
  uint32_t qid;                  ///< identifier of the SQ and of the CQ
  Notification** notifications;  ///< a pointer for each completion slot, zeroed; null where policies have none
  FailureLog* failures;          ///< followed by `failure_entries` words, all zeroed before the first use
  uint64_t flush_bus;            ///< bus address of one block in the data's memory, for flush_inbound(); 0: not offered
  uint64_t clock_hz;             ///< measured rate of the executing side's clock; 0: arch::clock_hz

  uint32_t* sq_shadow;             ///< DBBUF shadow of the SQ tail; null: not in use
  uint32_t* cq_shadow;             ///< DBBUF shadow of the CQ head
  const uint32_t* sq_event_index;  ///< DBBUF EventIdx of the SQ tail
  const uint32_t* cq_event_index;  ///< DBBUF EventIdx of the CQ head

  uint32_t failure_entries;  ///< of the log, at least 64
  // What the controller takes of commands for which max_blocks does not hold.
  uint32_t max_bytes;      ///< data of one that is not split, in bytes (MDTS); 0: not checked here
  uint32_t append_bytes;   ///< the same of Zone Append (ZASL); 0: max_bytes
  uint32_t verify_blocks;  ///< logical blocks of Verify (VSL), at most 65536; larger ones are split. 0: max_blocks
  uint32_t write_zeroes_blocks;   ///< the same of Write Zeroes (WZSL)
  uint32_t uncorrectable_blocks;  ///< the same of Write Uncorrectable (WUSL)
  uint32_t dsm_ranges;            ///< ranges of Dataset Management (DMRL), at most 256; 0: not checked here
  uint32_t dsm_range_blocks;      ///< logical blocks of one range (DMRSL), for cover_ranges(); 0: no limit
  uint64_t dsm_blocks;            ///< the same of all ranges of a command (DMSL)

  uint32_t abi;           ///< XIO_ABI_NUMBER of the side that filled the handle
  uint32_t handle_bytes;  ///< sizeof(QueueHandle) on that side
};

/// Whether both sides were compiled against the same layout; a kernel may check once.
XIO_DEVICE constexpr bool layout_agrees(const QueueHandle& handle) {
  return handle.abi == XIO_ABI_NUMBER && handle.handle_bytes == sizeof(QueueHandle);
}

}  // namespace nvme

XIO_NAMESPACE_END
