// SPDX-License-Identifier: MIT
#include "tester/rdma/run.hpp"

#include <algorithm>
#include <optional>

#include <xio/host/error.hpp>
#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/nearest.hpp"
#include "tester/launch/choice.hpp"
#include "tester/launch/launcher.hpp"
#include "tester/nvme/buffer_placement.hpp"
#include "tester/rdma/role.hpp"
#include "tester/rdma/session.hpp"
#include "tester/rdma/verbs.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

std::string trouble_of(const RdmaOptions& options, const RdmaResult& result) {
  if (!result.lost.empty()) return result.lost;
  if (!result.seen.violations.empty())
    return "the other side of the queues found " + std::to_string(result.seen.violations.size()) +
           " violations, the first of them: " + result.seen.violations.front();
  if (result.gave_up)
    return "operations did not complete within " + std::to_string(options.deadline_ms) + " ms (--deadline)";
  return result.failed != 0 ? "a queue pair is in error" : "";
}

RdmaProvider choose_provider(RdmaOptions& options) {
  if (options.device == rdma_emulated) {
    if (options.provider.empty()) options.provider = "mlx5";
    return find_rdma_provider(options.provider);
  }
  RdmaProvider provider = verbs_provider(options.device);
  if (!options.provider.empty() && options.provider != provider.name)
    throw BadInput("--provider " + options.provider + ": " + options.device + " is a device of " + provider.name +
                   "; omit it, or give --device " + rdma_emulated);
  options.provider = provider.name;
  return provider;
}

namespace {

/// For one of two processes, for which emulated NICs are unsuitable: chooses the nearest verbs device if none is given.
void choose_device(const std::optional<Launcher>& launcher, RdmaOptions& options) {
  const bool launched = launcher && launcher->size > 1 && !options.loopback_given;
  if (options.device_given || !(options.server || options.client || launched)) return;
  const Choice choice = choose_rdma_device(xio::host::Topology());
  if (choice.name.empty()) return;
  announce("--device", choice);
  options.device = choice.name;
}

}  // namespace

void choose_processor(RdmaOptions& options) {
  const bool asked = options.executor == Executor::gpu;
  if (options.executor == Executor::host || options.device != rdma_emulated) return;
  // Completions in host memory may become visible before data in GPU memory.
  const bool early = options.memory_mode != 0 && options.verify;
  if ((early || options.substep_timing) && !asked) return;
  const ChosenExecutor chosen = choose_executor(options.executor, options.gpu_number);
  if (!chosen.gpu) return;
  if (early)
    throw CannotRun("--memory-mode " + std::to_string(options.memory_mode) +
                    ": completions in host memory may become visible before data in GPU memory; omit --verify");
  if (!asked && !lanes_fit(chosen.gpu->wave_size(), options.waves, options.wave_size)) return;
  check_lanes(chosen.gpu->wave_size(), options.waves, options.wave_size);
  options.executes = std::make_shared<GpuExecutor>(chosen.gpu, KernelImage::rdma);
}

namespace {

/// Adds results until one of them rules out further runs.
void measure_all(const std::vector<RdmaPlan>& plans, RdmaSession* session, RdmaReport& report) {
  for (const RdmaPlan& plan : plans) {
    const bool last = &plan == &plans.back();
    report.results.push_back(session != nullptr ? session->measure(*report.provider, plan, last)
                                                : measure(*report.options, *report.provider, plan, last));
    report.trouble = trouble_of(*report.options, report.results.back());
    // Both nodes must end in the same way: only state known to both counts.
    report.interrupted = session != nullptr ? session->interrupted() : Interrupt::requested();
    report.interrupted_there = session != nullptr && session->interrupted_there();
    if (!report.trouble.empty() || report.interrupted) return;
  }
}

}  // namespace

uint64_t RdmaReport::wrong() const {
  uint64_t sum = 0;
  for (const RdmaResult& result : results) sum += result.wrong_count;
  return sum;
}

bool RdmaReport::verified_nothing() const {
  return options->verify &&
         std::any_of(results.begin(), results.end(), [](const RdmaResult& one) { return one.checked == 0; });
}

int RdmaReport::exit_status() const {
  if (!trouble.empty() || wrong() != 0) return exit_failed;
  if (interrupted) return exit_interrupted;
  return verified_nothing() ? exit_failed : exit_ok;
}

int run_rdma(const RdmaOptions& given) {
  RdmaOptions options = given;
  const std::optional<Launcher> launcher = find_launcher();
  choose_device(launcher, options);
  resolve_role(options, launcher);
  check(options);
  // A launcher passes the same file name to both processes.
  if (options.launched && options.role == RdmaRole::server) options.json.clear();
  check_json_file(options.json);
  choose_processor(options);
  options.gpu = gpu_for_mode(options.memory_mode, options.executes ? options.executes->gpu() : nullptr);
  const RdmaProvider provider = choose_provider(options);
  // A client on this machine connects to 127.0.0.1.
  if (options.listen.empty() && !provider.address.empty()) options.listen = {provider.address, "127.0.0.1"};
  std::vector<RdmaPlan> plans;
  for (const uint64_t bytes : transfer_sizes(options)) plans.push_back(make_plan(options, provider, bytes));
  // Until a run can be reported, Ctrl-C ends the program.
  std::optional<RdmaSession> session;
  if (options.role != RdmaRole::alone) session.emplace(options);
  const Interrupt interrupt;
  RdmaReport report;
  report.options = &options;
  report.provider = &provider;
  try {
    measure_all(plans, session ? &*session : nullptr, report);
  } catch (const xio::host::Error& failure) {
    report.trouble = failure.what();
  }
  print_tables(report);
  write_json(report);
  if (report.verified_nothing() && report.exit_status() == exit_failed) complain_of_verification();
  return report.exit_status();
}

Spread spread(const RdmaResult& result, double RdmaRun::* figure) {
  std::vector<double> values;
  for (const RdmaRun& run : result.runs) values.push_back(run.*figure);
  return spread_of(values);
}

std::string rdma_status_text(xio::Status status) {
  std::string text = xio::name(status.code);
  if (status.vendor != 0) text += " (device status " + xio::host::to_hex(status.vendor) + ")";
  return text;
}

}  // namespace tester
