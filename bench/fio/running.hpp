// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

#include "fio/drives.hpp"
#include "fio/gpu.hpp"
#include "fio/job.h"

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

/// The queue of a job, or those of its kernel's waves, and what is in flight.
struct Running {
  /// @param made alike
  explicit Running(std::vector<xio::host::NvmeQueue>&& made)
      : owners(std::move(made)),
        queue(owners[0].handle()),
        trusting(owners[0].handle()),
        commands(owners.size() * (queue.handle().slot_mask + 1)) {}

  /// With executor=gpu: posts a command of the kernel's. Returns whether there was room.
  /// @param tag as in `commands`
  bool post(const xio::nvme::Command& command, uint64_t bus, uintptr_t tag) {
    HostRing* const ring = gpu->ring(commands, 1);
    if (ring == nullptr) return false;
    commands[ring->slot()] = tag;
    ring->post(command, bus);
    return true;
  }
  void ring() { gpu ? gpu->commit() : queue.ring(); }
  template <class Each>
  uint32_t process_completions(Each&& each, uint32_t most) {
    return gpu ? gpu->take(each, most) : queue.process_completions(each, most);
  }

  std::vector<xio::host::NvmeQueue> owners;
  Queue queue;
  TrustingQueue trusting;
  std::unique_ptr<GpuServer> gpu;  ///< null: the job's thread submits by itself
  uint64_t largest = 0;            ///< bytes of an operation that is one command, at most; 0: the drive is lost
  uint64_t block_mask = 0;
  uint32_t block_shift = 0;
  /// By the slot of a command in flight, queue after queue: the tag of its operation, or 2 n + 1 for operations[n];
  /// else 0.
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

/// A job.
struct xf_job {
  std::string spec;
  int gpu_number = -1;  ///< -1: the CPU
  uint32_t waves = 1;   ///< of the kernel, each with a queue of its own
  std::shared_ptr<fio::Gpu> gpu;
  fio::Drive* drive = nullptr;
  uint32_t nsid = 0;
  uint32_t cq_entries = 0;
  xio::host::NamespaceInfo names;
  xio::host::DmaBuffer buffer;
  xio::Region region{};
  std::unique_ptr<fio::Running> running;
  int lost = 0;                    ///< the error of a drive that is gone
  std::vector<uint16_t> reported;  ///< statuses that the user was told of
  std::vector<xio::Status::Code> refusals;

  xio::host::NvmeController& controller() const { return *drive->opened.controller; }
};
