// SPDX-License-Identifier: MIT

/// @file
/// @brief page_in_cost PROGRAM PAGES PAGE_BYTES DRIVES SGL LIMIT: the kernel of examples/python/page_in.hip fetches
/// pages from in-process controllers that answer at once, executed by the model of its GPU, with at most LIMIT
/// instructions of a wave for each page.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <machine/core/load.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/drive_set.hpp>

namespace {

using namespace xio;

struct Page {
  uint64_t place;
  uint32_t slot;
  uint32_t layer;
};

struct Arguments {
  const nvme::DriveSetHandle* set;
  const nvme::DriveRegion* region;
  const void* cache;
  const Page* pages;
  const uint32_t* first;
  Notification* told;
  uint64_t* sums;
  Status* status;
  uint32_t layers;
  uint32_t page_bytes;
  uint64_t half;
  uint32_t fetchers;
};

struct Drives {
  std::vector<emulation::NvmeController*> models;
  std::vector<std::unique_ptr<host::NvmeController>> controllers;
};

Drives make_drives(uint32_t count) {
  Drives made;
  emulation::NvmeConfig config;
  config.execution = emulation::NvmeExecution::stepped;
  for (uint32_t i = 0; i < count; ++i) {
    auto model = std::make_unique<emulation::NvmeController>(config);
    made.models.push_back(model.get());
    made.controllers.push_back(std::make_unique<host::NvmeController>(std::move(model)));
  }
  return made;
}

void map(machine::Gpu& gpu, const host::NvmeDriveSet& set) {
  using machine::MemoryKind;
  gpu.memory.add(reinterpret_cast<void*>(4096), (uint64_t{1} << 47) - 8192, MemoryKind::local, "all");
  for (const host::NvmeQueue& queue : set.queues()) {
    const nvme::QueueHandle handle = queue.handle();
    gpu.memory.add(handle.sq, 64 * (size_t{handle.sq_mask} + 1), MemoryKind::host, "submissions");
    gpu.memory.add(handle.cq, 16 * (size_t{handle.cq_mask} + 1), MemoryKind::host, "completions");
    for (const uint32_t* bell : {handle.sq_doorbell, handle.cq_doorbell})
      gpu.memory.add(bell, sizeof *bell, MemoryKind::registers, "doorbell");
  }
}

int measure(const std::string& program, uint32_t count, uint32_t page_bytes, uint32_t drives, bool sgl, double limit) {
  constexpr uint32_t layers = 32;
  constexpr uint32_t fetchers = 1;
  constexpr uint32_t computers = 1;
  constexpr uint32_t orders = 4;
  const std::unique_ptr<machine::Gpu> gpu = machine::load(program);
  const Drives all = make_drives(drives);
  std::vector<host::NvmeController*> controllers;
  for (const auto& one : all.controllers) controllers.push_back(one.get());
  host::DriveSetOptions options;
  options.queue.depth = 128;
  options.queue.clock_hz = 100'000'000;
  const host::NvmeDriveSet set = host::make_drive_set(controllers, host::Executor(), options);
  const host::DriveBuffer cache = set.allocate(size_t{count} * page_bytes);
  const uint64_t blocks = page_bytes / set.block_bytes();
  const uint64_t room = set.queues().front().handle().namespace_blocks / blocks;

  std::mt19937_64 random(1);
  std::vector<uint32_t> slots(count);
  for (uint32_t i = 0; i < count; ++i) slots[i] = i;
  std::shuffle(slots.begin(), slots.end(), random);
  std::vector<Page> pages;
  std::vector<uint32_t> first{0};
  for (uint32_t layer = 0; layer < layers; ++layer) {
    first.push_back(static_cast<uint32_t>(uint64_t{layer + 1} * count / layers));
    while (pages.size() < first.back())
      pages.push_back({random() % drives << 48 | random() % room * blocks, slots[pages.size()], layer});
    // As the example does: lanes of a wave that use one drive submit together.
    std::sort(pages.begin() + first[layer], pages.end(),
              [](const Page& one, const Page& other) { return one.place >> 48 < other.place >> 48; });
  }
  const nvme::DriveSetHandle handle = set.handle();
  const nvme::DriveRegion region = cache.region();
  map(*gpu, set);
  gpu->step_devices = [&](machine::Random&) {
    bool moved = false;
    for (emulation::NvmeController* const one : all.models) moved = one->step(~0u) != 0 || moved;
    return moved;
  };
  gpu->limits.instructions = ~uint64_t{0};
  machine::Counts counts;
  // Waves meet in other ways with each order.
  for (uint64_t order = 1; order <= orders; ++order) {
    std::vector<Notification> told(layers);
    std::vector<uint64_t> sums(layers);
    std::vector<Status> status(fetchers + computers);
    const Arguments arguments{&handle,
                              &region,
                              cache.data(),
                              pages.data(),
                              first.data(),
                              told.data(),
                              sums.data(),
                              status.data(),
                              layers,
                              page_bytes,
                              sgl ? uint64_t{count} * page_bytes / 2 : 0,
                              fetchers};
    gpu->order = order;
    gpu->start(0);
    machine::Launch launch;
    launch.grid.x = fetchers + computers;
    launch.block.x = gpu->wave_size();
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    gpu->run("page_in", launch);
    counts += gpu->counts;
    for (const Status how : status)
      if (!how.is_ok()) throw std::runtime_error(std::string("a wave has stopped: ") + name(how.code));
    for (uint32_t layer = 0; layer < layers; ++layer)
      if (told[layer].failed != 0 || told[layer].done != first[layer + 1] - first[layer])
        throw std::runtime_error("layer " + std::to_string(layer) + " is not whole");
  }
  const auto each = static_cast<double>(uint64_t{count} * orders);
  const double cost = static_cast<double>(counts.instructions) / each;
  std::printf(
      "%s: %u pages of %u bytes, %u drives, %s: %.2f instructions, %.3f doorbells, %.2f writes to the host each\n",
      gpu->target().c_str(), count, page_bytes, drives, sgl ? "SGL" : "PRP", cost,
      static_cast<double>(counts.doorbells) / each, static_cast<double>(counts.host_writes) / each);
  if (cost > limit) std::printf("FAILED: more than %.2f instructions\n", limit);
  return cost > limit ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) return 2;
  const auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 0)); };
  return measure(argv[1], number(2), number(3), number(4), number(5) != 0, std::strtod(argv[6], nullptr));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
