// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU executor as a device that runs scenarios: waves are threads, and so are the devices.

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include <xio/host/simt/simt.hpp>

#include <machine/core/gpu.hpp>
#include <scenarios/kernels/job.hpp>
#include <scenarios/kernels/kernel.hpp>

namespace executors {

using machine::Fault;

/// Steps the devices from a thread of its own while a kernel runs.
class SteppedDevices {
 public:
  SteppedDevices(const std::function<bool(machine::Random&)>& step, uint64_t seed)
      : thread_([this, &step, seed] {
          machine::Random random(seed);
          try {
            while (step && !ended_.load(std::memory_order_acquire))
              if (!step(random)) std::this_thread::yield();
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~SteppedDevices() { end(); }
  SteppedDevices(const SteppedDevices&) = delete;
  SteppedDevices& operator=(const SteppedDevices&) = delete;

  void end() {
    ended_.store(true, std::memory_order_release);
    if (thread_.joinable()) thread_.join();
  }
  /// The exception that stopped the devices, after end().
  std::exception_ptr error() const { return error_; }

 private:
  std::atomic<bool> ended_{false};
  std::exception_ptr error_;
  std::thread thread_;
};

/// A seed selects the order in which lanes and threads run; 1 and every fourth are in the order of the operating
/// system. Accesses are ordered as this CPU orders them: what only a GPU reorders is not seen here.
class Cpu final : public machine::Gpu {
 public:
  /// @param lanes  of a wave: 8, 32 or 64
  explicit Cpu(uint32_t lanes) : target_("cpu" + std::to_string(lanes)), lanes_(lanes) {}

  const std::string& target() const override { return target_; }
  uint32_t wave_size() const override { return lanes_; }
  std::vector<machine::KernelInfo> kernels() const override { return {}; }
  void start(uint64_t seed) override {
    seed_ = seed;
    counts = {};
  }
  void run(const std::string& kernel, const machine::Launch& launch) override {
    if (launch.argument_bytes == sizeof(scenarios::NvmeJob)) return run<scenarios::NvmeJob>(kernel, launch);
    run<scenarios::RdmaJob>(kernel, launch);
  }
  /// XIO_TESTS_PATIENCE in seconds, for runs that are to fail.
  uint64_t patience_ns() const override {
    const char* const seconds = std::getenv("XIO_TESTS_PATIENCE");
    return (seconds != nullptr ? std::strtoull(seconds, nullptr, 10) : 60) * 1'000'000'000;
  }

  // What a CPU's compiler orders is looked at by ThreadSanitizer.
  std::vector<machine::Mutation> mutations(const std::string& kernel) const override {
    static_cast<void>(kernel);
    return {};
  }
  void apply(const machine::Mutation& mutation) override { static_cast<void>(mutation); }
  void restore() override {}

 private:
  template <class Job>
  void run(const std::string& name, const machine::Launch& launch) {
    const auto found = scenarios::kernels<Job>().find(name);
    if (found == scenarios::kernels<Job>().end()) throw Fault("no kernel " + name);
    xio::simt::Grid grid;
    grid.blocks = launch.grid.x;
    grid.threads_per_block = launch.block.x;
    grid.wave_size = lanes_;
    grid.jitter_seed = seed_ % 4 == 1 ? 0 : seed_;
    grid.split_groups = seed_ % 4 == 3;
    SteppedDevices devices(step_devices, seed_);
    try {
      xio::simt::launch(grid, found->second, *static_cast<const Job*>(launch.arguments));
    } catch (const std::exception& error) {
      throw Fault(error.what());
    }
    devices.end();
    if (devices.error()) std::rethrow_exception(devices.error());
  }

  std::string target_;
  uint32_t lanes_;
};

}  // namespace executors
