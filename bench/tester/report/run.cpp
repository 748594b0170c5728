// SPDX-License-Identifier: MIT
#include "tester/report/options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include <xio/host/error.hpp>
#include <xio/host/gpu/find.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/machine.hpp"
#include "tester/nvme/buffer_placement.hpp"
#include "tester/nvme/run.hpp"
#include "tester/nvme/tables.hpp"
#include "tester/report/figures.hpp"
#include "tester/report/json_report.hpp"
#include "tester/report/plan.hpp"
#include "tester/report/tables.hpp"
#include "tester/report/write.hpp"

namespace tester {

namespace {

constexpr uint64_t fill_bytes = 128 * 1024;  // size of one write while filling the span

/// Blocks that the rows access.
struct Place {
  uint64_t base_lba = 0;
  uint64_t blocks = 0;
  uint32_t block_bytes = 0;
};

/// Target and executors of the rows.
struct Site {
  const Targets& targets;
  const ChosenExecutor& executor;
  const xio::host::FoundGpu& memory_gpu;  ///< for memory modes
};

Figures figures_of(const NvmeReport& report, bool steps) {
  const PhaseResult& phase = report.phases.back();
  Figures f;
  f.operations = phase.completed;
  f.seconds = phase.seconds;
  f.iops = phase.iops();
  f.mb_per_s = phase.megabytes_per_second();
  set_latency(f, phase.latency);
  set_usage(f, phase.usage);
  if (phase.counted) {
    f.doorbells = phase.per_operation(phase.sq_rings + phase.cq_rings);
    f.releases = phase.per_operation(phase.counts.releases);
  }
  if (steps) {
    f.steps.emplace();
    for (uint32_t i = 0; i < f.steps->size(); ++i) (*f.steps)[i] = step_ns(phase, i);
  }
  return f;
}

NvmeOptions options_of(const RowPlan& row, const ReportOptions& report, const Place& place,
                       const ChosenExecutor& executor) {
  NvmeOptions o;
  o.controllers = report.controllers;
  o.nsid = report.nsid;
  o.base_lba = place.base_lba;
  o.span_blocks = place.blocks;
  o.deadline_ms = report.deadline_ms;
  o.lbas_per_io = static_cast<uint32_t>(std::max<uint64_t>(row.shape.bytes / place.block_bytes, 1));
  o.random = row.shape.random;
  o.num_queues = row.shape.queues;
  o.depth = row.shape.depth;
  o.batch_size = row.shape.batch;
  o.memory_mode = row.shape.memory_mode;
  o.substep_timing = row.steps;
  // With fewer operations in flight than lanes, one lane issues all of them.
  if (executor.gpu && o.depth < executor.gpu->wave_size()) o.wave_size = 1;
  o.read_io = row.verify ? row.operations : std::max<uint64_t>(place.blocks / o.lbas_per_io, 1);
  if (row.verify) {
    o.write_io = row.operations;
    o.verify = true;
  } else {
    o.duration = row.duration;
  }
  return o;
}

/// Runs a row of xio once.
ReportRow run_xio(const RowPlan& plan, const ReportOptions& options, const Place& place, const Site& site) {
  ReportRow row;
  row.shape = plan.shape;
  const NvmeOptions wanted = options_of(plan, options, place, site.executor);
  const auto& memory_gpu = wanted.memory_mode == 0 ? nullptr : site.memory_gpu.runtime;
  if (wanted.memory_mode != 0 && !memory_gpu) {
    row.remark = "needs the memory of a GPU, and there is none (" + one_line(site.memory_gpu.why_none) + ")";
    return row;
  }
  try {
    check(wanted);
    const NvmeReport report = measure(wanted, site.targets, memory_gpu, site.executor);
    const int status = report.exit_status();
    row.failed = status == exit_failed;
    row.remark = report.trouble;
    if (!report.phases.empty() && report.phases.back().completed != 0) row.figures = figures_of(report, plan.steps);
    if (plan.verify)
      row.remark = "right: " + std::to_string(report.verification.verified) + " of " +
                   std::to_string(report.verification.expected) + " blocks";
    if (row.failed && row.remark.empty()) row.remark = "operations failed";
  } catch (const CannotRun& reason) {
    row.remark = one_line(reason.what());
  } catch (const BadInput& reason) {
    row.remark = one_line(reason.what());
  } catch (const xio::host::Error& failure) {
    row.remark = one_line(failure.what());
    row.failed = !std::all_of(site.targets.begin(), site.targets.end(),
                              [](const Target& one) { return one.controller->transport().alive(); });
  }
  return row;
}

/// The run with the median IOPS (the lower one of an even number); the first run if a run has no figures.
ReportRow median(std::vector<ReportRow> runs) {
  std::vector<double> rates;
  for (const ReportRow& run : runs) {
    if (!run.figures) return run;
    rates.push_back(run.figures->iops);
  }
  std::sort(runs.begin(), runs.end(),
            [](const ReportRow& a, const ReportRow& b) { return a.figures->iops < b.figures->iops; });
  const bool failed = std::any_of(runs.begin(), runs.end(), [](const ReportRow& run) { return run.failed; });
  ReportRow row = std::move(runs[(runs.size() - 1) / 2]);
  row.iops_of_runs = std::move(rates);
  row.failed = failed;
  return row;
}

class Reporter {
 public:
  explicit Reporter(const ReportOptions& options) : options_(options) {
    if (!options.controllers.empty()) {
      executor_ = choose_executor(options.executor, options.gpu);
      open();
      if (options.executor == Executor::automatic && !std::all_of(targets_.begin(), targets_.end(), gpu_reaches))
        executor_.gpu = nullptr;
      if (executor_.gpu) report_.executor = executor_.gpu->description();
      memory_gpu_ = executor_.gpu ? xio::host::FoundGpu{executor_.gpu, ""} : xio::host::find_gpu();
    }
    if (options.fio) find_device();
    rdma_ = open_rdma_targets(options);
    if (report_.executor.empty() && !rdma_.empty() && rdma_.front().options.executes)
      report_.executor = rdma_.front().options.executes->gpu()->description();
    const Machine machine = Machine::here();
    report_.machine = machine.text();
    report_.date = utc_date();
    report_.duration = options.row_seconds();
    report_.runs = options.runs;
    if (machine.emulated) everywhere_.emplace_back("guest under TCG: instructions for each operation, not a machine");
    if (!options.note.empty()) everywhere_.push_back(options.note);
  }

  const Report& run() {
    if (options_.write) fill();
    run_drive();
    if (options_.cache && options_.wants(cache_table_id) && !Interrupt::requested())
      report_.tables.push_back(run_cache_table(options_, targets_, executor_.gpu, place_.blocks * place_.block_bytes));
    if (!Interrupt::requested())
      for (ReportTable& table : run_rdma_tables(options_, rdma_)) report_.tables.push_back(std::move(table));
    if (options_.test_ep && options_.wants(endpoint_table_id) && !Interrupt::requested())
      report_.tables.push_back(run_endpoint_table(options_));
    if (options_.client && options_.wants(client_table_id) && !Interrupt::requested())
      report_.tables.push_back(run_client_table());
    std::vector<std::string> headings;
    for (ReportTable& table : report_.tables) {
      if (std::find(headings.begin(), headings.end(), table.heading) == headings.end())
        headings.push_back(table.heading);
      table.heading = joined({table.heading}, everywhere_);
    }
    if (headings.empty() && !drive_.empty()) headings.push_back(drive_);
    report_.heading = joined(headings, everywhere_);
    report_.interrupted = Interrupt::requested();
    return report_;
  }

  Report& report() { return report_; }

 private:
  static std::string joined(const std::vector<std::string>& first, const std::vector<std::string>& then) {
    std::string text;
    for (const auto* const part : {&first, &then})
      for (const std::string& words : *part) text += (text.empty() ? "" : "; ") + words;
    return text;
  }

  /// Runs the tables of the controller, and of fio on the kernel's device.
  void run_drive() {
    PlanBasis basis;
    basis.block_bytes = place_.block_bytes;
    basis.duration = report_.duration;
    basis.xio = !targets_.empty();
    basis.fio = options_.fio;
    basis.most_queues = most_queues_;
    for (const TablePlan& plan : plan_tables(basis)) {
      if (Interrupt::requested()) break;
      if (options_.wants(plan.id)) report_.tables.push_back(run_table(plan));
    }
  }

  /// A model for each latency.
  ReportTable run_client_table() const {
    ReportTable table{client_table_id,
                      "What xio adds to the latency of a device: reads of 4 KiB",
                      {"device_us", "depth", "batch", "p50", "p99", "added_p50", "added_p99", "iops", "remark"},
                      {},
                      "in-process model with that latency, its own work included"};
    for (const uint32_t us : {0u, 10u, 100u}) {
      const std::string model = us == 0 ? "emulated" : "emulated:delay=" + std::to_string(us);
      const Targets targets = open_targets({model}, options_.deadline_ms);
      Place place;
      const xio::host::NamespaceInfo info = targets.front().controller->identify_namespace(1);
      place.block_bytes = info.block_bytes;
      place.blocks = std::min<uint64_t>(info.blocks, options_.span / info.block_bytes);
      ReportOptions options = options_;
      options.controllers = {model};
      options.nsid = 1;
      PlanBasis basis;
      basis.block_bytes = info.block_bytes;
      basis.duration = report_.duration;
      for (const RowPlan& row : client_rows(basis, us)) {
        if (Interrupt::requested()) break;
        table.rows.push_back(run_xio(row, options, place, {targets, ChosenExecutor{}, memory_gpu_}));
        table.rows.back().iops_of_runs = {table.rows.back().figures ? table.rows.back().figures->iops : 0};
      }
    }
    return table;
  }

  void open() {
    targets_ = open_targets(options_.controllers, options_.deadline_ms);
    xio::host::NamespaceInfo info = targets_.front().controller->identify_namespace(options_.nsid);
    most_queues_ = targets_.front().controller->granted_queues();
    for (const Target& one : targets_) {
      info.blocks = std::min(info.blocks, one.controller->identify_namespace(options_.nsid).blocks);
      most_queues_ = std::min(most_queues_, one.controller->granted_queues());
      report_.device += (report_.device.empty() ? "" : ", ") + one.controller->info().model + " (" + one.spec + ")";
    }
    info.blocks *= targets_.size();
    place_.block_bytes = info.block_bytes;
    if (options_.base_lba >= info.blocks)
      throw BadInput("--base-lba " + std::to_string(options_.base_lba) + " is beyond the end; namespace " +
                     std::to_string(options_.nsid) + " has " + std::to_string(info.blocks) + " blocks");
    place_.base_lba = options_.base_lba;
    place_.blocks = std::min<uint64_t>(info.blocks - options_.base_lba, options_.span / info.block_bytes);
    if (place_.blocks == 0)
      throw BadInput("--span is less than a block of " + std::to_string(info.block_bytes) + " bytes");
    report_.blocks = options_.write ? "written by this run" : "not known to be written; --write fills them";
    drive_ = heading_of(addresses_of(targets_));
  }

  void find_device() {
    device_ = find_fio_device(options_.fio_device);
    if (!targets_.empty()) return;
    place_.block_bytes = device_->block_bytes;
    place_.base_lba = options_.base_lba;
    const uint64_t blocks = device_->bytes / device_->block_bytes;
    if (place_.base_lba >= blocks) throw BadInput("--base-lba is beyond the end of " + device_->node);
    place_.blocks = std::min<uint64_t>(blocks - place_.base_lba, options_.span / device_->block_bytes);
    report_.device = device_->model + " (" + device_->node + ")";
    report_.blocks = "not known to be written";
    drive_ = device_->model.compare(0, 4, "QEMU") == 0 ? "QEMU, not an SSD" : "drive " + device_->node;
  }

  void fill() {
    NvmeOptions o;
    o.controllers = options_.controllers;
    o.nsid = options_.nsid;
    o.base_lba = place_.base_lba;
    o.span_blocks = place_.blocks;
    o.lbas_per_io = static_cast<uint32_t>(std::clamp<uint64_t>(fill_bytes / place_.block_bytes, 1, place_.blocks));
    o.write_io = place_.blocks / o.lbas_per_io;
    o.depth = 8;
    o.batch_size = 1;
    o.deadline_ms = options_.deadline_ms;
    const NvmeReport filled = measure(o, targets_, nullptr, executor_);
    if (filled.exit_status() == exit_failed)
      throw Failed("filling " + std::to_string(place_.blocks) + " blocks failed" +
                   (filled.trouble.empty() ? std::string() : ": " + filled.trouble));
  }

  ReportTable run_table(const TablePlan& plan) const {
    ReportTable table{plan.id, plan.title, plan.columns, {}, drive_};
    for (const RowPlan& row : plan.rows) {
      if (Interrupt::requested()) break;
      table.rows.push_back(run_row(row));
    }
    return table;
  }

  ReportRow run_row(const RowPlan& plan) const {
    if (plan.verify && !options_.write) {
      ReportRow row;
      row.shape = plan.shape;
      row.remark = "not run, since it writes: give --write";
      return row;
    }
    std::vector<ReportRow> runs;
    do {
      runs.push_back(run_once(plan));
    } while (runs.back().figures && runs.size() < report_.runs && !Interrupt::requested());
    return median(std::move(runs));
  }

  ReportRow run_once(const RowPlan& plan) const {
    if (plan.engine == nullptr) return run_xio(plan, options_, place_, {targets_, executor_, memory_gpu_});
    FioJob job;
    job.shape = plan.shape;
    job.offset = place_.base_lba * place_.block_bytes;
    job.span = place_.blocks * place_.block_bytes;
    job.duration = plan.duration;
    return run_fio(*plan.engine, *device_, job);
  }

  const ReportOptions& options_;
  ChosenExecutor executor_;
  xio::host::FoundGpu memory_gpu_;
  Targets targets_;
  uint32_t most_queues_ = 1;
  std::optional<FioDevice> device_;
  Place place_;
  std::vector<RdmaTarget> rdma_;
  std::string drive_;                    // what the controller's figures measure
  std::vector<std::string> everywhere_;  // notes of all headings
  Report report_;
};

}  // namespace

int Report::exit_status() const {
  for (const ReportTable& table : tables)
    for (const ReportRow& row : table.rows)
      if (row.failed) return exit_failed;
  return interrupted ? exit_interrupted : exit_ok;
}

int run_report(const ReportOptions& options) {
  check(options);
  check_json_file(options.json);
  make_report_folder(options.output);
  const std::string earlier = earlier_report(options.fio_results);
  const Interrupt interrupt;
  Reporter reporter(options);
  reporter.run();
  Report& report = reporter.report();
  if (!earlier.empty()) add_fio_rows(report, earlier, options.tables.empty());
  for (ReportTable& table : report.tables) name_sides(table);
  if (options.json != "-") std::fputs(to_markdown(report).c_str(), stdout);
  std::fflush(stdout);
  write_report_files(report, options.output);
  write_json_text(options.json, to_json(report));
  return report.exit_status();
}

}  // namespace tester
