// SPDX-License-Identifier: MIT
#include "tester/nvme/run.hpp"

#include <algorithm>

#include <xio/host/error.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/nearest.hpp"
#include "tester/launch/gpu/executor.hpp"
#include "tester/launch/spin.hpp"
#include "tester/nvme/buffer_placement.hpp"
#include "tester/nvme/loss_watch.hpp"
#include "tester/nvme/phase_runner.hpp"
#include "tester/nvme/tables.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

/// Expected contents that this run's reads can be compared with.
std::string scope_of(const NvmeOptions& o) {
  if (!o.verify) return "not requested";
  if (o.write_io != 0) return "blocks that this run wrote";
  return "blocks of the first " + std::to_string(o.written) + " operations, written by an earlier run";
}

void run_phases(const NvmeOptions& options, PhaseRunner& runner, NvmeReport& report) {
  const bool repeat = options.infinite || options.duration > 0;
  const NvmePlan& plan = report.plan;
  if (options.write_io != 0 && !Interrupt::requested())
    report.phases.push_back(
        runner.run(Direction::write, options.write_io, plan.pattern, false, repeat && options.read_io == 0));
  if (options.read_io == 0 || Interrupt::requested()) return;
  if (!report.phases.empty() && report.phases.back().gave_up) return;
  const uint64_t known = options.write_io != 0 ? options.write_io : options.written;
  const AccessPattern pattern = known != 0 ? plan.pattern.revisiting(known, options.seed) : plan.pattern;
  report.phases.push_back(runner.run(Direction::read, options.read_io, pattern, known != 0, repeat));
}

void cross_check(const CommandCounts& before, const CommandCounts& after, NvmeReport& report) {
  CrossCheck& check = report.smart;
  check.wanted = true;
  check.alone = std::all_of(report.targets.begin(), report.targets.end(),
                            [](const Target* one) { return one->kernel_shared == nullptr; });
  check.counted = {after.reads - before.reads, after.writes - before.writes};
  for (const PhaseResult& phase : report.phases) check.add(phase, report.plan.commands_per_operation);
}

/// Without --controller, chooses the nearest controller bound to vfio-pci.
void choose_controller(NvmeOptions& options) {
  if (!options.controllers.empty()) return;
  const Choice choice = tester::choose_controller(xio::host::Topology());
  if (choice.name.empty())
    throw BadInput(std::string("no controller: give --controller; ") + xio::host::nvme_spec_forms + " are accepted");
  announce("--controller", choice);
  options.controllers = {choice.name};
}

/// Whether a GPU may be chosen that was not requested.
bool takes_gpu(const NvmeOptions& options, const Targets& targets, const xio::host::GpuRuntime& gpu) {
  const uint32_t wave_size = options.wave_size != 0 ? options.wave_size : gpu.wave_size();
  return lanes_fit(gpu.wave_size(), options.waves, wave_size) &&
         std::all_of(targets.begin(), targets.end(), gpu_reaches);
}

/// The kernels of the GPU that was chosen; null: the CPU runs them.
std::unique_ptr<GpuExecutor> load_kernels(const ChosenExecutor& chosen, KernelImage image, NvmeReport& report) {
  if (!chosen.gpu) return nullptr;
  report.executor = chosen.gpu->description();
  return std::make_unique<GpuExecutor>(chosen.gpu, image);
}

CommandCounts counts_of(const std::vector<const Target*>& targets) {
  CommandCounts sum;
  for (const Target* const one : targets) {
    const CommandCounts counts = command_counts(*one->controller);
    sum.reads += counts.reads;
    sum.writes += counts.writes;
  }
  return sum;
}

/// Runs the phases, and explains what went wrong.
void run(const NvmeOptions& options, PhaseRunner& runner, NvmeReport& report) {
  const CommandCounts before = options.smart ? counts_of(report.targets) : CommandCounts{};
  const auto is_alive = [](const Target* one) { return one->alive(); };
  const auto alive = [&report, is_alive] {
    return std::all_of(report.targets.begin(), report.targets.end(), is_alive);
  };
  LossWatch watch(alive);
  try {
    run_phases(options, runner, report);
    report.verification.wanted = options.verify;
    report.verification.scope = scope_of(options);
    for (const PhaseResult& phase : report.phases) explain(report.plan, phase, report.verification);
  } catch (const xio::host::Error& failure) {
    report.trouble = failure.what();
  }
  const bool lost = watch.lost();
  report.interrupted = Interrupt::requested() && !lost;
  const auto add_trouble = [&report](const std::string& what) {
    report.trouble += (report.trouble.empty() ? "" : "; ") + what;
  };
  const bool gone = lost || !alive();
  const auto add_trouble_of = [&](const Target& one, const std::string& what) {
    add_trouble(report.targets.size() > 1 ? one.spec + ": " + what : what);
  };
  for (const Target* const one : report.targets)
    if (gone && (report.targets.size() == 1 || !is_alive(one))) add_trouble_of(*one, one->loss());
  if (options.smart && !gone) {
    try {
      cross_check(before, counts_of(report.targets), report);
      if (const std::string wrong = report.smart.trouble(); !wrong.empty()) add_trouble(wrong);
    } catch (const xio::host::Error& failure) {
      add_trouble(failure.what());
    }
  }
  for (const Target* const one : report.targets) {
    if (one->emulated == nullptr) continue;
    const std::string wrong = one->emulated->violations()->text();
    if (!wrong.empty()) add_trouble_of(*one, "specification violated: " + wrong.substr(0, wrong.find('\n')));
  }
  const bool gave_up = std::any_of(report.phases.begin(), report.phases.end(), [](const auto& p) { return p.gave_up; });
  if (gave_up && gone) {
    add_trouble("operations then in flight did not complete");
  } else if (gave_up && report.trouble.empty()) {
    add_trouble("operations did not complete within " + std::to_string(options.deadline_ms) + " ms (--deadline)");
  }
}

/// The namespace that the specs name, if one does.
uint32_t namespace_of(const Targets& targets) {
  uint32_t named = 0;
  for (const Target& one : targets) {
    if (one.nsid == 0) continue;
    if (named != 0 && one.nsid != named)
      throw BadInput("the controllers name namespaces " + std::to_string(named) + " and " + std::to_string(one.nsid) +
                     "; a run over several uses one number on each");
    named = one.nsid;
  }
  return named;
}

}  // namespace

bool gpu_reaches(const Target& target) { return target.pci() == nullptr && !target.remote; }

int NvmeReport::exit_status() const {
  if (interrupted) return exit_interrupted;
  if (!trouble.empty() || verification.failed()) return exit_failed;
  for (const PhaseResult& phase : phases)
    if (phase.failed != 0) return exit_failed;
  return exit_ok;
}

NvmeReport measure(const NvmeOptions& options, const Target& target, const std::shared_ptr<xio::host::GpuRuntime>& gpu,
                   const ChosenExecutor& chosen) {
  NvmeReport report;
  const ExecutorMemory memory(chosen.gpu);
  const std::unique_ptr<GpuExecutor> executor = load_kernels(chosen, KernelImage::basic, report);
  report.options = &options;
  report.target = &target;
  report.targets = {&target};
  report.plan = make_plan(options, {&target}, chosen.gpu ? chosen.gpu->wave_size() : 0);
  if (target.on_its_own()) report.plan.spin = spin_of(uint64_t{options.num_queues} * options.waves);
  BufferPlacement buffers(options.memory_mode, gpu, target, memory);
  report.gpu = buffers.gpu();
  const std::vector<xio::host::NvmeQueue> queues = create_queues(options, report.plan, *target.controller, buffers);
  report.rings = queues.front().plan();
  PhaseRunner runner(options, report.plan, report.targets, memory, executor.get(), handles_of(queues),
                     DataPlace::of_drive(memory, buffers.data(report.plan.data_bytes)));
  run(options, runner, report);
  return report;
}

/// On a controller behind RDMA, by the CPU.
static NvmeReport measure_remote(const NvmeOptions& options, const Target& target) {
  NvmeReport report;
  const ExecutorMemory memory;
  report.options = &options;
  report.target = &target;
  report.targets = {&target};
  report.plan = make_plan(options, report.targets, 0);
  create_remote_queues(options, report.plan, *target.remote);
  report.rings = target.remote->rings();
  PhaseRunner runner(options, report.plan, report.targets, memory, nullptr, target.remote->handles(),
                     DataPlace::of_remote(*target.remote));
  run(options, runner, report);
  return report;
}

static NvmeReport measure_several(const NvmeOptions& options, const Targets& targets, const ChosenExecutor& chosen) {
  NvmeReport report;
  const ExecutorMemory memory(chosen.gpu);
  const std::unique_ptr<GpuExecutor> executor = load_kernels(chosen, KernelImage::drives, report);
  std::vector<xio::host::NvmeController*> controllers;
  for (const Target& one : targets) controllers.push_back(one.controller.get());
  report.options = &options;
  report.target = &targets.front();
  report.targets = addresses_of(targets);
  report.plan = make_plan(options, report.targets, chosen.gpu ? chosen.gpu->wave_size() : 0);
  report.plan.spin = spin_of(uint64_t{options.num_queues} * options.waves);
  const xio::host::NvmeDriveSet set = create_drive_set(options, report.plan, controllers, memory);
  report.rings = set.queues().front().plan();
  PhaseRunner runner(options, report.plan, report.targets, memory, executor.get(), handles_of(set.queues()),
                     DataPlace::of_drives(memory, set, report.plan.data_bytes));
  run(options, runner, report);
  return report;
}

NvmeReport measure(const NvmeOptions& options, const Targets& targets,
                   const std::shared_ptr<xio::host::GpuRuntime>& gpu, const ChosenExecutor& executor) {
  if (targets.size() > 1) return measure_several(options, targets, executor);
  const Target& target = targets.front();
  return target.remote ? measure_remote(options, target) : measure(options, target, gpu, executor);
}

int run_nvme(const NvmeOptions& given) {
  NvmeOptions options = given;
  check(options);
  choose_controller(options);
  check_json_file(options.json);
  const bool remote = is_remote(options.controllers.front());
  if (remote) options.executor = Executor::host;
  ChosenExecutor chosen = choose_executor(options.executor, options.gpu);
  const std::shared_ptr<xio::host::GpuRuntime> gpu = gpu_for_mode(options.memory_mode, chosen.gpu);
  const Interrupt interrupt;
  Targets targets;
  if (remote) {
    targets.push_back(open_remote(options.controllers.front(), options.deadline_ms));
  } else {
    targets = open_targets(options.controllers, options.deadline_ms);
  }
  if (options.nsid == 0) options.nsid = namespace_of(targets);
  for (const Target& one : targets) {
    if (one.stores_values(options.nsid))
      throw BadInput("namespace " + std::to_string(one.namespace_or(options.nsid)) + " of " + one.spec +
                     " stores values under keys and has no blocks; xio-tester kv-ep is for those");
    if (options.write_io != 0) one.check_writable(options.nsid);
  }
  if (options.executor == Executor::automatic && chosen.gpu && !takes_gpu(options, targets, *chosen.gpu))
    chosen.gpu = nullptr;
  const NvmeReport report = measure(options, targets, gpu, chosen);
  print_tables(report);
  write_json(report);
  if (report.verification.idle() && report.exit_status() == exit_failed) complain_of_verification();
  return report.exit_status();
}

}  // namespace tester
