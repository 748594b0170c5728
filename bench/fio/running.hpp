// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

namespace fio {

/// By the handle, since the user chooses it.
struct Doorbell {
  static void ring_each(const xio::DoorbellTarget& target, uint32_t value) {
    target.shadow != nullptr ? xio::ShadowDoorbell::ring_each(target, value)
                             : xio::MmioDoorbell::ring_each(target, value);
  }
  static void ring(const xio::DoorbellTarget& target, uint32_t value) { ring_each(target, value); }
};

/// Doorbells are fio's to ring, by xf_commit().
template <class Base>
using QueueBy =
    xio::nvme::Queue<xio::Sharing::thread, xio::Policy<Base, xio::Deferred<1u << 30>, xio::RingBy<Doorbell>>>;
using Queue = QueueBy<xio::Policy<>>;
/// For what xf_submit() has checked.
using TrustingQueue = QueueBy<xio::Trusting>;

/// An operation in flight that is more than one command, or a flush, which has no tag: its commands, and their first
/// error.
struct Operation {
  void* tag = nullptr;
  uint32_t left = 0;
  int error = 0;
};

/// The queue of a job, and what is in flight.
struct Running {
  explicit Running(xio::host::NvmeQueue&& made)
      : owner(std::move(made)),
        queue(owner.handle()),
        trusting(owner.handle()),
        commands(queue.handle().slot_mask + 1) {}

  xio::host::NvmeQueue owner;
  Queue queue;
  TrustingQueue trusting;
  uint64_t largest = 0;  ///< bytes of an operation that is one command, at most; 0: the drive is lost
  uint64_t block_mask = 0;
  uint32_t block_shift = 0;
  /// By the slot of a command in flight: the tag of its operation, or 2 n + 1 for operations[n]; else 0.
  std::vector<uintptr_t> commands;
  std::vector<Operation> operations;  ///< by the number that fio gives each, and one for a flush
  std::vector<void*> ended;           ///< tags not yet returned, behind those of the last xf_reap()
  uint32_t ended_count = 0;
  uint32_t returned = 0;
  xio::host::DmaBuffer ranges;  ///< for trims: `ranges_each` for each operation
  uint32_t ranges_each = 0;
  uint32_t idle_polls = 0;   ///< in a row that found nothing
  uint64_t quiet_since = 0;  ///< when the first of them looked at the clock; 0: none has
  uint64_t looked_at = 0;    ///< when the drive was asked last
};

}  // namespace fio
