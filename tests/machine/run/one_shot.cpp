// SPDX-License-Identifier: MIT

/// @file
/// @brief Executes the kernels of the instruction budgets, and compares the counts with those of the assembly.
///
/// one_shot FOLDER KERNEL=FILE...: each FILE is the code object with the kernel; FOLDER holds the counts that
/// isa_count.py recorded.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/nvme/controller.hpp>

#include <machine/core/load.hpp>
#include <scenarios/arena.hpp>

#include "each_vendor.hpp"

namespace {

using namespace machine;
using scenarios::Arena;

/// Runs one thread on a GPU that is not adversarial, so that every path is the undisturbed one.
template <class Arguments>
Counts run_one(Gpu& gpu, const std::string& kernel, const Arguments& arguments) {
  Launch launch;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  gpu.start(0);
  gpu.run(kernel, launch);
  return gpu.counts;
}

/// Runs a kernel of tests/codegen/post.hip with a queue of the in-process controller.
Counts post(Gpu& gpu, const std::string& kernel) {
  Arena arena;
  xio::emulation::NvmeConfig config;
  config.execution = xio::emulation::NvmeExecution::stepped;
  config.queues = 1;
  config.memory = arena.source(MemoryKind::host, "host memory");
  xio::host::NvmeController controller(std::make_unique<xio::emulation::NvmeController>(std::move(config)));
  xio::host::QueueOptions options;
  options.depth = 8;
  options.allocate_state = [&](size_t bytes, size_t alignment) {
    return xio::host::DmaBuffer(arena.allocate(bytes, alignment, MemoryKind::local, "queue state"), 0, bytes, nullptr);
  };
  const xio::host::NvmeQueue queue = controller.create_queue(options);
  const xio::host::DmaBuffer data = controller.allocate(4096);
  struct {
    xio::nvme::QueueHandle handle;
    uint64_t lba;
    uint64_t bus;
    xio::Token* token;
  } arguments{queue.handle(), 8, data.bus(), arena.make<xio::Token>(1, MemoryKind::local, "token")};
  gpu.memory.clear();
  arena.map(gpu.memory);
  gpu.memory.add(arguments.handle.sq_doorbell, 4, MemoryKind::registers, "SQ doorbell");
  const Counts counts = run_one(gpu, kernel, arguments);
  if (arguments.handle.state->reserved != 1) throw Fault(kernel + " has posted nothing");
  return counts;
}

/// Runs a kernel of tests/codegen/rdma_post.hip with a queue pair of an emulated NIC, of the shortest entries that it
/// takes: unused parts of longer ones are zeroed, which costs more.
template <class Kit>
Counts put(Gpu& gpu, const std::string& kernel, bool checked) {
  Arena arena;
  xio::emulation::RdmaFabric fabric;
  xio::emulation::RdmaQueuePair<Kit> pair(fabric, Kit::shortest(Kit::config()),
                                          arena.source(MemoryKind::host, "queue pair"));
  void* const data = arena.allocate(4096, 4096, MemoryKind::host, "data");
  const uint32_t key = fabric.keys().add(data, 4096);
  const auto at = reinterpret_cast<uint64_t>(data);
  gpu.memory.clear();
  struct {
    xio::rdma::QueuePairHandle handle;
    uint64_t remote;
    uint64_t local;
    uint32_t rkey;
    uint32_t lkey;
    uint32_t bytes;
  } plain{pair.handle(), at, at + 2048, key, key, 64};
  struct {
    xio::rdma::QueuePairHandle handle;
    xio::rdma::RemoteMemory remote;
    xio::Region local;
    uint64_t offset;
    uint32_t bytes;
    xio::Token* token;
  } bounded{
      pair.handle(), {at, 4096, key}, {at, 4096, key}, 0, 64, arena.make<xio::Token>(1, MemoryKind::local, "token")};
  arena.map(gpu.memory);
  gpu.memory.add(pair.memory().sq_doorbell, 4096, MemoryKind::registers, "doorbells");
  gpu.memory.add(&pair.state(), pair.state_bytes(), MemoryKind::local, "queue state");
  return checked ? run_one(gpu, kernel, bounded) : run_one(gpu, kernel, plain);
}

Counts execute(Gpu& gpu, const std::string& kernel) {
  using namespace xio::emulation;
  if (kernel.rfind("post_", 0) == 0) return post(gpu, kernel);
  if (kernel == "put_checked_mlx5") return put<Mlx5Kit<>>(gpu, kernel, true);
#define PUT(name, Vendor) \
  if (kernel == "put_" #name) return put<KitOf<Vendor>::type>(gpu, kernel, false);
  XIO_EACH_VENDOR(PUT)
  throw Fault("no kernel " + kernel);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  uint32_t wrong = 0;
  try {
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t equals = argument.find('=');
      const std::string kernel = argument.substr(0, equals);
      const std::unique_ptr<Gpu> gpu = load(argument.substr(equals + 1));
      std::ifstream file(std::filesystem::path(argv[1]) / (kernel + "." + gpu->target() + ".json"));
      if (!file) throw Fault("the budget test of " + kernel + " has recorded nothing");
      const nlohmann::json recorded = nlohmann::json::parse(file);
      const Counts counts = execute(*gpu, kernel);
      const bool same = counts.instructions == recorded.at("instructions") && counts.stores == recorded.at("stores") &&
                        counts.write_backs == recorded.value("writebacks", uint64_t{0});
      std::printf("%-8s %-18s executed %3llu instructions, %2llu stores, %llu write-backs; counted %s%s\n",
                  gpu->target().c_str(), kernel.c_str(), static_cast<unsigned long long>(counts.instructions),
                  static_cast<unsigned long long>(counts.stores), static_cast<unsigned long long>(counts.write_backs),
                  recorded.dump().c_str(), same ? "" : "  DIFFERS");
      wrong += !same;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return wrong == 0 ? 0 : 1;
}
