// SPDX-License-Identifier: MIT
/// @file
/// @brief Tests of loading and launching code objects, and of the errors that are reported.

#include <cstring>
#include <string>
#include <vector>

#include <catch.hpp>
#include <machine/core/load.hpp>

namespace {

const char* const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201"};

std::unique_ptr<machine::Gpu> gpu_of(const char* target) {
  auto gpu = machine::amdgcn::load(std::string(XIO_MACHINE_CODE) + "/amdgcn_loading." + target + ".o");
  gpu->limits.instructions = 100'000;
  return gpu;
}

/// Runs a kernel whose only argument is memory for its results. Returns the text of a fault, or nothing.
std::string run(machine::Gpu& gpu, const char* kernel, std::vector<uint32_t>& out, machine::Launch launch,
                uint64_t seed, machine::MemoryKind kind = machine::MemoryKind::local) {
  uint32_t* const pointer = out.data();
  launch.arguments = &pointer;
  launch.argument_bytes = sizeof pointer;
  gpu.memory.clear();
  gpu.memory.add(out.data(), out.size() * sizeof out[0], kind, "results");
  gpu.start(seed);
  try {
    gpu.run(kernel, launch);
  } catch (const machine::Fault& fault) {
    return fault.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

machine::Launch threads(uint32_t count) {
  machine::Launch launch;
  launch.block.x = count;
  return launch;
}

}  // namespace

TEST_CASE("Metadata of kernels") {
  for (const char* target : targets) {
    const auto gpu = gpu_of(target);
    CHECK(gpu->target() == target);
    for (const machine::KernelInfo& kernel : gpu->kernels()) {
      if (kernel.name == "arguments") {
        CHECK(kernel.argument_bytes == 33);
        CHECK(kernel.argument_offsets == std::vector<uint32_t>{0, 8, 32});
        CHECK(kernel.argument_sizes == std::vector<uint32_t>{8, 24, 1});
      }
      if (kernel.name == "shared_memory") CHECK(kernel.shared_bytes == 1024);
      if (kernel.name == "private_memory") CHECK(kernel.private_bytes > 0);
    }
  }
}

TEST_CASE("What kernels find at their beginning") {
  for (const char* target : targets) {
    INFO(target);
    const auto gpu = gpu_of(target);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      INFO(seed);
      std::vector<uint32_t> out(4);
      struct {
        uint32_t* out;
        struct {
          uint8_t byte;
          uint64_t wide;
          uint16_t half;
        } mixed;
        uint8_t last;
      } arguments{out.data(), {200, uint64_t{77} << 32, 65000}, 9};
      machine::Launch launch;
      launch.arguments = &arguments;
      launch.argument_bytes = sizeof arguments;
      gpu->memory.clear();
      gpu->memory.add(out.data(), 16, machine::MemoryKind::local, "results");
      gpu->start(seed);
      gpu->run("arguments", launch);
      CHECK(out == std::vector<uint32_t>{200, 77, 65000, 9});

      launch = {};
      launch.grid = {2, 3, 2};
      launch.block = {5, 4, 3};
      out.assign(12 * 60, 0);
      CHECK(run(*gpu, "indices", out, launch, seed) == "");
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < out.size(); ++i) wrong += out[i] != (i / 60 << 16 | i % 60);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Variables, calls, private memory and LDS") {
  const uint32_t table[] = {11, 22, 33, 44};
  for (const char* target : targets) {
    const auto gpu = gpu_of(target);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      INFO(target << ", seed " << seed);
      std::vector<uint32_t> out(100);
      CHECK(run(*gpu, "variables", out, threads(70), seed) == "");
      CHECK(out[0] == 38);
      for (uint32_t i = 0; i < 70; ++i) CHECK(out[1 + i] == i * 2 + table[i & 3]);
      for (const char* kernel : {"private_memory", "private_table"}) {
        CHECK(run(*gpu, kernel, out, threads(70), seed) == "");
        for (uint32_t i = 0; i < 70; ++i) {
          uint32_t sum = 0;
          for (uint32_t k = 0; k < 8; ++k) sum += (i + ((k + i) & 7)) * (k + 1);
          CHECK(out[i] == sum);
        }
      }
      out.assign(256, 0);
      machine::Launch launch = threads(256);
      launch.dynamic_shared_bytes = 1024;
      CHECK(run(*gpu, "shared_memory", out, launch, seed) == "");
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < 256; ++i) wrong += out[i] != (255 - i) * 3 + (255 - i) + 1000 + (i ^ 5);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Errors say what is wrong") {
  for (const char* target : targets) {
    INFO(target);
    const auto gpu = gpu_of(target);
    std::vector<uint32_t> out(64);
    CHECK(contains(run(*gpu, "no_wait", out, threads(1), 3), "before its load was waited for"));
    CHECK(contains(run(*gpu, "never_ends", out, threads(1), 3), "does not end"));
    CHECK(contains(run(*gpu, "not_known", out, threads(1), 3), "f64"));
    CHECK(contains(run(*gpu, "nothing", out, threads(1), 3), "no kernel nothing"));
    // Both lanes store to one line: the device receives only one of the stores.
    CHECK(run(*gpu, "two_lanes_ring", out, threads(2), 3, machine::MemoryKind::registers) == "");
    CHECK(gpu->counts.merged_doorbells == 1);
    CHECK(gpu->counts.doorbells == 1);
    out.resize(1);
    CHECK(contains(run(*gpu, "variables", out, threads(64), 3), "where nothing is mapped"));
  }
}

TEST_CASE("Private memory that a lane has not stored") {
  for (const char* target : targets) {
    INFO(target);
    const auto gpu = gpu_of(target);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<uint32_t> out(64);
      CHECK(run(*gpu, "saved_and_not_used", out, threads(64), seed) == "");
      CHECK(out[63] == 64);
      for (const char* kernel :
           {"stored_without_saving", "decided_without_saving", "addressed_without_saving", "given_without_saving"})
        CHECK(contains(run(*gpu, kernel, out, threads(64), seed), "lane 0 uses private memory at "));
    }
  }
}
