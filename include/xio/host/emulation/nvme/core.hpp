// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief State shared by the parts of the in-process NVMe controller. Accessed only by the thread that runs it.

#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/address_space.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/emulation/nvme/data_pointer.hpp>
#include <xio/host/emulation/nvme/key_values.hpp>
#include <xio/host/emulation/nvme/medium.hpp>
#include <xio/host/emulation/nvme/queues.hpp>
#include <xio/host/emulation/nvme/statistics.hpp>
#include <xio/host/emulation/nvme/violations.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Configuration, media, queues and access to host memory.
struct ControllerCore {
  /// @param doorbells  32-bit words, laid out like the doorbell registers
  ControllerCore(const NvmeConfig& configuration, AddressSpace& space, detail::NvmeCounters& statistics,
                 NvmeViolations& wrongs, uint32_t* doorbells)
      : config(configuration),
        counters(statistics),
        violations(wrongs),
        bus(space),
        data(config, bus, statistics, wrongs),
        sqs(configuration.queues + 1),
        cqs(configuration.queues + 1) {
    for (const NvmeNamespaceConfig& one : config.namespaces) {
      media.emplace_back(one, !config.discard_data && !one.key_values);
      if (one.key_values) values.emplace_back(one);
    }
    for (uint32_t qid = 0; qid <= config.queues; ++qid) {
      sqs[qid].id = cqs[qid].id = static_cast<uint16_t>(qid);
      sqs[qid].doorbell.word = doorbells + (size_t{2 * qid} << config.dstrd);
      cqs[qid].doorbell.word = doorbells + (size_t{2 * qid + 1} << config.dstrd);
    }
  }
  ControllerCore(const ControllerCore&) = delete;
  ControllerCore& operator=(const ControllerCore&) = delete;

  /// Returns the namespace, or null if it is not active.
  Medium* medium(uint32_t nsid) {
    for (Medium& one : media) {
      if (one.nsid() == nsid) return &one;
    }
    return nullptr;
  }
  /// Returns the keys of a namespace, or null if it has blocks.
  KeyValues* keys(uint32_t nsid) {
    for (KeyValues& one : values) {
      if (one.nsid() == nsid) return &one;
    }
    return nullptr;
  }
  /// Returns whether a namespace identifier is valid; the broadcast value is.
  bool valid_nsid(uint32_t nsid) const {
    return nsid != 0 && (nsid <= config.max_nsid || nsid == spec::broadcast_namespace);
  }
  bool io_queue(uint32_t qid) const { return qid >= 1 && qid <= config.queues; }
  uint64_t page_bytes() const { return uint64_t{1} << page_shift; }
  /// Largest data transfer of one command in bytes; 0: no limit.
  uint64_t max_transfer() const { return limit(config.mdts); }
  /// Converts a limit from a power of two in units of the smallest page to bytes; 0: no limit.
  uint64_t limit(uint32_t power) const { return power == 0 ? 0 : (uint64_t{4096} << config.mpsmin) << power; }

  /// Creates an empty queue on the given pages.
  void open_sq(uint32_t qid, uint32_t cqid, uint32_t size, std::vector<uint64_t> pages) {
    SubmissionQueue& sq = sqs[qid];
    sq.exists = true;
    sq.cq = static_cast<uint16_t>(cqid);
    sq.size = size;
    sq.head = sq.tail = sq.posted_head = 0;
    sq.in_flight = 0;
    sq.doorbell.reset();
    sq.memory.set(std::move(pages), page_shift, spec::sqe_shift, size);
    sq.live.assign(1024, 0);
    ++cqs[cqid].users;
    ++queue_changes;
  }
  void open_cq(uint32_t qid, uint32_t size, std::vector<uint64_t> pages) {
    CompletionQueue& cq = cqs[qid];
    cq.exists = true;
    cq.full_noted = false;
    cq.size = size;
    cq.head = cq.tail = 0;
    cq.phase = true;
    cq.users = 0;
    cq.doorbell.reset();
    cq.doorbell.awake = true;
    cq.memory.set(std::move(pages), page_shift, spec::cqe_shift, size);
    cq.ready.clear();
    ++queue_changes;
  }
  void close_sq(uint32_t qid) {
    SubmissionQueue& sq = sqs[qid];
    forget_in_flight(sq);
    sq.exists = false;
    sq.head = sq.tail = 0;
    sq.doorbell.reset();
    --cqs[sq.cq].users;
    ++queue_changes;
  }
  void close_cq(uint32_t qid) {
    cqs[qid].exists = false;
    cqs[qid].ready.clear();
    cqs[qid].doorbell.reset();
    ++queue_changes;
  }

  /// Sets the addresses of a queue's shadow doorbell and EventIdx, if they fit into the page.
  void attach_shadow(uint32_t qid, bool completion) {
    const uint64_t offset = uint64_t{2 * qid + completion} * (uint64_t{4} << config.dstrd);
    if (shadow_page == 0 || qid == 0 || offset + 4 > page_bytes()) return;
    Doorbell& doorbell = completion ? cqs[qid].doorbell : sqs[qid].doorbell;
    doorbell.shadow = shadow_page + offset;
    doorbell.event_index = event_page + offset;
  }

  /// Updates the number of commands in flight on a queue and the statistics derived from it.
  void set_in_flight(SubmissionQueue& sq, uint64_t now) {
    const uint64_t before = sq.in_flight;
    sq.in_flight = now;
    if (sq.id == 0) return;
    counters.in_flight.set(counters.in_flight.get() - before + now);
    counters.max_in_flight.raise_to(counters.in_flight.get());
    if ((before == 0) == (now == 0)) return;
    counters.busy_queues.set(now != 0 ? counters.busy_queues.get() + 1 : counters.busy_queues.get() - 1);
    counters.max_busy_queues.raise_to(counters.busy_queues.get());
  }
  void forget_in_flight(SubmissionQueue& sq) {
    set_in_flight(sq, 0);
    counters.queue(sq.id).in_flight.set(0);
  }

  NvmeConfig config;
  detail::NvmeCounters& counters;
  NvmeViolations& violations;
  BusReader bus;
  DataPointer data;
  std::vector<Medium> media;
  std::vector<KeyValues> values;     // of the media that have no blocks
  bool all_command_sets = false;     // CC.CSS
  std::vector<SubmissionQueue> sqs;  // by queue identifier
  std::vector<CompletionQueue> cqs;
  uint64_t queue_changes = 1;  // counts creations and deletions
  uint32_t page_shift = 12;    // log2 of CC.MPS in bytes
  uint64_t shadow_page = 0;    // bus addresses of Doorbell Buffer Config; 0: not configured
  uint64_t event_page = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
