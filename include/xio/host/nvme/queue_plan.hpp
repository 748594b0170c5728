// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Derives the sizes of an I/O queue pair's parts from the user's options.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/nvme/failure_log.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Requested properties of a queue pair.
/// @snippet host.cpp create_queue
struct QueueOptions {
  uint32_t depth = 64;      ///< maximum commands in flight; 1 to the controller's largest queue (CAP.MQES + 1)
  uint32_t nsid = 1;        ///< namespace of commands that name none; 0: commands name theirs, and give their length
                            ///< (nvme::Command::moves()); LBAs are not checked
  uint32_t qid = 0;         ///< identifier of both queues; 0: a free one of NvmeController::queue_ids()
  uint32_t sq_entries = 0;  ///< size of the submission ring, a power of two; 0: the smallest that holds `depth`
  uint32_t cq_entries =
      0;  ///< size of the completion ring, a power of two; 0: twice the SQ and at least 64 if possible
  /// Completion slots: an operation waits while the operation that many positions earlier is incomplete, and its result
  /// is kept for as many operations. A power of two up to 32768, at least twice the depth; 0: at least that, up to 4096
  /// while their lists take no more than 1 MiB.
  uint32_t completion_slots = 0;
  /// Failed operations kept on record beyond the slots, for tokens that are queried late: 64 to 1048576. Results are
  /// exact until that many later operations have failed; then they can be Status::expired.
  uint32_t failures_on_record = 1024;
  bool shadow_doorbells = false;  ///< Doorbell Buffer Config; once enabled, every new queue has shadow doorbells
  bool non_contiguous = false;    ///< describe the rings by lists of pages (PC = 0); needs CAP.CQR = 0
  /// Accepts a namespace with separate metadata. Each command that moves or compares blocks then gives its metadata
  /// buffer by metadata(), or lets the controller generate it by protection_action(), if the metadata is 8 bytes of
  /// protection information only. Commands with neither are refused with Status::invalid_argument, and so are
  /// `read(lba, region)`, `write(lba, region)`, submit_batch() and transfer(), which have no metadata: the controller
  /// would access bus address 0. Policies without argument checks refuse nothing. Interleaved metadata is always
  /// rejected.
  bool metadata_by_caller = false;

  /// Memory for the PRP or SGL list of one command, in bytes: a power of two up to the controller's page, or whole
  /// pages. 0: none, commands move at most one page. Empty: enough for the PRP list of the longest command, at most a
  /// page. An SGL of n pieces takes nvme::needed_sgl_bytes(n) bytes: for scattered pages more than twice as much, so
  /// that as_sgl() of many pieces needs a larger value; such a command is refused with Status::out_of_range.
  std::optional<uint32_t> list_bytes;

  /// Executor of the kernels; on() sets it. For a GPU, the following members are filled in if unset: its clock rate,
  /// memory accessible to it for rings and records, its own memory for the state, and its addresses. It also gets
  /// access to the doorbells.
  Executor executor;
  uint64_t clock_hz = 0;   ///< rate of the executor's clock (measure_clock_rate()); for QueueHandle::clock_hz
  uint64_t flush_bus = 0;  ///< for QueueHandle::flush_bus

  using Allocate = std::function<DmaBuffer(size_t bytes, size_t alignment)>;
  Allocate allocate_rings;   ///< zeroed memory for the rings and lists; empty: NvmeTransport::allocate
  Allocate allocate_sq;      ///< zeroed memory for the submission ring only; empty: allocate_rings
  Allocate allocate_cq;      ///< zeroed memory for the completion ring only; empty: allocate_rings
  Allocate allocate_record;  ///< zeroed memory for the pages of shadow doorbells; the first queue with some allocates
                             ///< them; empty: allocate_rings for a GPU, else NvmeTransport::allocate
  Allocate allocate_state;   ///< zeroed memory that only the executor uses; empty: NvmeTransport::allocate
  /// Translates a CPU address to the executor's address of the same byte; empty: they are equal.
  std::function<void*(void*)> executor_address;
};

/// Returns options for a queue whose kernels `executor` runs: `controller.create_queue(on(gpu))`.
/// @snippet host.cpp create_queue
inline QueueOptions on(Executor executor, QueueOptions options = {}) {
  options.executor = std::move(executor);
  return options;
}

/// Controller and namespace limits that a queue plan depends on.
struct QueueLimits {
  uint32_t max_entries = 0;         ///< of one queue: CAP.MQES + 1
  bool contiguous_required = true;  ///< CAP.CQR
  uint32_t page_shift = 12;         ///< log2 of the controller's memory page
  uint32_t block_shift = 9;         ///< log2 of the namespace's block
  uint64_t max_transfer_bytes = 0;  ///< of one command; 0: no limit
  CommandLimits commands;           ///< of single commands; its transfer_bytes is ignored
};

/// Sizes of the parts of a queue pair.
struct QueuePlan {
  uint32_t depth = 0;            ///< maximum commands in flight; may be less than requested
  uint32_t sq_entries = 0;       ///< power of two
  uint32_t cq_entries = 0;       ///< power of two
  uint32_t slots = 0;            ///< completion slots: power of two, at least 2 * depth
  uint32_t list_bytes = 0;       ///< per slot; 0: none
  uint32_t max_blocks = 0;       ///< per command
  uint32_t failure_entries = 0;  ///< entries of the failure log
  // Limits of the controller alone, as in QueueHandle.
  uint32_t max_bytes = 0;             ///< data of a command that is not split
  uint32_t append_bytes = 0;          ///< data of Zone Append
  uint32_t verify_blocks = 0;         ///< of one Verify
  uint32_t write_zeroes_blocks = 0;   ///< of one Write Zeroes
  uint32_t uncorrectable_blocks = 0;  ///< of one Write Uncorrectable
};

namespace detail {

constexpr uint32_t max_completion_slots = 32768;
constexpr uint32_t max_command_blocks = 65536;
/// Of a CQ whose size is not given. Its doorbell rings once for all the entries that it has beyond the depth; 64 take 1
/// KiB.
constexpr uint32_t least_cq_entries = 64;

inline uint32_t plan_slots(uint32_t wanted, uint32_t depth, uint32_t list_bytes) {
  const auto least = static_cast<uint32_t>(power_of_two_from(uint64_t{depth} * 2));
  if (wanted == 0) {
    uint32_t slots = 4096;
    while (slots > least && uint64_t{slots} * list_bytes > uint64_t{1} << 20) slots /= 2;
    return least < slots ? slots : least;
  }
  if (wanted < least || wanted > max_completion_slots || !is_power_of_two(wanted))
    throw Error("completion_slots = " + std::to_string(wanted) + " is not accepted; expected a power of two from " +
                std::to_string(least) + " to " + std::to_string(max_completion_slots));
  return wanted;
}

/// Checks a ring size that the user set.
inline uint32_t fixed_ring(const char* name, uint32_t entries, uint32_t largest) {
  if (entries < 2 || !is_power_of_two(entries) || entries > largest)
    throw Error(std::string(name) + " = " + std::to_string(entries) +
                " is not accepted; expected a power of two from 2 to " + std::to_string(largest));
  return entries;
}

/// Number of data pages that a list of `list_bytes` can address, excluding chain pointers.
inline uint64_t list_capacity(uint64_t list_bytes, uint64_t page_bytes) {
  const uint64_t pages = (list_bytes + page_bytes - 1) / page_bytes;
  return pages == 0 ? 0 : list_bytes / 8 - (pages - 1);
}

inline void plan_lists(const QueueOptions& wanted, const QueueLimits& limits, QueuePlan& plan) {
  const uint64_t page = uint64_t{1} << limits.page_shift;
  uint64_t longest = uint64_t{max_command_blocks} << limits.block_shift;
  // Sizes on the device have 32 bits.
  if (longest > nvme::data_size::largest) longest = nvme::data_size::largest;
  if (limits.max_transfer_bytes != 0 && limits.max_transfer_bytes < longest) longest = limits.max_transfer_bytes;
  uint64_t reach = page;  // bytes that a command can address for any start of its buffer
  if (wanted.list_bytes) {
    const uint64_t bytes = *wanted.list_bytes;
    const bool fits = bytes == 0 || (bytes <= page ? is_power_of_two(bytes) && bytes >= 8 : bytes % page == 0);
    if (!fits)
      throw Error("list_bytes = " + std::to_string(bytes) + " is not accepted; expected 0, a power of two from 8 to " +
                  std::to_string(page) + ", or a multiple of " + std::to_string(page));
    plan.list_bytes = *wanted.list_bytes;
  } else if (longest > page) {
    const uint64_t bytes = power_of_two_from((longest + page - 1) / page * 8);
    plan.list_bytes = static_cast<uint32_t>(bytes < page ? bytes : page);
  }
  if (plan.list_bytes != 0) reach = list_capacity(plan.list_bytes, page) << limits.page_shift;
  if (reach < longest) longest = reach;
  plan.max_blocks = static_cast<uint32_t>(longest >> limits.block_shift);
  if (plan.max_blocks == 0)
    throw Error("a block of " + std::to_string(uint64_t{1} << limits.block_shift) +
                " bytes is more than one command can move; " +
                (limits.max_transfer_bytes >> limits.block_shift == 0 && limits.max_transfer_bytes != 0
                     ? "this controller moves at most " + std::to_string(limits.max_transfer_bytes) +
                           " bytes (MDTS): format the namespace with smaller blocks"
                     : "raise list_bytes"));
}

/// Maximum logical blocks of a command without data; at least 1, since no controller rejects every size.
inline uint32_t most_blocks(uint64_t bytes, uint64_t otherwise, uint32_t block_shift) {
  const uint64_t limit = (bytes != 0 ? bytes : otherwise) >> block_shift;
  if ((bytes | otherwise) == 0 || limit > max_command_blocks) return max_command_blocks;
  return limit != 0 ? static_cast<uint32_t>(limit) : 1;
}

inline void plan_limits(const QueueLimits& limits, QueuePlan& plan) {
  const auto data = [](uint64_t bytes) {
    return bytes == 0 || bytes > nvme::data_size::largest ? nvme::data_size::largest : static_cast<uint32_t>(bytes);
  };
  const CommandLimits& own = limits.commands;
  const uint64_t transfer = limits.max_transfer_bytes;
  plan.max_bytes = data(transfer);
  plan.append_bytes = data(own.append_bytes != 0 ? own.append_bytes : transfer);
  plan.verify_blocks = most_blocks(own.verify_bytes, 0, limits.block_shift);
  plan.write_zeroes_blocks = most_blocks(own.write_zeroes_bytes, transfer, limits.block_shift);
  plan.uncorrectable_blocks = most_blocks(own.uncorrectable_bytes, 0, limits.block_shift);
}

}  // namespace detail

/// Converts the requested options into sizes; throws Error if the controller does not support such a queue.
///
/// Rings are powers of two. If CAP.MQES + 1 is not one, the largest ring is the power of two below it. One ring entry
/// always stays free, so a depth of CAP.MQES + 1 is accepted but allows one command less in flight.
inline QueuePlan plan_queue(const QueueOptions& wanted, const QueueLimits& limits) {
  if (wanted.depth == 0) throw Error("a queue needs a depth of at least 1");
  if (wanted.depth > limits.max_entries)
    throw Error("a depth of " + std::to_string(wanted.depth) + " is more than the controller's queues hold; at most " +
                std::to_string(limits.max_entries) + " (CAP.MQES + 1) is accepted");
  if (wanted.non_contiguous && limits.contiguous_required)
    throw Error("this controller requires contiguous queues (CAP.CQR = 1); leave non_contiguous out");

  QueuePlan plan;
  const auto largest = static_cast<uint32_t>(power_of_two_up_to(limits.max_entries));
  const auto holds_depth = static_cast<uint32_t>(power_of_two_from(uint64_t{wanted.depth} + 1));
  plan.sq_entries = wanted.sq_entries != 0  ? detail::fixed_ring("sq_entries", wanted.sq_entries, largest)
                    : holds_depth < largest ? holds_depth
                                            : largest;
  const uint32_t roomy = std::max(plan.sq_entries * 2, detail::least_cq_entries);
  plan.cq_entries =
      wanted.cq_entries != 0 ? detail::fixed_ring("cq_entries", wanted.cq_entries, largest) : std::min(roomy, largest);
  // Operations need two completion slots each, and identifiers above 32767 are not used.
  plan.depth = wanted.depth;
  for (const uint32_t bound : {plan.sq_entries - 1, plan.cq_entries - 1, detail::max_completion_slots / 2})
    if (plan.depth > bound) plan.depth = bound;
  detail::plan_lists(wanted, limits, plan);
  if (wanted.failures_on_record < nvme::failures_kept || wanted.failures_on_record > 1u << 20)
    throw Error("failures_on_record = " + std::to_string(wanted.failures_on_record) + " is not accepted; expected " +
                std::to_string(nvme::failures_kept) + " to 1048576");
  plan.failure_entries = wanted.failures_on_record;
  detail::plan_limits(limits, plan);
  plan.slots = detail::plan_slots(wanted.completion_slots, plan.depth, plan.list_bytes);
  return plan;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
