// SPDX-License-Identifier: MIT
/// @file
/// @brief LLVM's code for orderings suffices under every seed; with any part of it weakened, some seed fails.

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>
#include <machine/core/load.hpp>
#include <machine/litmus/amdgcn_unneeded.hpp>
#include <machine/litmus/place.hpp>

namespace {

using machine_tests::Place;
using machine_tests::words_between;

constexpr uint32_t rounds = 8;
constexpr uint64_t few_seeds = 50;
constexpr uint64_t seeds = 300;
constexpr uint64_t many_seeds = 5000;

struct Memory {
  alignas(64) uint32_t data[6 * words_between];
  alignas(64) uint32_t flags[8 * words_between];
  alignas(64) uint32_t bad[64];
};

struct Test {
  const char* kernel;
  uint32_t groups;
  uint32_t waves;
  std::function<bool(const Memory&)> good;
};

bool none_bad(const Memory& memory) {
  for (uint32_t i = 0; i < 16; ++i)
    if (memory.bad[i] != 0) return false;
  return true;
}
bool one_saw(const Memory& memory) {
  for (uint32_t k = 1; k <= rounds; ++k)
    if (memory.bad[16 + k * 2] == 0 && memory.bad[17 + k * 2] == 0) return false;
  return true;
}
bool counted(const Memory& memory) { return memory.data[0] == 3 * rounds; }
bool added(const Memory& memory) { return memory.flags[0] == 2 * rounds && none_bad(memory); }

const std::vector<Test>& tests() {
  static const std::vector<Test> all = {
      {"pass_stores_agent", 2, 1, none_bad},
      {"pass_stores_sys", 2, 1, none_bad},
      {"pass_fences_agent", 2, 1, none_bad},
      {"pass_fences_sys", 2, 1, none_bad},
      {"pass_atomics_agent", 2, 1, none_bad},
      {"pass_atomics_sys", 2, 1, none_bad},
      {"chain_agent", 3, 1, none_bad},
      {"chain_sys", 3, 1, none_bad},
      {"buffering_agent", 2, 1, one_saw},
      {"buffering_sys", 2, 1, one_saw},
      {"lock_agent", 3, 1, counted},
      {"lock_sys", 3, 1, counted},
      {"relaxed_agent", 3, 1, added},
      {"relaxed_sys", 3, 1, added},
      {"pass_stores_group", 1, 2, none_bad},
      {"pass_fences_group", 1, 2, none_bad},
      {"pass_device_stores", 1, 1, none_bad},
      {"pass_device_fences", 1, 1, none_bad},
      {"chain_device_waits", 2, 1, none_bad},
      {"barrier", 1, 2, none_bad},
      {"barrier_device", 1, 2, none_bad},
      // In threadgroup split mode, which other targets do not have.
      {"barrier_device_split", 1, 2, none_bad},
  };
  return all;
}

/// Runs a test. Returns the error, or nothing.
std::string run(machine::Gpu& gpu, const Test& test, uint64_t seed) {
  static Memory memory;
  std::memset(&memory, 0, sizeof memory);
  const std::string& target = gpu.target();
  gpu.memory.clear();
  gpu.memory.add(&memory, sizeof memory, machine::MemoryKind::host, "memory");
  // Devices see system-scope stores; targets without such stores need memory that the L2 does not hold.
  const bool by_device = std::strstr(test.kernel, "_device") != nullptr;
  if (by_device && (target == "gfx90a" || target == "gfx1100"))
    gpu.memory.add(memory.flags, sizeof memory.flags, machine::MemoryKind::uncached, "flags");
  if (by_device && target == "gfx1100")
    gpu.memory.add(memory.data, sizeof memory.data, machine::MemoryKind::uncached, "data");
  uint32_t answered = 0;
  gpu.step_devices = [&](machine::Random&) {
    if (!by_device || __atomic_load_n(&memory.flags[0], __ATOMIC_ACQUIRE) != answered + 1) return false;
    ++answered;
    for (uint32_t i = 0; i < 2; ++i) {
      uint32_t& word = memory.data[i * words_between];
      word = word == answered ? answered + 1000 : 0;
    }
    __atomic_store_n(&memory.flags[words_between], answered, __ATOMIC_RELEASE);
    return true;
  };
  const Place place{memory.data, memory.flags, memory.bad, rounds};
  machine::Launch launch;
  launch.grid.x = test.groups;
  launch.block.x = test.waves * gpu.wave_size();
  launch.arguments = &place;
  launch.argument_bytes = sizeof place;
  gpu.start(seed);
  try {
    gpu.run(test.kernel, launch);
  } catch (const machine::Fault& fault) {
    return fault.what();
  }
  return test.good(memory) ? "" : "seed " + std::to_string(seed) + ": wrong result";
}

/// The first seed that fails, and how.
std::string first_failure(machine::Gpu& gpu, const Test& test, uint64_t end, uint64_t begin = 0) {
  for (uint64_t seed = begin; seed < end; ++seed) {
    const std::string failure = run(gpu, test, seed);
    if (!failure.empty()) return failure;
  }
  return "";
}

std::vector<machine::Mutation> mutations_that_matter(machine::Gpu& gpu, const Test& test) {
  std::vector<machine::Mutation> all = gpu.mutations(test.kernel);
  std::vector<bool> mattered(all.size());
  for (uint64_t seed = 0; seed < 3; ++seed) {
    run(gpu, test, seed);
    for (size_t i = 0; i < all.size(); ++i) mattered[i] = mattered[i] || gpu.mattered(all[i]);
  }
  std::vector<machine::Mutation> some;
  for (size_t i = 0; i < all.size(); ++i)
    if (mattered[i]) some.push_back(all[i]);
  return some;
}

bool has_kernel(const machine::Gpu& gpu, const std::string& name) {
  for (const machine::KernelInfo& one : gpu.kernels())
    if (one.name == name) return true;
  return name.find("_split") == std::string::npos;
}

void check_target(const char* target) {
  const auto gpu = machine::amdgcn::load(std::string(XIO_MACHINE_CODE) + "/litmus-amdgcn." + target + ".o");
  gpu->limits.instructions = 200'000;
  uint32_t caught = 0;
  uint32_t unneeded = 0;
  for (const Test& test : tests()) {
    if (!has_kernel(*gpu, test.kernel)) continue;
    INFO(target << " " << test.kernel);
    CHECK(first_failure(*gpu, test, seeds) == "");
    for (const machine::Mutation& mutation : mutations_that_matter(*gpu, test)) {
      INFO(mutation.text << ": " << mutation.change << " (" << mutation.source << ")");
      const std::string reason = machine_tests::unneeded(target, test.kernel, mutation.text, mutation.change);
      gpu->apply(mutation);
      bool failed = !first_failure(*gpu, test, reason.empty() ? seeds : few_seeds).empty();
      // Some failures need a rare interleaving.
      if (!failed && reason.empty()) failed = !first_failure(*gpu, test, many_seeds, seeds).empty();
      gpu->restore();
      ++(failed ? caught : unneeded);
      CHECK((failed || !reason.empty()));
    }
  }
  std::printf("%s: %u weakened sequences caught, %u not needed\n", target, caught, unneeded);
}

}  // namespace

TEST_CASE("Litmus: gfx90a") { check_target("gfx90a"); }
TEST_CASE("Litmus: gfx942") { check_target("gfx942"); }
TEST_CASE("Litmus: gfx1100") { check_target("gfx1100"); }
TEST_CASE("Litmus: gfx1201") { check_target("gfx1201"); }

TEST_CASE("Litmus: a write-back that LLVM does not wait for") {
  // The reason for the library's own waits: see ByStoresAndWait in amdgcn.hip.
  const Test test{"chain_device_stores", 2, 1, none_bad};
  for (const char* target : {"gfx942", "gfx1201"}) {
    const auto gpu = machine::amdgcn::load(std::string(XIO_MACHINE_CODE) + "/litmus-amdgcn." + target + ".o");
    gpu->limits.instructions = 200'000;
    CHECK(first_failure(*gpu, test, seeds) != "");
  }
}
