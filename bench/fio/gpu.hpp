// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief executor=gpu: a kernel that works for a job as long as the job lasts.

#include <cstdint>
#include <memory>
#include <vector>

#include <xio/host/gpu/module.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/controller.hpp>

#include "fio/host_ring.hpp"

namespace fio {

/// A GPU with the engine's kernels, shared by the jobs of this process.
struct Gpu {
  xio::host::Executor executor;
  std::unique_ptr<xio::host::GpuModule> kernels;
};

/// Opens GPU number `number`, or returns the one that this process has open already. May be called from several
/// threads; throws host::Error with the reason.
std::shared_ptr<Gpu> open_gpu(uint32_t number);

/// The kernel of one job, and a ring for each of its waves. Used by one thread at a time.
class GpuServer {
 public:
  /// @param queues alike, for kernels of `gpu`, one for each wave; they outlive this, and nobody else uses them
  /// @throws host::Error without memory
  GpuServer(std::shared_ptr<Gpu> gpu, const std::vector<xio::host::NvmeQueue>& queues, bool shadow);
  GpuServer(const GpuServer&) = delete;
  GpuServer& operator=(const GpuServer&) = delete;

  /// The ring of the wave whose turn it is, or of the next one with room for `count` commands, whose turn it is then;
  /// null: there is none.
  /// @param commands by completion slot: 0 where it is free
  HostRing* ring(const std::vector<uintptr_t>& commands, uint32_t count);
  /// Shows the waves what was posted. The next batch is that of the next wave.
  void commit();
  /// As HostRing::take(), of all rings, of which another is the first each time.
  template <class Each>
  uint32_t take(Each&& each, uint32_t most) {
    uint32_t taken = 0;
    first_ = (first_ + 1) % rings_.size();
    for (size_t i = 0; i < rings_.size(); ++i) taken += rings_[(first_ + i) % rings_.size()].take(each, most - taken);
    return taken;
  }
  /// Commands without an answer.
  uint32_t in_flight() const;

  /// Launches the kernel if it does not run; it ends by itself when nothing happens. Call as long as answers are
  /// awaited, and between two looks at the rings. Throws host::Error if the GPU does not launch it, or a queue has
  /// refused a command.
  void keep_running();
  /// Throws host::Error if the kernel has failed.
  void check();
  /// Ends the kernel; commands in flight stay so. Returns whether it has ended: if not, it may still use the queues and
  /// all memory of the job.
  bool stop();

 private:
  void launch();
  void end(bool abandon);
  /// Whether every wave has ended.
  bool all_left() const;

  std::shared_ptr<Gpu> gpu_;
  xio::host::MemoryBuffer jobs_, commands_, answers_, words_, progress_;
  std::vector<HostRing> rings_;
  size_t turn_ = 0;      ///< number of the ring that is posted to
  size_t first_ = 0;     ///< number of the ring that take() looked at first
  bool ending_ = false;  ///< until the next launch: nothing is posted
  uint64_t launch_ = 0;  ///< number of the last one
  xio::host::GpuKernel<const RingJob*, uint64_t> kernel_;
  std::unique_ptr<xio::host::GpuWork> work_;
};

}  // namespace fio
