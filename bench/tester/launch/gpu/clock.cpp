// SPDX-License-Identifier: MIT

/// @file
/// @brief clock-test on a GPU.

#include <algorithm>
#include <chrono>
#include <string>

#include <xio/host/clock.hpp>

#include "tester/cli/errors.hpp"
#include "tester/clock/run.hpp"
#include "tester/launch/gpu/images.hpp"
#include "tester/launch/memory.hpp"

namespace tester {

namespace {

constexpr uint64_t limit_seconds = 20;
constexpr std::chrono::seconds answer_limit(30);

class GpuClockReader final : public ClockReader {
 public:
  explicit GpuClockReader(std::shared_ptr<xio::host::GpuRuntime> gpu)
      : memory_(std::move(gpu)),
        module_(load_image(memory_.gpu(), KernelImage::basic)),
        plain_(module_->kernel<ClockProbe>("clock_order_plain")),
        fenced_(module_->kernel<ClockProbe>("clock_order_fenced")),
        relay_(module_->kernel<ClockRelay>("clock_relay")),
        cost_(module_->kernel<ClockCost*, uint32_t, uint32_t>("clock_cost")),
        work_(memory_.gpu()),
        reading_(memory_, 1) {}

  uint64_t now() override {
    cost_.launch(work_, xio::host::GpuGrid{1, 1, 0}, reading_.executor(), 0, 0);
    finish("reading the clock");
    return reading_[0].now;
  }

  std::vector<ClockReading> read_order(const ClockOptions& options, uint32_t threads) override {
    // The words are in GPU memory, where the GPU's atomics do not depend on the bus.
    const MirroredArray<uint64_t> words(memory_, 2);
    const MirroredArray<uint64_t> made(memory_, threads);
    const MirroredArray<ClockEntry> entries(memory_, options.readings * threads);
    ClockProbe probe{words.executor(), words.executor() + 1, threads,      entries.executor(),
                     made.executor(),  options.readings,     limit_ticks()};
    words.push();
    made.push();
    (options.fenced ? fenced_ : plain_).launch(work_, xio::host::GpuGrid{threads, 1, 0}, probe);
    finish("readings in their order");
    made.pull();
    entries.pull();
    probe.entries = entries.data();
    probe.made = made.data();
    return readings_of(probe, threads);
  }

  ClockRun run(const ClockOptions& options) override {
    ClockRun run;
    run.fenced = options.fenced;
    run.one_clock = false;
    const uint32_t fitting = plain_.resident_blocks(1);
    run.threads = options.threads != 0 ? options.threads : std::min<uint32_t>(32, fitting);
    if (run.threads > fitting)
      throw BadInput("--threads " + std::to_string(run.threads) + " do not run on this GPU at the same time; " +
                     std::to_string(fitting) + " do");
    run.readings = read_order(options, run.threads);
    run.offset = take_turns();
    constexpr uint32_t readings = 1000;
    cost_.launch(work_, xio::host::GpuGrid{1, 1, 0}, reading_.executor(), readings, 5);
    finish("the cost of readings");
    run.plain_ns = static_cast<double>(reading_[0].plain) * tick_ns() / readings;
    run.fenced_ns = static_cast<double>(reading_[0].fenced) * tick_ns() / readings;
    return run;
  }

 private:
  double tick_ns() const { return 1e9 / static_cast<double>(memory_.clock_hz()); }
  uint64_t limit_ticks() const { return limit_seconds * memory_.clock_hz(); }

  void finish(const char* what) {
    if (work_.wait(answer_limit)) return;
    work_.abandon();
    throw Failed(std::string("the GPU does not finish: ") + what);
  }

  std::optional<ClockOffset> take_turns() {
    constexpr uint64_t turns = 500;
    const SharedArray<uint64_t> turn(memory_, 1);
    const SharedArray<ClockEntry> entries(memory_, turns);
    relay_.launch(work_, xio::host::GpuGrid{1, 1, 0},
                  ClockRelay{turn.executor(), entries.executor(), turns, limit_ticks()});
    const ClockRelay here{turn.begin(), entries.begin(), turns, limit_seconds * xio::arch::clock_hz};
    const bool came = relay_clocks(here, 0);
    finish("turns with the host");
    if (!came) throw Failed("the GPU and the host did not take turns");
    return check_offset(readings_of(here, 0), 1e9 / static_cast<double>(xio::arch::clock_hz), readings_of(here, 1),
                        tick_ns());
  }

  ExecutorMemory memory_;
  std::unique_ptr<xio::host::GpuModule> module_;
  xio::host::GpuKernel<ClockProbe> plain_;
  xio::host::GpuKernel<ClockProbe> fenced_;
  xio::host::GpuKernel<ClockRelay> relay_;
  xio::host::GpuKernel<ClockCost*, uint32_t, uint32_t> cost_;
  xio::host::GpuWork work_;
  SharedArray<ClockCost> reading_;
};

}  // namespace

std::unique_ptr<ClockReader> gpu_clock_reader(std::shared_ptr<xio::host::GpuRuntime> gpu) {
  return std::make_unique<GpuClockReader>(std::move(gpu));
}

}  // namespace tester
