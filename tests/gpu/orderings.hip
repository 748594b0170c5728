// SPDX-License-Identifier: MIT
// What the orderings of xio::arch take, by the number of waves that use them at the same time; and loads, atomics, votes,
// and calls of code that is not in the instruction caches.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include <gpu/runtime.hpp>

#include <xio/device/arch/arch.hpp>

namespace {

using namespace xio;
using arch::Scope;

/// Words of one wave, in lines of its own.
struct Words {
  uint64_t* near;     ///< in GPU memory
  uint64_t* far;      ///< in host memory
  uint64_t* entries;  ///< in GPU memory: 64 bytes for each lane
  uint64_t value = 0;  ///< what a round hands on to the next
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

// The same, of which the compiler may ask the first-level cache.
struct LoadCached {
  __device__ static void run(Words& w, uint64_t) { w.near += *w.near; }
};
struct LoadNear {
  __device__ static void run(Words& w, uint64_t) { w.near += arch::load<Scope::agent>(w.near); }
};
struct LoadFar {
  __device__ static void run(Words& w, uint64_t) { w.far += arch::load<Scope::system>(w.far); }
};
struct FetchAddNear {
  __device__ static void run(Words& w, uint64_t) { w.near += arch::fetch_add<Scope::agent>(w.near, uint64_t{0}); }
};
// Each expects what the one before has left.
struct CompareExchangeNear {
  __device__ static void run(Words& w, uint64_t) {
    uint64_t expected = w.value;
    w.value = arch::compare_exchange<Scope::agent>(w.near, expected, expected + 1) ? expected + 1 : expected;
  }
};
struct CompareExchangeAcquireNear {
  __device__ static void run(Words& w, uint64_t) {
    uint64_t expected = w.value;
    w.value = arch::compare_exchange_acquire<Scope::agent>(w.near, expected, expected + 1) ? expected + 1 : expected;
  }
};
/// All lanes take part.
struct WholeWave {};
/// As a wave that posts: seven words of an entry for each lane.
struct ScatteredStores : WholeWave {
  __device__ static void run(Words& w, uint64_t i) {
    uint64_t* const entry = w.entries + 8 * arch::lane();
    for (uint32_t k = 0; k < 7; ++k) arch::store<Scope::system>(entry + k, i + k);
  }
};
struct ScatteredStoresReleaseSystem : WholeWave {
  __device__ static void run(Words& w, uint64_t i) {
    ScatteredStores::run(w, i);
    arch::release_system();
  }
};
struct ScatteredStoresFullFenceAgent : WholeWave {
  __device__ static void run(Words& w, uint64_t i) {
    ScatteredStores::run(w, i);
    arch::full_fence<Scope::agent>();
  }
};
struct Ballot : WholeWave {
  __device__ static void run(Words& w, uint64_t) { w.value = arch::ballot(arch::together(0), (w.value & 1) != 0); }
};
struct Broadcast : WholeWave {
  __device__ static void run(Words& w, uint64_t) { w.value = arch::broadcast(arch::together(0), w.value + 1, 0); }
};
// The rest of a round: subtract it from the others.
struct Together : WholeWave {
  __device__ static void run(Words& w, uint64_t) { w.value += arch::together(0); }
};
struct Chain {
  __device__ static void run(Words& w, uint64_t) {
    auto value = static_cast<uint32_t>(w.value);
#pragma unroll
    for (uint32_t k = 0; k < 64; ++k) value = (value ^ (0x1234567u + 977 * k)) + 0x765431u;
    w.value = value;
  }
};

#if defined(__HIP__)
constexpr uint32_t steps_of_piece = 33;
#else
constexpr uint32_t steps_of_piece = 16;
#endif
/// About 2 KB of code without a branch.
template <uint32_t Number>
__device__ __noinline__ uint32_t piece_of_code(uint32_t value) {
  uint32_t a = value, b = value + 1, c = value + 2, d = value + 3;
#pragma unroll
  for (uint32_t k = 0; k < steps_of_piece; ++k) {
    a = (a ^ (0x1234567u + Number + 977 * k)) + 0x765431u;
    b = (b ^ (0x2345671u + Number + 977 * k)) + 0x654317u;
    c = (c ^ (0x3456712u + Number + 977 * k)) + 0x543176u;
    d = (d ^ (0x4567123u + Number + 977 * k)) + 0x431765u;
  }
  return a + b + c + d;
}
template <uint32_t Copy, uint32_t... Part>
__device__ uint32_t pieces_of_code(uint32_t value, std::integer_sequence<uint32_t, Part...>) {
  ((value = piece_of_code<Copy * sizeof...(Part) + Part>(value)), ...);
  return value;
}
/// About 50 KB of code.
template <uint32_t Copy>
__device__ uint32_t long_code(uint32_t value) {
  return pieces_of_code<Copy>(value, std::make_integer_sequence<uint32_t, 24>());
}
struct WarmCode {
  __device__ static void run(Words& w, uint64_t) { w.value = long_code<0>(static_cast<uint32_t>(w.value)); }
};
// Until it is called again, 350 KB of other code have been.
struct ColdCode {
  __device__ static void run(Words& w, uint64_t i) {
    const auto value = static_cast<uint32_t>(w.value);
    switch (i % 8) {
      case 0: w.value = long_code<0>(value); break;
      case 1: w.value = long_code<1>(value); break;
      case 2: w.value = long_code<2>(value); break;
      case 3: w.value = long_code<3>(value); break;
      case 4: w.value = long_code<4>(value); break;
      case 5: w.value = long_code<5>(value); break;
      case 6: w.value = long_code<6>(value); break;
      default: w.value = long_code<7>(value); break;
    }
  }
};

template <class Ordering>
__global__ void repeat(Words first, uint32_t rounds, bool apart, uint64_t* ns, uint64_t* kept) {
  if (!std::is_base_of_v<WholeWave, Ordering> && arch::thread_index() != 0) return;
  const uint32_t self = arch::block_index();
  Words mine = first;
  mine.entries += 8 * arch::wave_size() * self;
  if (apart) {
    mine.near += line * self;
    mine.far += line * self;
  }
  Ordering::run(mine, 0);
  const uint64_t began = arch::clock();
  for (uint32_t i = 0; i < rounds; ++i) Ordering::run(mine, i);
  if (arch::thread_index() == 0) ns[self] = (arch::clock() - began) * (1000000000 / arch::clock_hz);
  // Without a use, what a round hands on would be left out.
  if (static_cast<uint32_t>(mine.value) == 0x9e3779b9) *kept = mine.value;
}

struct Bench {
  Bench() {
    const uint32_t most = waves_of[std::size(waves_of) - 1];
    words = {gpu::allocate_device<uint64_t>(line * (most + 1)),
             static_cast<uint64_t*>(gpu::allocate_host(line * (most + 1) * sizeof(uint64_t))),
             gpu::allocate_device<uint64_t>(size_t{8} * gpu::wave_size() * most)};
    ns = static_cast<uint64_t*>(gpu::allocate_host(most * sizeof(uint64_t)));
  }
  ~Bench() {
    gpu::free_device(words.near);
    gpu::free_host(words.far);
    gpu::free_device(words.entries);
    gpu::free_host(ns);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  template <class Ordering>
  void measure(const char* name, bool apart = true, uint32_t most = waves_of[std::size(waves_of) - 1]) {
    rows.push_back({name, {}});
    std::printf("| %s", name);
    for (const uint32_t waves : waves_of) {
      if (waves > gpu::share_of(most)) {
        std::printf(" | -");
        continue;
      }
      gpu::check(XIO_GPU(Memset)(words.near, 0, line * (waves + 1) * sizeof(uint64_t)), "words");
      std::fill_n(words.far, line * (waves + 1), 0);
      const uint32_t rounds = gpu::share_of(waves < 512 ? 64 : 24);
      repeat<Ordering><<<waves, gpu::wave_size()>>>(words, rounds, apart, ns, words.near + line * waves);
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
  std::printf(
      "%s: ns for each, one lane of each wave unless said otherwise; words are the wave's own unless they are one for "
      "all\n| waves",
      gpu::device_name().c_str());
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
  bench.measure<LoadCached>("a load, not coherent");
  bench.measure<LoadNear>("load, agent");
  bench.measure<LoadNear>("load, agent, one word for all", false);
  bench.measure<FetchAddNear>("fetch_add, agent");
  bench.measure<FetchAddNear>("fetch_add, agent, one word for all", false);
  bench.measure<CompareExchangeNear>("compare_exchange, agent");
  bench.measure<CompareExchangeNear>("compare_exchange, agent, one word for all", false);
  bench.measure<CompareExchangeAcquireNear>("compare_exchange_acquire, agent");
  bench.measure<ScatteredStores>("seven stores of each lane to its entry");
  bench.measure<ScatteredStoresReleaseSystem>("the same, release_system");
  bench.measure<ScatteredStoresFullFenceAgent>("the same, full_fence, agent");
  bench.measure<Together>("together, all lanes");
  bench.measure<Ballot>("together and ballot, all lanes");
  bench.measure<Broadcast>("together and broadcast, all lanes");
  bench.measure<Chain>("64 exclusive ors and additions, one after the other");
  bench.measure<WarmCode>("a call of 50 KB of code, the same as before", true, 32);
  bench.measure<ColdCode>("a call of 50 KB of code, after 350 KB of other code", true, 32);
  bench.measure<ExchangeNear>("exchange, agent");
  bench.measure<ExchangeNear>("exchange, agent, one word for all", false);
  bench.measure<LoadFar>("load, system, host memory");
  bench.measure<LoadFar>("load, system, host memory, one word for all", false);
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
