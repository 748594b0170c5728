// SPDX-License-Identifier: MIT
#include "tester/kv/run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <xio/host/error.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/launch/choice.hpp"
#include "tester/nvme/loss_watch.hpp"
#include "tester/nvme/run.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

bool changes_values(const KvOptions& options) {
  return std::any_of(options.operations.begin(), options.operations.end(),
                     [](KvOperation one) { return one == KvOperation::store || one == KvOperation::remove; });
}

/// The GPU, unless nobody asked for one and it does not fit the options or cannot reach the controller.
std::shared_ptr<xio::host::GpuRuntime> gpu_of(const KvOptions& options, const Target& target) {
  std::shared_ptr<xio::host::GpuRuntime> gpu = choose_executor(options.executor, options.gpu).gpu;
  if (!gpu || options.executor == Executor::gpu) return gpu;
  const uint32_t wave_size = options.wave_size != 0 ? options.wave_size : gpu->wave_size();
  return lanes_fit(gpu->wave_size(), options.waves, wave_size) && gpu_reaches(target) ? gpu : nullptr;
}

void add_trouble(KvReport& report, const std::string& what) {
  report.trouble += (report.trouble.empty() ? "" : "; ") + what;
}

void explain(KvReport& report, bool gone) {
  const Target& target = *report.target;
  if (gone) add_trouble(report, target.loss());
  if (target.emulated != nullptr) {
    const std::string wrong = target.emulated->violations()->text();
    if (!wrong.empty()) add_trouble(report, "specification violated: " + wrong.substr(0, wrong.find('\n')));
  }
  if (report.phases.empty() || !report.phases.back().gave_up || !report.trouble.empty()) return;
  add_trouble(report,
              "operations did not complete within " + std::to_string(report.options->deadline_ms) + " ms (--deadline)");
}

}  // namespace

int KvReport::exit_status() const {
  if (interrupted) return exit_interrupted;
  const bool failed = std::any_of(phases.begin(), phases.end(), [](const KvResult& one) { return one.failed_any(); });
  return failed || !trouble.empty() ? exit_failed : exit_ok;
}

int run_kv(const KvOptions& options) {
  check_json_file(options.json);
  const Interrupt interrupt;
  const Target target = open_target(options.controller, options.deadline_ms, true);
  if (changes_values(options)) target.check_writable(options.nsid);
  const ExecutorMemory memory(gpu_of(options, target));
  std::unique_ptr<GpuExecutor> executor;
  if (memory.gpu()) executor = std::make_unique<GpuExecutor>(memory.gpu(), KernelImage::kv);

  KvReport report;
  report.options = &options;
  report.target = &target;
  if (executor) report.executor = memory.gpu()->description();
  report.plan = make_kv_plan(options, target, executor ? memory.gpu()->wave_size() : 0);
  xio::host::DmaBuffer data = memory.share(
      target.controller->allocate(report.plan.buffer_bytes * report.plan.lanes_per_queue() * options.num_queues));
  const std::vector<xio::host::NvmeQueue> queues = create_kv_queues(options, report.plan, target, memory);
  KvRunner runner(options, report.plan, target, memory, executor.get(), queues, std::move(data));

  LossWatch watch([&target] { return target.controller->alive(); });
  for (const KvOperation operation : options.operations) {
    if (Interrupt::requested()) break;
    report.phases.push_back(runner.run(operation));
    if (report.phases.back().gave_up) break;
  }
  const bool lost = watch.lost();
  report.interrupted = Interrupt::requested() && !lost;
  explain(report, lost || !target.controller->alive());
  print_kv(report);
  write_kv(report);
  return report.exit_status();
}

}  // namespace tester
