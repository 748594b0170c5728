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

/// The word that the host writes, and in a line of its own what the wave does.
struct Words {
  uint64_t posted;
  Report report;
};

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

GpuServer::GpuServer(std::shared_ptr<Gpu> gpu, const std::vector<host::NvmeQueue>& queues, bool shadow)
    : gpu_(std::move(gpu)),
      kernel_(gpu_->kernels->kernel<const RingJob*, uint64_t>(shadow ? "fio_serve_shadow" : "fio_serve")),
      work_(std::make_unique<host::GpuWork>(gpu_->executor.gpu())) {
  const size_t waves = queues.size();
  const size_t entries = host::power_of_two_up_to(queues[0].handle().depth) * 4;
  const host::MemoryAllocator allocator(gpu_->executor.gpu());
  using Kind = host::MemoryKind;
  jobs_ = allocator.allocate(Kind::host_coherent, waves * sizeof(RingJob));
  commands_ = allocator.allocate(Kind::host_coherent, waves * entries * sizeof(Descriptor));
  answers_ = allocator.allocate(Kind::host_coherent, waves * entries * sizeof(uint64_t));
  words_ = allocator.allocate(Kind::host_coherent, waves * sizeof(Words));
  progress_ = allocator.allocate(Kind::vram_coarse, waves * sizeof(Progress));
  const auto shift = static_cast<uint32_t>(__builtin_ctzll(entries));
  const auto mask = static_cast<uint32_t>(entries - 1);
  rings_.reserve(waves);
  for (size_t wave = 0; wave < waves; ++wave) {
    const xio::nvme::QueueHandle& queue = queues[wave].handle();
    const size_t first = wave * entries;
    rings_.emplace_back(HostRing::Memory{static_cast<Descriptor*>(commands_.cpu()) + first,
                                         static_cast<uint64_t*>(answers_.cpu()) + first,
                                         &static_cast<Words*>(words_.cpu())[wave].posted,
                                         &static_cast<Words*>(words_.cpu())[wave].report, mask, shift},
                        queue.depth, queue.slot_mask, queue.block_shift,
                        static_cast<uint32_t>(wave) * (queue.slot_mask + 1));
    static_cast<RingJob*>(jobs_.cpu())[wave] = {queue,
                                                static_cast<const Descriptor*>(commands_.gpu()) + first,
                                                static_cast<uint64_t*>(answers_.gpu()) + first,
                                                &static_cast<Words*>(words_.gpu())[wave].posted,
                                                &static_cast<Words*>(words_.gpu())[wave].report,
                                                static_cast<Progress*>(progress_.gpu()) + wave,
                                                mask,
                                                shift,
                                                patience};
  }
}

HostRing* GpuServer::ring(const std::vector<uintptr_t>& commands, uint32_t count) {
  if (XIO_UNLIKELY(ending_)) return nullptr;
  for (size_t tries = 0; tries < rings_.size(); ++tries, turn_ = (turn_ + 1) % rings_.size())
    if (rings_[turn_].has_room(commands, count)) return &rings_[turn_];
  return nullptr;
}

void GpuServer::commit() {
  for (HostRing& ring : rings_) ring.commit();
  turn_ = (turn_ + 1) % rings_.size();
}

uint32_t GpuServer::in_flight() const {
  uint32_t sum = 0;
  for (const HostRing& ring : rings_) sum += ring.in_flight();
  return sum;
}

bool GpuServer::all_left() const {
  return std::all_of(rings_.begin(), rings_.end(), [&](const HostRing& ring) { return ring.left() == launch_; });
}

void GpuServer::keep_running() {
  for (const HostRing& ring : rings_) {
    if (XIO_LIKELY(ring.left() != launch_) || ring.in_flight() == 0) continue;
    // A wave starts again with the others alone.
    if (all_left()) return launch();
    ending_ = true;
    return end(false);
  }
}

void GpuServer::launch() {
  for (HostRing& ring : rings_) {
    const xio::Status refusal = ring.refusal();
    if (!refusal.is_ok())
      throw host::Error(std::string("the kernel's queue refuses a command: ") + xio::name(refusal.code));
    ring.commit();
  }
  ending_ = false;
  ++launch_;
  kernel_.launch(*work_, host::WaveBudget{static_cast<uint32_t>(rings_.size())},
                 static_cast<const RingJob*>(jobs_.gpu()), launch_);
}

void GpuServer::end(bool abandon) {
  for (HostRing& ring : rings_) ring.end(abandon);
}

void GpuServer::check() {
  // Throws what the runtime says of a kernel that has failed.
  if (work_->finished() && !all_left()) throw host::Error("the kernel on the GPU has ended too early");
}

bool GpuServer::stop() try {
  end(in_flight() != 0);
  if (work_->wait(ends_within)) return true;
  work_->abandon();
  return false;
} catch (const host::Error&) {
  // It has failed, and uses nothing any more.
  return true;
}

}  // namespace fio
