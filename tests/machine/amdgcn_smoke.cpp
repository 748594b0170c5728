// SPDX-License-Identifier: MIT
/// @file
/// @brief Compiled AMD GPU kernels drive the in-process controller: every thread writes blocks and reads them back.

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <catch.hpp>
#include <machine/amdgcn_smoke.hpp>
#include <machine/core/host_memory.hpp>
#include <machine/core/load.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>

namespace {

using machine::host_memory;
using machine::MemoryKind;

struct Case {
  const char* kernel;
  machine::Extent grid;
  uint32_t threads;
  uint32_t rounds;
};

/// Runs a case. Returns the error, or nothing.
std::string drive(machine::Gpu& gpu, const Case& with, uint64_t seed) {
  xio::emulation::NvmeConfig config;
  config.execution = xio::emulation::NvmeExecution::stepped;
  auto owned = std::make_unique<xio::emulation::NvmeController>(config);
  xio::emulation::NvmeController& device = *owned;
  xio::host::NvmeController controller(std::move(owned));
  gpu.memory.clear();
  const MemoryKind kind = host_memory(gpu.target());
  const auto allocate = [&](MemoryKind of, const char* name) {
    return [&gpu, &controller, of, name](size_t bytes, size_t alignment) {
      auto buffer = controller.transport().allocate(bytes, alignment);
      gpu.memory.add(buffer.data(), buffer.size(), of, name);
      return buffer;
    };
  };
  xio::host::QueueOptions options;
  options.depth = 16;
  options.clock_hz = 100'000'000;
  options.allocate_rings = allocate(kind, "rings");
  options.allocate_record = options.allocate_rings;
  options.allocate_state = allocate(MemoryKind::local, "state");
  const xio::host::NvmeQueue queue = controller.create_queue(options);
  const xio::nvme::QueueHandle handle = queue.handle();
  for (const uint32_t* bell : {handle.sq_doorbell, handle.cq_doorbell})
    gpu.memory.add(bell, sizeof *bell, MemoryKind::registers, "doorbell");
  const uint32_t total = with.grid.x * with.threads;
  const xio::host::DmaBuffer data = controller.allocate(total * size_t{1024});
  gpu.memory.add(data.data(), data.size(), kind, "data");
  std::vector<uint32_t> bad(total, ~0u);
  gpu.memory.add(bad.data(), bad.size() * sizeof bad[0], MemoryKind::local, "results");
  gpu.step_devices = [&](machine::Random& random) {
    device.step(random.one_in(2) ? 1 + random.below(3) : ~0u);
    return true;
  };
  struct {
    xio::nvme::QueueHandle handle;
    machine_tests::Work work;
  } arguments{handle, {static_cast<uint8_t*>(data.data()), data.bus(), bad.data(), with.rounds, total, 100'000'000}};
  machine::Launch launch;
  launch.grid = with.grid;
  launch.block.x = with.threads;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  gpu.start(seed);
  try {
    gpu.run(with.kernel, launch);
  } catch (const machine::Fault& fault) {
    return fault.what();
  }
  for (uint32_t thread = 0; thread < total; ++thread)
    if (bad[thread] != 0)
      return "seed " + std::to_string(seed) + ", thread " + std::to_string(thread) + ": " + std::to_string(bad[thread]);
  return gpu.counts.merged_doorbells != 0 ? "doorbells merged, seed " + std::to_string(seed) : "";
}

/// Lanes that pass equal values, by the machine code of arch::match(), and the first one of each row of them, by that
/// of arch::leads(). Returns how many lanes were told wrongly.
uint32_t match_wrongly(machine::Gpu& gpu, const std::vector<uint64_t>& values, uint64_t active) {
  std::vector<uint64_t> lanes(2 * values.size());
  gpu.memory.clear();
  gpu.step_devices = nullptr;
  gpu.memory.add(values.data(), values.size() * 8, MemoryKind::local, "values");
  gpu.memory.add(lanes.data(), lanes.size() * 8, MemoryKind::local, "lanes");
  struct {
    const uint64_t* values;
    uint64_t* lanes;
    uint64_t active;
  } arguments{values.data(), lanes.data(), active};
  machine::Launch launch;
  launch.block.x = gpu.wave_size();
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  gpu.start(1);
  gpu.run("match_values", launch);
  uint32_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t expected = 0;
    for (size_t j = 0; j < values.size(); ++j)
      if ((active >> j & 1) != 0 && values[j] == values[i]) expected |= uint64_t{1} << j;
    const bool acts = (active >> i & 1) != 0;
    const bool follows = i != 0 && (active >> (i - 1) & 1) != 0 && values[i - 1] == values[i];
    if (lanes[i] != (acts ? expected : 0) || lanes[values.size() + i] != (acts && !follows ? 1 : 0)) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("Lanes that pass equal values are found") {
  for (const std::string target : {"gfx90a", "gfx942", "gfx1100", "gfx1201"}) {
    const auto gpu = machine::amdgcn::load(std::string(XIO_MACHINE_CODE) + "/amdgcn_smoke." + target + ".o");
    for (const uint64_t many : {1u, 2u, 4u, 5u, 23u, 64u}) {
      // Values that differ in their lower bits, in those of the second half-word alone, and in the upper word alone;
      // in the last but one row two groups of 12 bits cancel out.
      for (const uint64_t step : {uint64_t{1}, uint64_t{1} << 16, uint64_t{1} << 32, uint64_t{0x1001}, ~uint64_t{0}}) {
        std::vector<uint64_t> values(gpu->wave_size());
        for (size_t i = 0; i < values.size(); ++i) values[i] = 77 + i * 5 % many * step;
        for (const uint64_t active : {~uint64_t{0}, uint64_t{0x8421f0f0a5a5dead}}) {
          CAPTURE(target, many, step, active);
          CHECK(match_wrongly(*gpu, values, active) == 0);
        }
      }
    }
  }
}

TEST_CASE("Machine code drives the in-process controller") {
  const char* const seeds = std::getenv("XIO_MACHINE_SEEDS");
  const uint64_t last = seeds != nullptr ? std::strtoull(seeds, nullptr, 10) : 10;
  // Also those generic targets that the compiler knows.
  std::istringstream targets("gfx90a gfx942 gfx1100 gfx1201 " XIO_MACHINE_GENERIC);
  for (std::string target; targets >> target;) {
    const auto gpu = machine::amdgcn::load(std::string(XIO_MACHINE_CODE) + "/amdgcn_smoke." + target + ".o");
    gpu->limits.instructions = 20'000'000;
    for (const Case& with :
         {Case{"write_and_read_wave", {}, gpu->wave_size(), 4}, Case{"write_and_read_grid", {2, 1, 1}, 128, 2}}) {
      // The same model as of one of the other targets.
      const bool generic = target.find("generic") != std::string::npos;
      for (uint64_t seed = 0; seed <= (generic ? last / 5 : last); ++seed) {
        INFO(target << " " << with.kernel);
        CHECK(drive(*gpu, with, seed) == "");
      }
    }
  }
}
