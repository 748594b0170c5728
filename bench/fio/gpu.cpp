// SPDX-License-Identifier: MIT
#include "fio/gpu.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <xio/host/gpu/find.hpp>
#include <xio/host/linux/fork.hpp>

#include "embedded_kernels.hpp"

#if defined(XIO_FIO_KERNELS_AMD)
XIO_EMBED("xio_fio_kernels_amd", XIO_FIO_KERNELS_AMD);
XIO_EMBEDDED(xio_fio_kernels_amd);
#endif
#if defined(XIO_FIO_KERNELS_NVIDIA)
XIO_EMBED("xio_fio_kernels_nvidia", XIO_FIO_KERNELS_NVIDIA);
XIO_EMBEDDED(xio_fio_kernels_nvidia);
#endif

namespace host = xio::host;

namespace fio {

namespace {

/// A kernel without work gives its place to others after this time.
constexpr xio::Duration patience{1000000000};
/// A kernel that was told to end does within a few looks.
constexpr auto ends_within = std::chrono::seconds(10);

embedded::Kernels our_kernels() {
  embedded::Kernels kernels;
  kernels.amd_targets = XIO_FIO_AMD_TARGETS;
  kernels.nvidia_target = XIO_FIO_NVIDIA_TARGET;
#if defined(XIO_FIO_KERNELS_AMD)
  kernels.amd = {xio_fio_kernels_amd, xio_fio_kernels_amd_end};
#endif
#if defined(XIO_FIO_KERNELS_NVIDIA)
  kernels.nvidia = {xio_fio_kernels_nvidia, xio_fio_kernels_nvidia_end};
#endif
  return kernels;
}

struct Gpus {
  host::Maker maker;
  std::mutex mutex;
  std::map<uint32_t, std::weak_ptr<Gpu>> open;
};

/// Those of this process: a GPU that its parent has open is of no use to a child of fork().
Gpus& gpus() {
  static auto here = std::make_shared<Gpus>();
  if (!here->maker.is_here()) host::abandon(std::exchange(here, std::make_shared<Gpus>()));
  return *here;
}

}  // namespace

std::shared_ptr<Gpu> open_gpu(uint32_t number) {
  Gpus& all = gpus();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::weak_ptr<Gpu>& known = all.open[number];
  std::shared_ptr<Gpu> found = known.lock();
  if (found) return found;
  host::FoundGpu gpu = host::find_gpu(static_cast<int>(number));
  if (!gpu.runtime)
    throw host::Error("executor=gpu: there is no GPU " + std::to_string(number) + " (" + gpu.why_none +
                      "); executor=cpu is offered");
  found = std::make_shared<Gpu>(Gpu{host::Executor(gpu.runtime), embedded::load(our_kernels(), gpu.runtime)});
  known = found;
  return found;
}

GpuServer::GpuServer(std::shared_ptr<Gpu> gpu, const xio::nvme::QueueHandle& queue, bool shadow)
    : gpu_(std::move(gpu)),
      kernel_(gpu_->kernels->kernel<RingJob>(shadow ? "fio_serve_shadow" : "fio_serve")),
      work_(std::make_unique<host::GpuWork>(gpu_->executor.gpu())) {
  const size_t entries = host::power_of_two_up_to(queue.depth) * 4;
  const host::MemoryAllocator allocator(gpu_->executor.gpu());
  using Kind = host::MemoryKind;
  commands_ = allocator.allocate(Kind::host_coherent, entries * sizeof(Descriptor));
  answers_ = allocator.allocate(Kind::host_coherent, entries * sizeof(uint64_t));
  words_ = allocator.allocate(Kind::host_coherent, 2 * sizeof(Report));
  progress_ = allocator.allocate(Kind::vram_coarse, sizeof(Progress));
  // The word that the host writes, and in a line of its own what the kernel does.
  auto* const report = static_cast<Report*>(words_.cpu()) + 1;
  const auto shift = static_cast<uint32_t>(__builtin_ctzll(entries));
  const auto mask = static_cast<uint32_t>(entries - 1);
  ring_ = std::make_unique<HostRing>(
      HostRing::Memory{static_cast<Descriptor*>(commands_.cpu()), static_cast<uint64_t*>(answers_.cpu()),
                       static_cast<uint64_t*>(words_.cpu()), report, mask, shift},
      queue.depth, queue.slot_mask, queue.block_shift);
  job_ = {queue,
          static_cast<const Descriptor*>(commands_.gpu()),
          static_cast<uint64_t*>(answers_.gpu()),
          static_cast<const uint64_t*>(words_.gpu()),
          static_cast<Report*>(words_.gpu()) + 1,
          static_cast<Progress*>(progress_.gpu()),
          mask,
          shift,
          0,
          patience};
}

void GpuServer::launch() {
  const xio::Status refusal = ring_->refusal();
  if (!refusal.is_ok())
    throw host::Error(std::string("the kernel's queue refuses a command: ") + xio::name(refusal.code));
  ++job_.launch;
  kernel_.launch(*work_, host::WaveBudget{1}, job_);
}

void GpuServer::check() {
  // Throws what the runtime says of a kernel that has failed.
  if (work_->finished() && ring_->left() != job_.launch) throw host::Error("the kernel on the GPU has ended too early");
}

bool GpuServer::stop() try {
  ring_->end(ring_->in_flight() != 0);
  if (work_->wait(ends_within)) return true;
  work_->abandon();
  return false;
} catch (const host::Error&) {
  // It has failed, and uses nothing any more.
  return true;
}

}  // namespace fio
