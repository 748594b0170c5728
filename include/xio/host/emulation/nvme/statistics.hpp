// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statistics of the in-process NVMe controller: counters with one writer and any number of readers.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Numbers in flight from this value on share the last bucket of a histogram.
constexpr uint32_t histogram_limit = 1024;

/// Statistics of one queue identifier; 0 is the admin queue. They survive queue deletion, re-creation and reset.
///
/// A command is in flight from when the controller sees a tail doorbell that covers it until its CQE is posted.
struct QueueStatistics {
  uint64_t commands = 0;                  ///< fetched from the SQ
  std::array<uint64_t, 256> by_opcode{};  ///< fetched commands by opcode
  uint64_t completions = 0;               ///< CQEs posted for commands of this SQ, duplicates not counted
  uint64_t errors = 0;                    ///< completions with a non-zero status
  uint64_t sq_doorbells = 0;              ///< changes of the SQ tail doorbell seen; see NvmeStatistics
  uint64_t cq_doorbells = 0;              ///< changes of the CQ head doorbell seen
  uint64_t invalid_doorbells = 0;         ///< values beyond the queue, ignored
  uint64_t suspicious_tails = 0;          ///< tails that cover more entries than the host can know to be free
  uint64_t suspicious_heads = 0;          ///< CQ heads beyond the posted entries, ignored
  uint64_t stale_fetches = 0;             ///< entries fetched that the host had not stored (poison_fetched_entries)
  uint64_t command_id_conflicts = 0;      ///< commands whose identifier was in use
  uint64_t cq_full_stalls = 0;            ///< times that a CQE found its CQ full
  uint64_t in_flight = 0;                 ///< current number
  uint64_t max_in_flight = 0;
  /// Minimum number in flight just before a tail doorbell, after the queue was filled
  /// (NvmeController::watch_in_flight); ~0: no such doorbell.
  uint64_t low_water = ~uint64_t{0};
  /// Number of fetches with n commands in flight, the fetched one included; n >= histogram_limit in the last bucket.
  std::vector<uint64_t> in_flight_histogram;
};

/// Statistics of the whole controller.
///
/// Doorbells are polled, so several stores between two polls count once. To count every store, use
/// arch::operation_counts.mmio_stores of xio/device/arch/host on the storing side (XIO_COUNT_OPERATIONS).
struct NvmeStatistics {
  std::vector<QueueStatistics> queues;  ///< by queue identifier; I/O queues begin at 1
  uint64_t in_flight = 0;               ///< I/O commands in flight now, all queues
  uint64_t max_in_flight = 0;
  uint64_t busy_queues = 0;  ///< I/O queues with commands in flight now
  uint64_t max_busy_queues = 0;
  /// Number of I/O command fetches with n I/O queues busy, the fetching queue included.
  std::vector<uint64_t> busy_queues_histogram;
  uint64_t bytes_read = 0;          ///< moved to host memory by Read
  uint64_t bytes_written = 0;       ///< moved from host memory by Write
  uint64_t prp_entries = 0;         ///< data pages referenced by PRP1, PRP2 and PRP lists
  uint64_t list_pages = 0;          ///< pages of PRP lists read
  uint64_t sgl_descriptors = 0;     ///< SGL descriptors read, those in the command included
  uint64_t forced_unit_access = 0;  ///< Read and Write commands with the FUA bit
  uint64_t stray_doorbells = 0;     ///< doorbells of queues that do not exist
  uint64_t async_events = 0;        ///< Asynchronous Event Requests completed
  uint64_t enables = 0;             ///< times that CSTS.RDY became 1
  uint64_t resets = 0;              ///< times that CC.EN went from 1 to 0
  uint64_t fatal_errors = 0;        ///< times that CSTS.CFS became 1

  /// Sum over the I/O queues.
  template <class Member>
  uint64_t total(Member QueueStatistics::* member) const {
    uint64_t sum = 0;
    for (size_t qid = 1; qid < queues.size(); ++qid) sum += queues[qid].*member;
    return sum;
  }
};

namespace detail {

/// Counter with a single writer: needs no atomic read-modify-write.
class Counter {
 public:
  void add(uint64_t n = 1) { set(get() + n); }
  void set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void raise_to(uint64_t value) {
    if (value > get()) set(value);
  }
  void lower_to(uint64_t value) {
    if (value < get()) set(value);
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/// The live counters behind QueueStatistics.
struct QueueCounters {
  QueueCounters() : in_flight_histogram(histogram_limit + 1) { low_water.set(~uint64_t{0}); }

  Counter commands, completions, errors, sq_doorbells, cq_doorbells, invalid_doorbells, suspicious_tails,
      suspicious_heads, stale_fetches, command_id_conflicts, cq_full_stalls, in_flight, max_in_flight, low_water;
  std::array<Counter, 256> by_opcode;
  std::vector<Counter> in_flight_histogram;
  std::atomic<uint64_t> watch{0};  // generation << 32 | number in flight that counts as filled
  uint64_t watched = 0;            // writer only
  bool filled = false;             // writer only

  /// Records an advance of the SQ tail, which raised the number in flight from `before` to `after`.
  void advance(uint64_t before, uint64_t after) {
    in_flight.set(after);
    max_in_flight.raise_to(after);
    const uint64_t wanted = watch.load(std::memory_order_relaxed);
    if (wanted == 0) return;
    if (wanted != watched) {
      watched = wanted;
      filled = false;
      low_water.set(~uint64_t{0});
    }
    if (filled) low_water.lower_to(before);
    filled = filled || after >= (wanted & 0xffffffffu);
  }
};

/// The live counters behind NvmeStatistics.
class NvmeCounters {
 public:
  /// @param queues  number of queue identifiers, the admin queue included
  explicit NvmeCounters(size_t queues) : queues_(queues), busy_queues_histogram(queues) {
    for (auto& one : queues_) one = std::make_unique<QueueCounters>();
  }

  QueueCounters& queue(size_t qid) { return *queues_[qid]; }
  const QueueCounters& queue(size_t qid) const { return *queues_[qid]; }
  size_t queue_count() const { return queues_.size(); }

  /// Resets everything but the current numbers in flight to zero. For the writer only.
  void reset();
  NvmeStatistics snapshot() const;

 private:
  std::vector<std::unique_ptr<QueueCounters>> queues_;

 public:
  Counter in_flight, max_in_flight, busy_queues, max_busy_queues, bytes_read, bytes_written, prp_entries, list_pages,
      sgl_descriptors, forced_unit_access, stray_doorbells, async_events, enables, resets, fatal_errors;
  std::vector<Counter> busy_queues_histogram;
};

inline void NvmeCounters::reset() {
  for (auto& one : queues_) {
    QueueCounters& q = *one;
    for (Counter* counter :
         {&q.commands, &q.completions, &q.errors, &q.sq_doorbells, &q.cq_doorbells, &q.invalid_doorbells,
          &q.suspicious_tails, &q.suspicious_heads, &q.stale_fetches, &q.command_id_conflicts, &q.cq_full_stalls})
      counter->set(0);
    for (Counter& counter : q.by_opcode) counter.set(0);
    for (Counter& counter : q.in_flight_histogram) counter.set(0);
    q.max_in_flight.set(q.in_flight.get());
    q.low_water.set(~uint64_t{0});
  }
  for (Counter* counter : {&bytes_read, &bytes_written, &prp_entries, &list_pages, &sgl_descriptors,
                           &forced_unit_access, &stray_doorbells, &async_events, &enables, &resets, &fatal_errors})
    counter->set(0);
  for (Counter& counter : busy_queues_histogram) counter.set(0);
  max_in_flight.set(in_flight.get());
  max_busy_queues.set(busy_queues.get());
}

inline NvmeStatistics NvmeCounters::snapshot() const {
  const auto copy = [](const std::vector<Counter>& from) {
    std::vector<uint64_t> to;
    to.reserve(from.size());
    for (const Counter& counter : from) to.push_back(counter.get());
    return to;
  };
  NvmeStatistics all;
  all.queues.reserve(queues_.size());
  for (const auto& one : queues_) {
    const QueueCounters& q = *one;
    QueueStatistics to;
    to.commands = q.commands.get();
    for (size_t i = 0; i < to.by_opcode.size(); ++i) to.by_opcode[i] = q.by_opcode[i].get();
    to.completions = q.completions.get();
    to.errors = q.errors.get();
    to.sq_doorbells = q.sq_doorbells.get();
    to.cq_doorbells = q.cq_doorbells.get();
    to.invalid_doorbells = q.invalid_doorbells.get();
    to.suspicious_tails = q.suspicious_tails.get();
    to.suspicious_heads = q.suspicious_heads.get();
    to.stale_fetches = q.stale_fetches.get();
    to.command_id_conflicts = q.command_id_conflicts.get();
    to.cq_full_stalls = q.cq_full_stalls.get();
    to.in_flight = q.in_flight.get();
    to.max_in_flight = q.max_in_flight.get();
    to.low_water = q.low_water.get();
    to.in_flight_histogram = copy(q.in_flight_histogram);
    all.queues.push_back(std::move(to));
  }
  all.in_flight = in_flight.get();
  all.max_in_flight = max_in_flight.get();
  all.busy_queues = busy_queues.get();
  all.max_busy_queues = max_busy_queues.get();
  all.busy_queues_histogram = copy(busy_queues_histogram);
  all.bytes_read = bytes_read.get();
  all.bytes_written = bytes_written.get();
  all.prp_entries = prp_entries.get();
  all.list_pages = list_pages.get();
  all.sgl_descriptors = sgl_descriptors.get();
  all.forced_unit_access = forced_unit_access.get();
  all.stray_doorbells = stray_doorbells.get();
  all.async_events = async_events.get();
  all.enables = enables.get();
  all.resets = resets.get();
  all.fatal_errors = fatal_errors.get();
  return all;
}

}  // namespace detail

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
