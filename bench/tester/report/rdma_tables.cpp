// SPDX-License-Identifier: MIT
#include "tester/report/tables.hpp"

#include <algorithm>
#include <list>
#include <memory>

#include <xio/host/error.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/rdma/run.hpp"
#include "tester/report/figures.hpp"

namespace tester {

namespace {

constexpr uint32_t runs_of_a_row = 10;  // each with its own seed

/// A kind of table; each target contributes rows.
struct RdmaTableKind {
  const char* id;
  const char* title;
  std::vector<std::string> columns;
  std::vector<uint64_t> sizes;
  bool immediate = false;
  bool placement = false;  ///< one row per possible queue placement
};

const std::vector<RdmaTableKind>& rdma_kinds() {
  static const std::vector<std::string> figures = {"min",    "mean",      "std",    "max",  "p50",
                                                   "p99",    "mb_per_s",  "mb_std", "iops", "iops_std",
                                                   "cpu_us", "doorbells", "remark"};
  const auto with = [](std::vector<std::string> first) {
    first.insert(first.end(), figures.begin(), figures.end());
    return first;
  };
  static const std::vector<RdmaTableKind> all = {{"rdma-write",
                                                  "RDMA write, one in flight, 10 runs",
                                                  with({"submitter", "bytes"}),
                                                  {256, 1024, 4096, 65536, 1048576}},
                                                 {"rdma-immediate",
                                                  "RDMA write with immediate data alone, one in flight, 10 runs",
                                                  with({"submitter", "bytes"}),
                                                  {0},
                                                  true},
                                                 {"rdma-placement",
                                                  "RDMA queue memory placement, writes, 10 runs",
                                                  with({"submitter", "placement", "bytes"}),
                                                  {4096},
                                                  false,
                                                  true}};
  return all;
}

Figures rdma_figures(const RdmaResult& result) {
  Figures f;
  f.operations = result.completed;
  f.seconds = result.seconds;
  f.iops = spread(result, &RdmaRun::per_second).mean;
  f.mb_per_s = spread(result, &RdmaRun::megabytes_per_second).mean;
  set_latency(f, result.latency);
  set_usage(f, result.usage);
  if (result.counted) {
    f.doorbells = result.per_operation(result.doorbells);
    f.releases = result.per_operation(result.counts.releases);
  }
  return f;
}

/// A row that is being measured.
class RunningRow {
 public:
  RunningRow(const RdmaTarget& target, const RdmaTableKind& kind, uint64_t bytes)
      : target_(target), options_(target.options) {
    row_.shape.submitter = "xio, " + target.name;
    row_.shape.operation = kind.immediate ? "write with immediate data" : "write";
    row_.shape.bytes = bytes;
    if (kind.placement) row_.shape.placement = "host memory";
    options_.write_imm = kind.immediate;
    attempt([&] {
      check(options_);
      plan_ = make_plan(options_, target_.provider, bytes);
      measurement_ = std::make_unique<RdmaMeasurement>(options_, target_.provider, plan_, true);
    });
    more_ = measurement_ != nullptr;
  }

  /// One more run, unless an earlier one rules it out.
  void run() {
    if (!more_) return;
    more_ = false;
    attempt([this] {
      more_ = measurement_->run();
      measurement_->pause();
    });
  }

  ReportRow finished() {
    if (!row_.remark.empty()) return row_;
    const RdmaResult& result = measurement_->result();
    if (result.runs.empty()) {
      row_.remark = "interrupted before its first run";
      return row_;
    }
    if (result.completed != 0) row_.figures = rdma_figures(result);
    for (const RdmaRun& run : result.runs) row_.iops_of_runs.push_back(run.per_second);
    row_.remark = trouble_of(options_, result);
    if (result.wrong_count != 0) row_.remark = "wrong: " + result.wrong.front();
    row_.failed = !row_.remark.empty();
    if (!row_.failed) row_.remark = "what arrived was compared";
    return row_;
  }

 private:
  template <class Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (const CannotRun& reason) {
      row_.remark = one_line(reason.what());
    } catch (const BadInput& reason) {
      row_.remark = one_line(reason.what());
    } catch (const xio::host::Error& failure) {
      row_.remark = one_line(failure.what());
      row_.failed = true;
    }
  }

  const RdmaTarget& target_;
  RdmaOptions options_;
  RdmaPlan plan_;
  std::unique_ptr<RdmaMeasurement> measurement_;
  ReportRow row_;
  bool more_ = false;
};

/// A row for each target. The runs go round the targets: what else the machine does meanwhile meets all of them.
std::vector<ReportRow> rows_of_size(const std::vector<RdmaTarget>& targets, const RdmaTableKind& kind, uint64_t bytes) {
  std::list<RunningRow> running;
  for (const RdmaTarget& target : targets) running.emplace_back(target, kind, bytes);
  for (uint32_t i = 0; i < runs_of_a_row; ++i)
    for (RunningRow& one : running)
      if (!Interrupt::requested()) one.run();
  std::vector<ReportRow> rows;
  for (RunningRow& one : running) rows.push_back(one.finished());
  return rows;
}

/// Row without figures for queues in GPU memory: neither the model nor the driver places queues there.
ReportRow no_vram_row(const RdmaTarget& target, uint64_t bytes) {
  ReportRow row;
  row.shape.submitter = "xio, " + target.name;
  row.shape.operation = "write";
  row.shape.bytes = bytes;
  row.shape.placement = "GPU memory";
  row.remark = "the model or the device's driver places queues in host memory";
  return row;
}

std::string heading_of(const std::vector<RdmaTarget>& targets) {
  std::vector<std::string> headings;
  std::string text;
  for (const RdmaTarget& one : targets) {
    if (std::find(headings.begin(), headings.end(), one.provider.heading) != headings.end()) continue;
    headings.push_back(one.provider.heading);
    text += (text.empty() ? "" : "; ") + one.provider.heading;
  }
  return text;
}

}  // namespace

std::vector<std::string> rdma_providers() { return rdma_provider_names(); }

std::vector<std::string> rdma_table_ids() {
  std::vector<std::string> ids;
  for (const RdmaTableKind& kind : rdma_kinds()) ids.emplace_back(kind.id);
  return ids;
}

std::vector<RdmaTarget> open_rdma_targets(const ReportOptions& report) {
  std::vector<RdmaTarget> targets;
  const std::vector<std::string> emulated = rdma_providers();
  for (const std::string& name : report.rdma) {
    RdmaOptions options;
    options.verify = true;
    options.runs = runs_of_a_row;
    options.duration = report.row_seconds() / runs_of_a_row;
    options.deadline_ms = report.deadline_ms;
    options.executor = report.executor;
    options.gpu_number = report.gpu;
    const bool is_device = std::find(emulated.begin(), emulated.end(), name) == emulated.end();
    (is_device ? options.device : options.provider) = name;
    std::string instead = "; emulated are ";
    for (const std::string& one : emulated) instead += one + ", ";
    instead += "and all of them with --rdma all";
    try {
      check(options);
      choose_processor(options);
      RdmaProvider provider = choose_provider(options);
      targets.push_back({name, std::move(options), std::move(provider)});
    } catch (const CannotRun& reason) {
      throw CannotRun("--rdma " + name + ": " + reason.what() + (is_device ? instead : ""));
    } catch (const BadInput& reason) {
      throw BadInput("--rdma " + name + ": " + reason.what() + (is_device ? instead : ""));
    }
  }
  return targets;
}

std::vector<ReportTable> run_rdma_tables(const ReportOptions& report, const std::vector<RdmaTarget>& targets) {
  std::vector<ReportTable> tables;
  if (targets.empty()) return tables;
  for (const RdmaTableKind& kind : rdma_kinds()) {
    if (!report.wants(kind.id) || Interrupt::requested()) continue;
    ReportTable table{kind.id, kind.title, kind.columns, {}, heading_of(targets)};
    std::vector<std::vector<ReportRow>> sizes;
    for (const uint64_t bytes : kind.sizes)
      if (!Interrupt::requested()) sizes.push_back(rows_of_size(targets, kind, bytes));
    for (size_t i = 0; i < targets.size(); ++i) {
      for (const std::vector<ReportRow>& rows : sizes) {
        table.rows.push_back(rows[i]);
        if (kind.placement) table.rows.push_back(no_vram_row(targets[i], rows[i].shape.bytes));
      }
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace tester
