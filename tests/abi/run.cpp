// SPDX-License-Identifier: MIT

/// @file
/// @brief run PROGRAM [WARPS BLOCKS]: kernels that are linked with the bitcode drive the in-process controller and
/// NICs, executed by the model of their GPU; with WARPS and BLOCKS the kernel of triton.py.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <abi/drive.hpp>
#include <abi/work.hpp>
#include <machine/core/host_memory.hpp>
#include <machine/core/load.hpp>
#include <scenarios/arena.hpp>
#include <xio/host/emulation/rdma/kits.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/gpu/device_abi.hpp>
#include <xio/vendors/rdma/traits.hpp>

namespace {

using abi_tests::Drive;
using abi_tests::NvmeWork;
using abi_tests::RdmaWork;
using machine::host_memory;
using machine::MemoryKind;
using scenarios::Arena;

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
  Drive drive(gpu);
  Arena& arena = drive.arena;
  const xio::host::DmaBuffer data = drive.allocate(size_t{workers + 3} / 4 * 4096);
  const uint32_t pages = (workers + 3) / 4;
  NvmeWork work{};
  work.queue = drive.handle();
  work.data = data.as<unsigned long long>();
  work.bus = data.bus();
  work.pages = arena.make<unsigned long long>(pages, MemoryKind::local, "pages");
  for (uint32_t i = 0; i < pages; ++i) work.pages[i] = data.bus() + uint64_t{i} * 4096;
  work.notification = reinterpret_cast<uint64_t>(arena.make<uint64_t>(2 + 2 * workers, MemoryKind::local, "told"));
  work.pieces = reinterpret_cast<uint64_t>(arena.make<uint64_t>(6 * workers, MemoryKind::local, "pieces"));
  work.bad = arena.make<unsigned>(workers, MemoryKind::local, "results");
  std::memset(work.bad, 0xff, workers * sizeof *work.bad);
  work.threads = workers;
  work.depth = Drive::depth;
  // Of a controller that takes its time the queue is full first.
  drive.map(gpu, kernel == "nvme_refused" ? 5000 : 0);
  return launch(gpu, kernel, shape, seed, work);
}

/// The kernel of triton.py: blocks in descending order, by as many commands, and the sum of the words of each.
std::string run_gather(machine::Gpu& gpu, uint32_t warps, uint32_t blocks, uint64_t seed) {
  constexpr uint32_t words = abi_tests::words;
  Drive drive(gpu);
  const xio::host::DmaBuffer data = drive.allocate(size_t{blocks} * abi_tests::block_bytes);
  std::vector<uint64_t> medium(size_t{blocks} * words);
  for (size_t i = 0; i < medium.size(); ++i) medium[i] = i * 0x9e3779b97f4a7c15;
  drive.device().write_blocks(1, 0, blocks, medium.data());
  struct {
    uint64_t queue;
    void* data;
    uint64_t bus;
    uint64_t* pieces;
    uint64_t* told;
    uint32_t* bad;
    uint64_t* sums;
    void* scratch[2];  // Triton's own
  } arguments{drive.handle(),
              data.data(),
              data.bus(),
              drive.arena.make<uint64_t>(3 * blocks, MemoryKind::local, "pieces"),
              drive.arena.make<uint64_t>(2, MemoryKind::local, "told"),
              drive.arena.make<uint32_t>(1, MemoryKind::local, "bad"),
              drive.arena.make<uint64_t>(blocks, MemoryKind::local, "sums"),
              {}};
  *arguments.bad = ~0u;
  drive.map(gpu, 0);
  machine::Launch launch;
  launch.block.x = warps * gpu.wave_size();
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  std::string error;
  try {
    gpu.start(seed);
    gpu.run("gather", launch);
    if (*arguments.bad != 0) error = "status " + std::to_string(*arguments.bad);
  } catch (const machine::Fault& fault) {
    error = fault.what();
  }
  for (uint32_t i = 0; i < blocks && error.empty(); ++i) {
    uint64_t sum = 0;
    for (uint32_t word = 0; word < words; ++word) sum += medium[(blocks - 1 - i) * words + word];
    if (arguments.sums[i] != sum) error = "block " + std::to_string(i) + " has another sum";
  }
  const uint64_t commands = drive.device().statistics().queues.at(1).commands;
  if (error.empty() && commands != blocks) error = std::to_string(commands) + " commands for " + std::to_string(blocks);
  gpu.step_devices = nullptr;
  gpu.memory.clear();
  return error;
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
  if (argc != 2 && argc != 4) return 2;
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
    if (argc == 4) {
      const auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
      for (uint64_t seed = 0; seed <= 4; ++seed) tell("gather", seed, run_gather(*gpu, number(2), number(3), seed));
      return failed == 0 ? 0 : 1;
    }
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
