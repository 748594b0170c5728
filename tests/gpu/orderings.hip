// SPDX-License-Identifier: MIT
// What the orderings of xio::arch take, by the number of waves that use them at the same time.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <gpu/runtime.hpp>

#include <xio/device/arch/arch.hpp>

namespace {

using namespace xio;
using arch::Scope;

/// Words of one wave, in lines of its own.
struct Words {
  uint64_t* near;  ///< in GPU memory
  uint64_t* far;   ///< in host memory
};

struct Row {
  const char* name;
  std::vector<double> ns;
};

constexpr uint32_t waves_of[] = {1, 8, 32, 128, 512, 2048};
constexpr uint32_t line = 16;  // words

struct ReleaseSystem { __device__ static void run(Words, uint64_t) { arch::release_system(); } };
struct FullFenceSystem { __device__ static void run(Words, uint64_t) { arch::full_fence_system(); } };
struct FullFenceAgent { __device__ static void run(Words, uint64_t) { arch::full_fence<Scope::agent>(); } };
struct AcquireSystem { __device__ static void run(Words, uint64_t) { arch::acquire_system(); } };
struct AcquirePublished { __device__ static void run(Words, uint64_t) { arch::acquire_published<Scope::agent>(); } };
struct PublishAgent { __device__ static void run(Words w, uint64_t i) { arch::publish<Scope::agent>(w.near, i); } };
struct PublishSystem { __device__ static void run(Words w, uint64_t i) { arch::publish<Scope::system>(w.near, i); } };
struct FarStoreRelease {
  __device__ static void run(Words w, uint64_t i) {
    arch::store<Scope::system>(w.far, i);
    arch::release_system();
  }
};
struct FarStoreWait {
  __device__ static void run(Words w, uint64_t i) {
    arch::store<Scope::system>(w.far, i);
    arch::wait_stores();
  }
};
struct FarPublishAgent {
  __device__ static void run(Words w, uint64_t i) {
    arch::store<Scope::system>(w.far, i);
    arch::publish<Scope::agent>(w.near, i);
  }
};
// The next round needs the value that this one loads.
struct ObserveNear {
  __device__ static void run(Words& w, uint64_t) { w.near += arch::observe<Scope::agent>(w.near); }
};
struct ObserveFar {
  __device__ static void run(Words& w, uint64_t) { w.far += arch::observe<Scope::system>(w.far); }
};
struct ExchangeNear {
  __device__ static void run(Words& w, uint64_t) { w.near += arch::exchange<Scope::agent>(w.near, uint64_t{0}); }
};
struct ExchangeFar {
  __device__ static void run(Words& w, uint64_t) { w.far += arch::exchange<Scope::system>(w.far, uint64_t{0}); }
};

template <class Ordering>
__global__ void repeat(Words first, uint32_t rounds, bool apart, uint64_t* ns) {
  if (arch::thread_index() != 0) return;
  const uint32_t self = arch::block_index();
  Words mine = first;
  if (apart) {
    mine.near += line * self;
    mine.far += line * self;
  }
  Ordering::run(mine, 0);
  const uint64_t began = arch::clock();
  for (uint32_t i = 0; i < rounds; ++i) Ordering::run(mine, i);
  ns[self] = (arch::clock() - began) * (1000000000 / arch::clock_hz);
}

struct Bench {
  Bench() {
    const uint32_t most = waves_of[std::size(waves_of) - 1];
    words = {gpu::allocate_device<uint64_t>(line * (most + 1)),
             static_cast<uint64_t*>(gpu::allocate_host(line * (most + 1) * sizeof(uint64_t)))};
    ns = static_cast<uint64_t*>(gpu::allocate_host(most * sizeof(uint64_t)));
  }
  ~Bench() {
    gpu::free_device(words.near);
    gpu::free_host(words.far);
    gpu::free_host(ns);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  template <class Ordering>
  void measure(const char* name, bool apart = true) {
    rows.push_back({name, {}});
    std::printf("| %s", name);
    for (const uint32_t waves : waves_of) {
      gpu::check(XIO_GPU(Memset)(words.near, 0, line * (waves + 1) * sizeof(uint64_t)), "words");
      std::fill_n(words.far, line * (waves + 1), 0);
      const uint32_t rounds = waves < 512 ? 60 : 20;
      repeat<Ordering><<<waves, gpu::wave_size()>>>(words, rounds, apart, ns);
      gpu::synchronize();
      double sum = 0;
      for (uint32_t i = 0; i < waves; ++i) sum += static_cast<double>(ns[i]);
      rows.back().ns.push_back(sum / waves / rounds);
      std::printf(" | %.0f", rows.back().ns.back());
    }
    std::printf(" |\n");
    std::fflush(stdout);
  }

  Words words;
  uint64_t* ns;
  std::vector<Row> rows;
};

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  std::printf("%s: ns for each, one lane of each wave; words are the wave's own unless said otherwise\n| waves", gpu::device_name().c_str());
  for (const uint32_t waves : waves_of) std::printf(" | %u", waves);
  std::printf(" |\n|---|---|---|---|---|---|---|\n");
  Bench bench;
  bench.measure<ReleaseSystem>("release_system");
  bench.measure<AcquireSystem>("acquire_system");
  bench.measure<AcquirePublished>("acquire_published, agent");
  bench.measure<FullFenceSystem>("full_fence_system");
  bench.measure<FullFenceAgent>("full_fence, agent");
  bench.measure<PublishAgent>("publish, agent");
  bench.measure<PublishSystem>("publish, system");
  bench.measure<FarStoreRelease>("a store to host memory, release_system");
  bench.measure<FarStoreWait>("a store to host memory, wait_stores");
  bench.measure<FarPublishAgent>("a store to host memory, publish, agent");
  bench.measure<ObserveNear>("observe, agent");
  bench.measure<ObserveNear>("observe, agent, one word for all", false);
  bench.measure<ExchangeNear>("exchange, agent");
  bench.measure<ExchangeNear>("exchange, agent, one word for all", false);
  bench.measure<ObserveFar>("observe, system, host memory");
  bench.measure<ObserveFar>("observe, system, host memory, one word for all", false);
  bench.measure<ExchangeFar>("exchange, system, host memory");
  bench.measure<ExchangeFar>("exchange, system, host memory, one word for all", false);
  if (const char* path = std::getenv("XIO_FIGURES")) {
    std::ofstream out(path);
    out << "{\"gpu\": \"" << gpu::device_name() << "\", \"rows\": [";
    for (size_t i = 0; i < bench.rows.size(); ++i) {
      out << (i ? ",\n" : "\n") << "{\"name\": \"" << bench.rows[i].name << "\", \"ns\": [";
      for (size_t k = 0; k < bench.rows[i].ns.size(); ++k) out << (k ? ", " : "") << bench.rows[i].ns[k];
      out << "]}";
    }
    out << "]}\n";
  }
}
