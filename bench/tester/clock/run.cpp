// SPDX-License-Identifier: MIT
#include "tester/clock/run.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

#include <xio/host/simt/simt.hpp>
#include <xio/host/topology/place.hpp>

#include "tester/measure/zeroed_array.hpp"

namespace tester {

namespace {

constexpr uint64_t limit_seconds = 60;

/// Pins the calling thread to one processor for the lifetime of the object.
class OnProcessor {
 public:
  explicit OnProcessor(uint32_t processor) {
    saved_ = ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_) == 0;
    if (!saved_ || processor >= CPU_SETSIZE) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
  }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;
  ~OnProcessor() {
    if (saved_) ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool saved_ = false;
};

uint32_t processor_of(const std::vector<uint32_t>& processors, uint32_t thread) {
  return processors.empty() ? CPU_SETSIZE : processors[thread % processors.size()];
}

/// Alternates readings between the first and the last processor.
std::optional<ClockOffset> run_relay(const std::vector<uint32_t>& processors, uint32_t threads) {
  constexpr uint64_t turns = 500;
  constexpr double tick_ns = 1e9 / static_cast<double>(xio::arch::clock_hz);
  if (threads < 2) return std::nullopt;
  uint64_t turn = 0;
  std::vector<ClockEntry> entries(turns);
  const ClockRelay relay{&turn, entries.data(), turns, limit_seconds * xio::arch::clock_hz};
  const auto kernel = [&processors, threads](const ClockRelay& one) {
    const uint32_t side = xio::arch::block_index();
    const OnProcessor here(processor_of(processors, side == 0 ? 0 : threads - 1));
    relay_clocks(one, side);
  };
  xio::simt::launch(xio::simt::Grid::of_waves(2, 1, 1), kernel, relay);
  return check_offset(readings_of(relay, 0), tick_ns, readings_of(relay, 1), tick_ns);
}

class HostClockReader final : public ClockReader {
 public:
  uint64_t now() override { return xio::arch::clock(); }

  std::vector<ClockReading> read_order(const ClockOptions& options, uint32_t threads) override {
    const std::vector<uint32_t> processors = xio::host::usable_processors();
    uint64_t sequence = 0;
    uint64_t arrived = 0;
    std::vector<uint64_t> made(threads);
    const ZeroedArray<ClockEntry> entries(options.readings * threads);
    const ClockProbe probe{&sequence,
                           &arrived,
                           threads,
                           entries.data(),
                           made.data(),
                           options.readings,
                           limit_seconds * xio::arch::clock_hz};
    xio::simt::Grid grid = xio::simt::Grid::of_waves(threads, 1, 1);
    grid.resident_waves = threads;
    const auto kernel = [&processors, fenced = options.fenced](const ClockProbe& one) {
      const uint32_t number = xio::arch::block_index();
      const OnProcessor here(processor_of(processors, number));
      fenced ? collect_clocks<true>(one, number) : collect_clocks<false>(one, number);
    };
    xio::simt::launch(grid, kernel, probe);
    return readings_of(probe, threads);
  }

  ClockRun run(const ClockOptions& options) override {
    constexpr uint32_t readings = 10000;
    const std::vector<uint32_t> processors = xio::host::usable_processors();
    ClockRun run;
    run.fenced = options.fenced;
    run.threads =
        options.threads != 0 ? options.threads : std::max<uint32_t>(1, static_cast<uint32_t>(processors.size()));
    run.readings = read_order(options, run.threads);
    run.offset = run_relay(processors, run.threads);
    ClockCost cost{};
    time_clock(&cost, readings, 5);
    constexpr double tick_ns = 1e9 / static_cast<double>(xio::arch::clock_hz);
    run.plain_ns = static_cast<double>(cost.plain) * tick_ns / readings;
    run.fenced_ns = static_cast<double>(cost.fenced) * tick_ns / readings;
    return run;
  }
};

}  // namespace

std::unique_ptr<ClockReader> host_clock_reader() { return std::make_unique<HostClockReader>(); }

}  // namespace tester
