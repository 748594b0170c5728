// SPDX-License-Identifier: MIT

/// @file
/// @brief The page cache as GPU code, executed by the model of the GPU with every liberty that its architecture gives.
///
/// cache-machine FILE SEEDS: random, put and get, and flush by several waves, every element compared.
/// cache-machine FILE counts: what hits, puts and misses cost, held to the limits below.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <machine/core/host_memory.hpp>
#include <machine/core/load.hpp>
#include <scenarios/arena.hpp>

#include "cache/drives.hpp"

using namespace cache_tests;
using machine::MemoryKind;

namespace {

/// What a kernel and the drives share, at the same addresses in every run.
class Rig {
 public:
  Rig(machine::Gpu& gpu, Shape shape, MemoryKind kind) : gpu_(gpu) {
    shape.stepped = true;
    drives_ = std::make_unique<Drives>(shape, arena_.source(kind, "memory of the drives"), xio::host::Executor());
    result_ = arena_.make<Result>(1, MemoryKind::local, "result");
    arena_.map(gpu.memory);
    const xio::host::NvmeCache& cache = *drives_->cache;
    const CacheHandle handle = cache.handle();
    gpu.memory.add(handle.ends,
                   static_cast<size_t>(reinterpret_cast<char*>(handle.sets + (4u << handle.set_shift)) -
                                       reinterpret_cast<char*>(handle.ends)),
                   MemoryKind::local, "words of the cache");
    gpu.memory.add(handle.drives.queues, cache.drives().queues().size() * sizeof *handle.drives.queues,
                   MemoryKind::local, "handles of the queues");
    gpu.memory.add(handle.memory.bases, shape.drives * sizeof *handle.memory.bases, MemoryKind::local,
                   "bus addresses of the frames");
    for (const auto& queue : cache.drives().queues()) {
      gpu.memory.add(queue.handle().sq_doorbell, 4, MemoryKind::registers, "SQ doorbell");
      gpu.memory.add(queue.handle().cq_doorbell, 4, MemoryKind::registers, "CQ doorbell");
    }
    gpu.step_devices = [this](machine::Random& random) {
      size_t done = 0;
      for (auto* const model : drives_->models) done += model->step(random.one_in(2) ? 1 + random.below(3) : ~0u);
      return done != 0;
    };
  }
  ~Rig() {
    gpu_.step_devices = nullptr;
    gpu_.memory.clear();
  }

  uint64_t elements() const { return drives_->elements(); }
  Result run(const char* kernel, uint64_t seed, uint32_t blocks, uint32_t threads, Work work, uint32_t steps,
             uint64_t version) {
    struct {
      CacheHandle cache;
      Job job;
      Result* result;
    } arguments{drives_->cache->handle(), {elements(), version, steps, work, {gpu_.patience_ns()}}, result_};
    *result_ = {};
    machine::Launch launch;
    launch.grid.x = blocks;
    launch.block.x = threads;
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    gpu_.start(seed);
    gpu_.run(kernel, launch);
    return *result_;
  }
  uint64_t differing(uint64_t version) { return drives_->differing(version); }

 private:
  machine::Gpu& gpu_;
  scenarios::Arena arena_;
  std::unique_ptr<Drives> drives_;
  Result* result_ = nullptr;
};

void require(const char* what, uint64_t seed, const Result& result, uint64_t expected) {
  if (result.right == expected && result.wrong == 0 && result.failed == 0) return;
  throw std::runtime_error(std::string(what) + ", seed " + std::to_string(seed) + ": " + std::to_string(result.right) +
                           " right of " + std::to_string(expected) + ", " + std::to_string(result.wrong) + " wrong, " +
                           std::to_string(result.failed) + " failed, one with " +
                           xio::name(Status::unpack(result.first).code) + " " + std::to_string(result.first >> 16));
}

void run_seed(machine::Gpu& gpu, uint64_t seed) {
  const Shape shapes[] = {{1, 4, 512, 1, 4, 8}, {4, 4, 512, 2, 8, 64}, {16, 4, 1024, 3, 24, 3}, {2, 4, 4096, 2, 4, 16}};
  const Shape& shape = shapes[seed % 4];
  const uint32_t blocks = 2, threads = gpu.wave_size() * (seed % 3 == 0 ? 2 : 1);
  Rig rig(gpu, shape, seed / 4 % 2 == 0 ? MemoryKind::uncached : machine::host_memory(gpu.target()));
  const uint64_t all = uint64_t{blocks} * threads;
  require("random", seed, rig.run("cache_read_only", seed, blocks, threads, Work::random, 2, 0), 2 * all);
  const auto rounds = static_cast<uint32_t>((rig.elements() + all - 1) / all);
  require("put and get", seed, rig.run("cache_write_back", seed, blocks, threads, Work::put_get, rounds, 1),
          rounds * all);
  require("flush", seed, rig.run("cache_flush", seed, 1, gpu.wave_size(), Work::put, 1, 1), 0);
  if (const uint64_t wrong = rig.differing(1))
    throw std::runtime_error("after flush, seed " + std::to_string(seed) + ": " + std::to_string(wrong) +
                             " elements of the drives are old");
}

/// Wave instructions and atomics of one step: the difference of two runs. Of NVIDIA's, those of a thread.
struct Cost {
  double instructions, atomics;
};
Cost cost(machine::Gpu& gpu, Rig& rig, const char* kernel, uint32_t spread, uint32_t steps) {
  Cost of[2];
  for (uint32_t i = 0; i < 2; ++i) {
    (void)rig.run(kernel, 0, 1, gpu.wave_size(), Work::random, i == 0 ? 1 : 1 + steps, spread);
    const double lanes = gpu.target().rfind("sm_", 0) == 0 ? gpu.wave_size() : 1;
    of[i] = {static_cast<double>(gpu.counts.instructions) / lanes, static_cast<double>(gpu.counts.atomics) / lanes};
  }
  return {(of[1].instructions - of[0].instructions) / steps, (of[1].atomics - of[0].atomics) / steps};
}

int show_counts(machine::Gpu& gpu) {
  Rig rig(gpu, {1024, 8, 4096, 1, 8192, 64}, MemoryKind::uncached);  // few lanes of a wave meet in a set
  int bad = 0;
  const auto show = [&](const char* what, const Cost& now, double instructions, double atomics) {
    const bool over = (instructions != 0 && now.instructions > instructions) || (atomics >= 0 && now.atomics > atomics);
    std::printf("%-28s %7.1f instructions of a wave, %5.2f atomics%s\n", what, now.instructions, now.atomics,
                over ? "  ABOVE ITS LIMIT" : "");
    bad += over;
  };
  for (uint32_t i = 0; i < 2; ++i) (void)rig.run("cost_get", 0, 1, gpu.wave_size(), Work::random, 1, 1);
  (void)rig.run("cost_get", 0, 1, gpu.wave_size(), Work::random, 1, 0);
  const Cost read = cost(gpu, rig, "cost_read", 1, 14);
  show("load", cost(gpu, rig, "cost_load", 0, 100), 0, 0);
  const std::string target = gpu.target();
  const double hit = target == "gfx942" || target == "gfx90a" ? 98 : target == "sm_90" ? 104 : 125;
  show("hit, one page", cost(gpu, rig, "cost_get", 0, 100), hit, 0);
  show("hit, a page for each lane", cost(gpu, rig, "cost_get", 1, 100), hit, 0);
  show("put, one page", cost(gpu, rig, "cost_put", 0, 100), 0, 2);
  show("put, a page for each lane", cost(gpu, rig, "cost_put", 1, 100), 0, 2);
  show("read and wait", read, 0, -1);
  show("miss", cost(gpu, rig, "cost_get", 2, 14), 2.2 * read.instructions, -1);
  return bad != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: cache-machine FILE SEEDS|counts");
  const std::unique_ptr<machine::Gpu> gpu = machine::load(argv[1]);
  if (std::string(argv[2]) == "counts") return show_counts(*gpu);
  const uint64_t seeds = std::strtoull(argv[2], nullptr, 10);
  uint64_t wrong = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    try {
      run_seed(*gpu, seed);
    } catch (const std::exception& error) {
      ++wrong;
      std::printf("%s\n", error.what());
    }
  }
  std::printf("%s: %llu seeds, %llu wrong\n", gpu->target().c_str(), static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(wrong));
  return wrong != 0 ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
