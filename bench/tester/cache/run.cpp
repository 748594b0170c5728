// SPDX-License-Identifier: MIT
#include "tester/cache/run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <xio/host/error.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/launch/choice.hpp"
#include "tester/launch/spin.hpp"
#include "tester/nvme/loss_watch.hpp"
#include "tester/nvme/run.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

/// The GPU, unless nobody asked for one and it does not fit the options or cannot reach the drives.
std::shared_ptr<xio::host::GpuRuntime> gpu_of(const TesterCacheOptions& options, const Targets& targets) {
  std::shared_ptr<xio::host::GpuRuntime> gpu = choose_executor(options.executor, options.gpu).gpu;
  if (!gpu || options.executor == Executor::gpu) return gpu;
  const uint32_t wave_size = options.wave_size != 0 ? options.wave_size : gpu->wave_size();
  const bool fits = lanes_fit(gpu->wave_size(), options.waves, wave_size);
  return fits && std::all_of(targets.begin(), targets.end(), gpu_reaches) ? gpu : nullptr;
}

Targets open_all(const TesterCacheOptions& o) {
  for (const std::string& spec : o.controllers)
    if (is_remote(spec)) throw BadInput("--controller " + spec + ": a page cache is for controllers on PCIe");
  if (o.controllers.size() > 1) return open_targets(o.controllers, o.deadline_ms);
  Targets one;
  one.push_back(open_target(o.controllers.front(), o.deadline_ms));
  return one;
}

xio::host::NvmeCache make_cache(const TesterCacheOptions& o, const Targets& targets, const ExecutorMemory& memory) {
  std::vector<xio::host::NvmeController*> controllers;
  for (const Target& one : targets) controllers.push_back(one.controller.get());
  xio::host::CacheOptions wanted;
  wanted.page_bytes = o.page_bytes;
  wanted.bytes = o.cache_bytes;
  wanted.ways = o.ways;
  wanted.queue.depth = o.queue_length;
  wanted.queue.nsid = targets.front().namespace_or(0);
  wanted.queues_per_drive = o.num_queues;
  return xio::host::make_cache(memory, std::move(controllers), wanted);
}

CachePlan make_plan(const TesterCacheOptions& o, const Targets& targets, const xio::host::NvmeCache& cache,
                    uint32_t gpu_wave_size) {
  const uint64_t held = cache.pages() * o.page_bytes;
  const uint64_t range = o.range_bytes != 0 ? o.range_bytes : std::min(4 * o.cache_bytes, held);
  if (range > held || range % 8 != 0)
    throw BadInput("--range " + std::to_string(range) + " is not accepted: a multiple of 8 is, to the " +
                   std::to_string(held) + " bytes of the drives");
  CachePlan plan;
  plan.content = {o.seed, range / 8, o.random};
  plan.waves = o.waves;
  plan.wave_size = o.wave_size != 0 ? o.wave_size : gpu_wave_size != 0 ? gpu_wave_size : 1;
  if (gpu_wave_size != 0) check_lanes(gpu_wave_size, plan.waves, plan.wave_size);
  if (std::all_of(targets.begin(), targets.end(), [](const Target& one) { return one.on_its_own(); }))
    plan.spin = spin_of(plan.waves);
  return plan;
}

void explain(CacheReport& report, bool gone) {
  const auto add = [&](const std::string& what) { report.trouble += (report.trouble.empty() ? "" : "; ") + what; };
  for (const Target& one : *report.targets) {
    if (gone && !one.alive()) add(one.loss());
    const std::string wrong = one.emulated != nullptr ? one.emulated->violations()->text() : "";
    if (!wrong.empty()) add("specification violated: " + wrong.substr(0, wrong.find('\n')));
  }
  if (report.phases.empty() || !report.phases.back().gave_up || !report.trouble.empty()) return;
  add("operations did not complete within " + std::to_string(report.options->deadline_ms) + " ms (--deadline)");
}

}  // namespace

int CacheReport::exit_status() const {
  if (interrupted) return exit_interrupted;
  const bool failed =
      std::any_of(phases.begin(), phases.end(), [](const CacheResult& one) { return one.failed_any(); });
  return failed || !trouble.empty() ? exit_failed : exit_ok;
}

CacheResult measure_gets(TesterCacheOptions options, const Targets& targets,
                         const std::shared_ptr<xio::host::GpuRuntime>& gpu, double seconds) {
  const ExecutorMemory memory(gpu);
  std::unique_ptr<GpuExecutor> executor;
  if (gpu) executor = std::make_unique<GpuExecutor>(gpu, KernelImage::cache);
  const xio::host::NvmeCache cache = make_cache(options, targets, memory);
  const CachePlan plan = make_plan(options, targets, cache, gpu ? gpu->wave_size() : 0);
  CacheRunner runner(options, plan, targets, memory, executor.get(), cache);
  const CacheResult warm = runner.run(CacheOperation::get);
  if (warm.failed_any() || warm.gave_up) return warm;
  options.gets = std::max(options.gets, static_cast<uint64_t>(warm.rate() * seconds));
  return runner.run(CacheOperation::get);
}

int run_cache(const TesterCacheOptions& options) {
  check_json_file(options.json);
  const Interrupt interrupt;
  const Targets targets = open_all(options);
  if (options.has(CacheOperation::put))
    for (const Target& one : targets) one.check_writable(0);
  const ExecutorMemory memory(gpu_of(options, targets));
  std::unique_ptr<GpuExecutor> executor;
  if (memory.gpu()) executor = std::make_unique<GpuExecutor>(memory.gpu(), KernelImage::cache);
  const xio::host::NvmeCache cache = make_cache(options, targets, memory);

  CacheReport report;
  report.options = &options;
  report.targets = &targets;
  report.cache = &cache;
  if (executor) report.executor = memory.gpu()->description();
  report.plan = make_plan(options, targets, cache, executor ? memory.gpu()->wave_size() : 0);
  CacheRunner runner(options, report.plan, targets, memory, executor.get(), cache);

  const auto alive = [&targets] {
    return std::all_of(targets.begin(), targets.end(), [](const Target& one) { return one.alive(); });
  };
  LossWatch watch(alive);
  for (const CacheOperation operation : options.operations) {
    if (Interrupt::requested()) break;
    report.phases.push_back(runner.run(operation));
    if (report.phases.back().gave_up) break;
  }
  const bool lost = watch.lost();
  report.interrupted = Interrupt::requested() && !lost;
  explain(report, lost || !alive());
  print_cache(report);
  write_cache(report);
  return report.exit_status();
}

}  // namespace tester
