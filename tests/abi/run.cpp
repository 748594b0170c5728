// SPDX-License-Identifier: MIT

/// @file
/// @brief run PROGRAM: kernels that are linked with the bitcode drive the in-process controller and NICs, executed by
/// the model of their GPU.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <abi/work.hpp>
#include <machine/core/load.hpp>
#include <scenarios/arena.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/rdma/kits.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/gpu/device_abi.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/vendors/rdma/traits.hpp>

namespace {

using abi_tests::NvmeWork;
using abi_tests::RdmaWork;
using machine::MemoryKind;
using scenarios::Arena;

constexpr uint32_t depth = 16;

/// Kind of host memory. Targets without system-scope stores need memory that their L2 does not hold.
MemoryKind host_memory(const std::string& target) {
  return target == "gfx90a" || target.compare(0, 5, "gfx11") == 0 ? MemoryKind::uncached : MemoryKind::host;
}

struct Shape {
  uint32_t blocks;
  uint32_t threads;
};

/// Runs a kernel, and returns what its threads complain of.
template <class Work>
std::string launch(machine::Gpu& gpu, const std::string& kernel, Shape shape, uint64_t seed, const Work& work) {
  struct {
    Work work;
    unsigned threads;
  } arguments{work, shape.threads};
  machine::Launch launch;
  launch.grid.x = shape.blocks;
  launch.block.x = shape.threads;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  std::string error;
  try {
    gpu.start(seed);
    gpu.run(kernel, launch);
    if (gpu.counts.merged_doorbells != 0) error = "doorbells merged";
  } catch (const machine::Fault& fault) {
    error = fault.what();
  }
  for (uint32_t i = 0; i < work.threads && error.empty(); ++i) {
    if (work.bad[i] == 0) continue;
    char text[64];
    std::snprintf(text, sizeof text, "thread %u: step 0x%x", i, work.bad[i]);
    error = text;
  }
  gpu.step_devices = nullptr;
  gpu.memory.clear();
  return error;
}

/// @param workers threads that work, and say so
std::string run_nvme(machine::Gpu& gpu, const std::string& kernel, Shape shape, uint32_t workers, uint64_t seed) {
  Arena arena;
  const MemoryKind kind = host_memory(gpu.target());
  const auto allocate = [&](MemoryKind of, const char* name) {
    return [&arena, of, name](size_t bytes, size_t alignment) {
      void* const at = arena.allocate(bytes, alignment < 4096 ? 4096 : alignment, of, name);
      return xio::host::DmaBuffer(at, reinterpret_cast<uint64_t>(at), bytes, nullptr);
    };
  };
  xio::emulation::NvmeConfig config;
  config.execution = xio::emulation::NvmeExecution::stepped;
  config.memory = arena.source(kind, "controller");
  auto owned = std::make_unique<xio::emulation::NvmeController>(config);
  xio::emulation::NvmeController& device = *owned;
  xio::host::NvmeController controller(std::move(owned));
  xio::host::QueueOptions options;
  options.depth = depth;
  options.clock_hz = 100'000'000;
  options.allocate_state = allocate(MemoryKind::local, "state");
  const xio::host::NvmeQueue queue = controller.create_queue(options);
  const xio::host::DmaBuffer data = controller.allocate(size_t{workers + 3} / 4 * 4096);

  auto* const handle = arena.make<xio::nvme::QueueHandle>(1, MemoryKind::local, "handle");
  *handle = queue.handle();
  const uint32_t pages = (workers + 3) / 4;
  NvmeWork work{};
  work.queue = reinterpret_cast<uint64_t>(handle);
  work.data = data.as<unsigned long long>();
  work.bus = data.bus();
  work.pages = arena.make<unsigned long long>(pages, MemoryKind::local, "pages");
  for (uint32_t i = 0; i < pages; ++i) work.pages[i] = data.bus() + uint64_t{i} * 4096;
  work.notification = reinterpret_cast<uint64_t>(arena.make<uint64_t>(2 + 2 * workers, MemoryKind::local, "told"));
  work.pieces = reinterpret_cast<uint64_t>(arena.make<uint64_t>(6 * workers, MemoryKind::local, "pieces"));
  work.bad = arena.make<unsigned>(workers, MemoryKind::local, "results");
  std::memset(work.bad, 0xff, workers * sizeof *work.bad);
  work.threads = workers;
  work.depth = depth;
  arena.map(gpu.memory);
  for (const uint32_t* bell : {handle->sq_doorbell, handle->cq_doorbell})
    gpu.memory.add(bell, sizeof *bell, MemoryKind::registers, "doorbell");
  // Of a controller that takes its time the queue is full first.
  uint32_t idle = kernel == "nvme_refused" ? 5000 : 0;
  gpu.step_devices = [&](machine::Random& random) {
    if (idle != 0 && --idle != 0) return false;
    device.step(random.one_in(2) ? 1 + random.below(3) : ~0u);
    return true;
  };
  return launch(gpu, kernel, shape, seed, work);
}

template <class Kit>
std::string run_rdma(machine::Gpu& gpu, uint64_t seed) {
  using Pair = xio::emulation::RdmaQueuePair<Kit>;
  constexpr uint32_t threads = 64;
  constexpr uint32_t blocks = 2;
  constexpr uint32_t workers = threads * blocks;
  Arena arena;
  const MemoryKind kind = host_memory(gpu.target());
  xio::emulation::RdmaFabric fabric;
  const auto numbered = [](uint32_t qpn) {
    xio::emulation::RdmaQueueConfig config = Kit::config();
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn + 0x1000;
    return config;
  };
  Pair near(fabric, numbered(0x101), arena.source(kind, "queue pair"));
  Pair far(fabric, numbered(0x202), arena.source(kind, "peer's queue pair"));
  near.model().connect(far.config().qpn);
  far.model().connect(near.config().qpn);
  xio::emulation::RdmaNic nic;
  nic.add(near.model());
  nic.add(far.model());

  const size_t bytes = size_t{workers} * 2 * abi_tests::block_bytes;
  auto* const local = static_cast<unsigned long long*>(arena.allocate(bytes, 4096, kind, "data"));
  auto* const remote = static_cast<unsigned long long*>(arena.allocate(bytes, 4096, kind, "remote data"));
  auto* const handle = arena.make<xio::rdma::QueuePairHandle>(1, MemoryKind::local, "handle");
  *handle = near.handle();
  RdmaWork work{};
  work.queue = reinterpret_cast<uint64_t>(handle);
  work.local = local;
  work.remote = reinterpret_cast<uint64_t>(remote);
  work.bad = arena.make<unsigned>(workers, MemoryKind::local, "results");
  std::memset(work.bad, 0xff, workers * sizeof *work.bad);
  work.lkey = fabric.keys().add(local, bytes);
  work.rkey = fabric.keys().add(remote, bytes);
  work.threads = workers;
  arena.map(gpu.memory);
  for (Pair* pair : {&near, &far}) {
    gpu.memory.add(pair->memory().sq_doorbell, 4096, MemoryKind::registers, "doorbells");
    gpu.memory.add(&pair->state(), pair->state_bytes(), MemoryKind::local, "queue state");
  }
  gpu.step_devices = [&](machine::Random&) { return nic.pass(); };
  std::string error = launch(gpu, std::string("rdma_") + Kit::Vendor::name, {blocks, threads}, seed, work);
  for (const std::string& text : near.model().statistics().violations)
    if (error.empty()) error = "against the device's rules: " + text;
  const unsigned long long* const signals = remote + workers * abi_tests::words;
  for (uint32_t i = 0; i < workers && error.empty(); ++i)
    if (signals[i] != i + 7) error = "the signal of thread " + std::to_string(i) + " is " + std::to_string(signals[i]);
  if (error.empty() && signals[workers] != workers) error = "the counter is " + std::to_string(signals[workers]);
  return error;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int failed = 0;
  try {
    std::ifstream file(argv[1], std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    xio::host::check_device_abi(image.data(), image.size());
    if (image.find("xio_device_abi_" + std::to_string(XIO_ABI_NUMBER)) == image.npos)
      throw xio::host::Error("the program does not tell the ABI of its bitcode");
    const std::unique_ptr<machine::Gpu> gpu = machine::load(argv[1]);
    gpu->limits.instructions = 20'000'000;
    const uint32_t wave = gpu->wave_size();
    const auto tell = [&](const std::string& name, uint64_t seed, const std::string& error) {
      if (error.empty()) return;
      std::printf("%s, seed %llu: %s\n", name.c_str(), static_cast<unsigned long long>(seed), error.c_str());
      ++failed;
    };
    struct Case {
      const char* kernel;
      Shape shape;
      uint32_t workers;
    };
    for (const Case& one :
         {Case{"nvme_thread", {1, 1}, 1}, Case{"nvme_wave", {1, wave}, wave}, Case{"nvme_block", {1, 128}, 128},
          Case{"nvme_grid", {2, 64}, 128}, Case{"nvme_told", {1, 128}, 128}, Case{"nvme_batches", {1, 128}, 128},
          Case{"nvme_refused", {1, 1}, 1}}) {
      for (uint64_t seed = 0; seed <= 4; ++seed)
        tell(one.kernel, seed, run_nvme(*gpu, one.kernel, one.shape, one.workers, seed));
    }
    xio::emulation::for_each_kit([&](auto kit) {
      using Kit = decltype(kit);
      for (uint64_t seed = 0; seed <= 2; ++seed) tell(Kit::Vendor::name, seed, run_rdma<Kit>(*gpu, seed));
    });
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 2;
  }
  return failed == 0 ? 0 : 1;
}
