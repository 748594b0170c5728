// SPDX-License-Identifier: MIT
// The clocks of the GPU's processors among themselves, and the GPU's clock beside the CPU's: order and rate. The kernels
// are those of xio-tester clock-test.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gpu/runtime.hpp>
#include <tester/clock/check.hpp>
#include <tester/clock/kernel.hpp>
#include <xio/host/clock.hpp>

namespace gpu {

template <bool Fenced>
__global__ void collect(tester::ClockProbe probe) {
  if (threadIdx.x == 0) tester::collect_clocks<Fenced>(probe, blockIdx.x);
}

__global__ void relay(tester::ClockRelay one) {
  if (threadIdx.x == 0) (void)tester::relay_clocks(one, 1);
}

__global__ void read_clock(uint64_t* tick) {
  if (threadIdx.x != 0) return;
  tick[0] = xio::arch::fenced_clock();
  tick[1] = xio::arch::clock_hz;
}

}  // namespace gpu

namespace {

constexpr uint32_t blocks = 32;
constexpr uint64_t per_block = 5000;
constexpr uint64_t turns = 2000;
constexpr uint64_t limit_seconds = 20;

template <class T>
T* host_array(size_t count) {
  T* const all = static_cast<T*>(gpu::allocate_host(count * sizeof(T)));
  for (size_t i = 0; i < count; ++i) all[i] = T{};
  return all;
}

int failures = 0;
void judge(bool right, const char* what) {
  std::printf("%s %s\n", right ? "ok     " : "FAILED:", what);
  failures += right ? 0 : 1;
}

// The word lies in memory of the GPU, where its atomics are atomic whatever the bus.
template <bool Fenced>
tester::ClockOrder order_of_blocks(uint64_t limit_ticks) {
  tester::ClockProbe probe{};
  probe.sequence = gpu::allocate_device<uint64_t>(1);
  probe.arrived = gpu::allocate_device<uint64_t>(1);
  probe.threads = blocks;
  probe.entries = host_array<tester::ClockEntry>(blocks * per_block);
  probe.made = host_array<uint64_t>(blocks);
  probe.per_thread = per_block;
  probe.limit_ticks = limit_ticks;
  gpu::collect<Fenced><<<blocks, 1>>>(probe);
  gpu::synchronize();
  const tester::ClockOrder order = check_order(readings_of(probe, blocks));
  std::printf("%s readings: %llu, handed over %llu times, %llu ties, %llu went back, by at most %llu ticks\n",
              Fenced ? "fenced" : "plain", static_cast<unsigned long long>(order.readings),
              static_cast<unsigned long long>(order.handovers), static_cast<unsigned long long>(order.ties),
              static_cast<unsigned long long>(order.backward), static_cast<unsigned long long>(order.worst));
  return order;
}

// This side of xio::arch is the GPU's in a HIP source; the CPU's turn is written out.
bool take_turns(const tester::ClockRelay& relay) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(limit_seconds);
  for (uint64_t turn = 0; turn < relay.turns; turn += 2) {
    while (__atomic_load_n(relay.turn, __ATOMIC_ACQUIRE) < turn) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    relay.entries[turn] = {turn, xio::host::detail::raw_nanoseconds()};
    __atomic_store_n(relay.turn, turn + 1, __ATOMIC_SEQ_CST);
  }
  return true;
}

}  // namespace

int main() {
  if (gpu::device_count() == 0) {
    std::printf("skipped: no GPU here\n");
    return 77;
  }
  std::printf("%s\n", gpu::device_name().c_str());
  auto* const tick = host_array<uint64_t>(2);
  const auto read = [tick] {
    gpu::read_clock<<<1, 1>>>(tick);
    gpu::synchronize();
    return *const_cast<volatile uint64_t*>(tick);
  };
  (void)read();
  const xio::host::ClockRate rate = xio::host::measure_clock_rate(read, std::chrono::milliseconds(500));
  const xio::host::ClockRate again = xio::host::measure_clock_rate(read, std::chrono::milliseconds(500));
  std::printf("rate: %.0f Hz, then %.0f Hz, uncertain by %.1f ppm; kernels count on %llu Hz\n", rate.hz, again.hz,
              rate.uncertainty * 1e6, static_cast<unsigned long long>(tick[1]));
  const uint64_t limit_ticks = limit_seconds * rate.rounded();
  const double apart = rate.hz / again.hz - 1;
  const double open = 500e-6 + rate.uncertainty + again.uncertainty;
  judge(apart < open && -apart < open, "the rate is constant");

  const tester::ClockOrder fenced = order_of_blocks<true>(limit_ticks);
  judge(fenced.readings == blocks * per_block && fenced.gaps == 0, "every reading has its place");
  judge(fenced.handovers > 0, "blocks took turns");
  judge(fenced.backward == 0, "fenced readings of all blocks go forward");
  (void)order_of_blocks<false>(limit_ticks);  // what it shows is for people

  const tester::ClockRelay relay{host_array<uint64_t>(1), host_array<tester::ClockEntry>(turns), turns,
                                 limit_ticks};
  gpu::relay<<<1, 1>>>(relay);
  const bool came = take_turns(relay);
  gpu::synchronize();
  judge(came && *relay.turn == turns, "GPU and CPU took all turns");
  const auto offset = check_offset(readings_of(relay, 0), 1, readings_of(relay, 1), 1e9 / rate.hz);
  judge(offset.has_value(), "their clocks can be compared");
  if (offset) {
    const double span = static_cast<double>(relay.entries[turns - 2].tick - relay.entries[0].tick);
    std::printf("the GPU's clock is ahead by %.0f to %.0f ns\n", offset->least, offset->most);
    judge(offset->consistent(span * (rate.uncertainty + 500e-6) + 1e9 / rate.hz), "GPU and CPU show one time");
  }
  return failures == 0 ? 0 : 1;
}
