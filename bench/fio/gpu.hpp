// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief executor=gpu: a kernel that works for a job as long as the job lasts.

#include <cstdint>
#include <memory>

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

/// The kernel of one job, and the rings between them. Used by one thread at a time.
class GpuServer {
 public:
  /// @param queue for kernels of `gpu`; outlives this, and nobody else uses it
  /// @throws host::Error without memory
  GpuServer(std::shared_ptr<Gpu> gpu, const xio::nvme::QueueHandle& queue, bool shadow);
  GpuServer(const GpuServer&) = delete;
  GpuServer& operator=(const GpuServer&) = delete;

  HostRing& ring() { return *ring_; }
  /// Launches the kernel if it does not run; it ends by itself when nothing happens. Call as long as answers are
  /// awaited, and between two looks at the ring. Throws host::Error if the GPU does not launch it, or the queue has
  /// refused a command.
  void keep_running() {
    if (XIO_UNLIKELY(ring_->left() == job_.launch)) launch();
  }
  /// Throws host::Error if the kernel has failed.
  void check();
  /// Ends the kernel; commands in flight stay so. Returns whether it has ended: if not, it may still use the queue and
  /// all memory of the job.
  bool stop();

 private:
  void launch();

  std::shared_ptr<Gpu> gpu_;
  xio::host::MemoryBuffer commands_, answers_, words_, progress_;
  std::unique_ptr<HostRing> ring_;
  RingJob job_{};
  xio::host::GpuKernel<RingJob> kernel_;
  std::unique_ptr<xio::host::GpuWork> work_;
};

}  // namespace fio
