// SPDX-License-Identifier: MIT
#include "tester/nvme/tables.hpp"

#include <algorithm>
#include <cstdio>

#include <xio/host/memory/placement.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/status_names.hpp>

#include "tester/cli/table.hpp"

namespace tester {

namespace {

const char* name_of(Direction direction) { return direction == Direction::write ? "write" : "read"; }

void heading(const NvmeReport& report, const std::string& text) {
  std::printf("\n%s (%s)\n", text.c_str(), heading_of(report.targets).c_str());
}

std::string sharing_text(const NvmePlan& plan) {
  const std::string lanes = std::to_string(plan.wave_size) + (plan.wave_size == 1 ? " lane" : " lanes");
  if (plan.sharing == xio::Sharing::thread) return "one thread for each queue";
  if (plan.sharing == xio::Sharing::wave) return "one wave of " + lanes + " for each queue";
  return std::to_string(plan.waves) + (plan.waves == 1 ? " wave of " : " waves of ") + lanes +
         (plan.waves == 1 ? " shares" : " share") + " each queue";
}

std::string batch_text(const NvmeReport& report) {
  const NvmePlan& plan = report.plan;
  if (plan.batch == 0) return "as many as fit";
  std::string text = std::to_string(plan.batch);
  if (plan.batch < report.options->batch_size)
    text += " (not " + std::to_string(report.options->batch_size) + ": the depth is less)";
  return text;
}

std::string doorbells_text(const NvmeReport& report) {
  if (report.plan.remote) return "of soft-RoCE, a system call each";
  return report.options->doorbell == DoorbellKind::shadow ? "shadow, in memory" : "mmio";
}

std::string content_text(const NvmeOptions& o, bool writes) {
  if (!writes && !(o.verify && o.written != 0)) return "not checked";
  return o.lfsr_seed ? "32-bit LFSR from seed " + std::to_string(*o.lfsr_seed) + " and the LBA"
                     : "a function of the LBA and seed " + std::to_string(o.seed);
}

std::string written_before(const NvmeOptions& o) {
  if (o.read_io == 0) return "not read";
  if (o.write_io != 0) return "by this run";
  return o.written != 0 ? "by an earlier run, according to --written" : "not known";
}

void print_setup(const NvmeReport& report) {
  const NvmeOptions& o = *report.options;
  const NvmePlan& plan = report.plan;
  const auto& info = report.target->info();
  const std::string ids =
      o.num_queues == 1 ? "id " + std::to_string(plan.first_queue_id)
                        : "ids " + std::to_string(plan.first_queue_id) + " to " + std::to_string(plan.last_queue_id);
  Table table;
  for (const Target* const one : report.targets)
    if (report.targets.size() > 1)
      table.add({"drive       " + one->spec + ": " + one->info().model + ", serial " + one->info().serial});
  if (report.targets.size() == 1) {
    table.add({"controller  " + info.model + ", firmware " + info.firmware + ", serial " + info.serial});
    table.add({"transport   " + report.target->transport()});
  }
  table.add({"namespace   " + std::to_string(plan.nsid) + ": " + std::to_string(plan.namespace_blocks) + " blocks of " +
             std::to_string(plan.block_bytes) + " bytes" +
             (plan.drives > 1 ? ", in stripes of " + std::to_string(plan.stripe_blocks) : "")});
  table.add({"queues      " + std::to_string(o.num_queues) + (plan.drives > 1 ? " on each drive (" : " (") + ids +
             "), length " + std::to_string(plan.queue_length) + " in rings of " +
             std::to_string(report.rings.sq_entries) + " and " + std::to_string(report.rings.cq_entries)});
  table.add({"depth       " + std::to_string(plan.depth) + " operations in flight on a queue"});
  table.add({"batch       " + batch_text(report) + ", entries for one doorbell"});
  table.add({"doorbells   " + doorbells_text(report)});
  table.add({"executor    " + (report.executor.empty() ? "host: the CPU emulates the GPU" : "gpu: " + report.executor) +
             ", " + sharing_text(plan)});
  table.add({"placement   mode " + std::to_string(o.memory_mode) + ": " + xio::host::placement_text(o.memory_mode)});
  if (!report.gpu.empty()) table.add({"GPU         " + report.gpu});
  std::string size = std::to_string(plan.pattern.blocks) + (plan.pattern.blocks == 1 ? " block" : " blocks") + " (" +
                     std::to_string(plan.operation_bytes) + " bytes)";
  if (plan.commands_per_operation > 1) size += " in " + std::to_string(plan.commands_per_operation) + " commands";
  table.add({"operations  " + size + ", " + (o.random ? "random" : "sequential") + " from LBA " +
             std::to_string(o.base_lba)});
  table.add({"data        " + content_text(o, o.write_io != 0)});
  table.add({"written     " + written_before(o)});
  table.add({"timing      " + std::string(o.less_timing ? "one clock reading for a batch" : "each operation") +
             (o.substep_timing ? ", and each step" : "")});
  if (report.targets.size() == 1)
    std::printf("nvme-ep on %s: %s\n", report.target->spec.c_str(), report.target->heading().c_str());
  else
    std::printf("nvme-ep on %zu controllers: %s\n", report.targets.size(), heading_of(report.targets).c_str());
  table.print();
}

template <class Cell>
std::vector<std::string> row(const NvmeReport& report, const std::string& title, Cell cell) {
  std::vector<std::string> cells{title};
  for (const PhaseResult& phase : report.phases) cells.push_back(cell(phase));
  return cells;
}

void print_figures(const NvmeReport& report) {
  heading(report, "figures");
  Table table;
  table.add(row(report, "", [](const PhaseResult& p) { return name_of(p.direction); }));
  table.add(row(report, "operations", [](const PhaseResult& p) { return grouped(p.completed); }));
  table.add_filled(row(report, "failed", [](const PhaseResult& p) { return p.failed == 0 ? "" : grouped(p.failed); }));
  table.add_filled(row(report, "rounds", [](const PhaseResult& p) {
    return p.repeated ? fixed(static_cast<double>(p.completed) / static_cast<double>(p.asked), 2) : "";
  }));
  table.add(row(report, "seconds", [](const PhaseResult& p) { return fixed(p.seconds, 3); }));
  table.add(row(report, "IOPS", [](const PhaseResult& p) { return fixed(p.iops(), 0); }));
  table.add(row(report, "MB/s", [](const PhaseResult& p) { return fixed(p.megabytes_per_second(), 1); }));
  for (const LatencyFigure& figure : latency_figures) {
    const bool first = &figure == latency_figures;
    table.add(row(report, std::string(first ? "latency us, " : "  ") + figure.name,
                  [&](const PhaseResult& p) { return latency_text(figure, p.latency); }));
  }
  const auto stored = [](const PhaseResult& p, uint64_t what) {
    return p.counted ? fixed(p.per_operation(what), 4) : std::string("-");
  };
  table.add(
      row(report, "doorbells per operation", [&](const PhaseResult& p) { return stored(p, p.sq_rings + p.cq_rings); }));
  table.add(row(report, "  SQ", [&](const PhaseResult& p) { return stored(p, p.sq_rings); }));
  table.add(row(report, "  CQ", [&](const PhaseResult& p) { return stored(p, p.cq_rings); }));
  if (report.options->doorbell == DoorbellKind::shadow)
    table.add(row(report, "  register stores", [&](const PhaseResult& p) { return stored(p, p.counts.mmio_stores); }));
  const std::string seen_by = seen_doorbells(report.targets).source;
  if (!seen_by.empty())
    table.add(row(report, "  seen by the other side",
                  [](const PhaseResult& p) { return fixed(p.per_operation(p.seen_rings), 4); }));
  table.add(row(report, "releases per operation", [&](const PhaseResult& p) { return stored(p, p.counts.releases); }));
  table.add(row(report, "atomics per operation", [&](const PhaseResult& p) { return stored(p, p.counts.atomics); }));
  const auto percent = [](double cpu, const PhaseResult& p) {
    return p.seconds > 0 ? fixed(100 * cpu / p.seconds, 0) : "-";
  };
  table.add(row(report, "CPU % user", [&](const PhaseResult& p) { return percent(p.usage.user, p); }));
  table.add(row(report, "CPU % system", [&](const PhaseResult& p) { return percent(p.usage.system, p); }));
  table.add(row(report, "CPU us per operation",
                [](const PhaseResult& p) { return p.completed == 0 ? "-" : fixed(p.cpu_us(), 2); }));
  table.print();
  std::printf("  Doorbells are counted where the queue code stores them%s%s%s.\n",
              report.executor.empty() ? "" : ", but not on a GPU", seen_by.empty() ? "" : "; the other side is ",
              seen_by.c_str());
  std::puts("  CPU time is this process's, kernels and helper threads included. Percentiles are exact to 1/128.");
}

/// A row for each drive, and their sum.
void print_drives(const NvmeReport& report) {
  for (const PhaseResult& phase : report.phases) {
    if (phase.drives.empty()) continue;
    heading(report, std::string(name_of(phase.direction)) + "s of each drive");
    Table table;
    table.add({"", "operations", "failed", "IOPS", "MB/s", "mean us", "p50 us", "p99 us"});
    const auto add = [&](const std::string& title, uint64_t failed, const Summary& latency) {
      const double rate = phase.seconds > 0 ? static_cast<double>(latency.count()) / phase.seconds : 0;
      table.add({title, grouped(latency.count()), grouped(failed), fixed(rate, 0),
                 fixed(rate * static_cast<double>(report.plan.operation_bytes) / 1e6, 1), microseconds(latency.mean()),
                 microseconds(latency.percentile(0.5)), microseconds(latency.percentile(0.99))});
    };
    for (size_t i = 0; i < phase.drives.size(); ++i)
      add(report.targets[i]->spec, phase.drives[i].failed, phase.drives[i].latency);
    add("sum", phase.failed, phase.latency);
    table.print();
  }
}

void print_steps(const NvmeReport& report) {
  static const char* const names[] = {"build", "enqueue", "SQ doorbell", "CQ poll", "CQ doorbell"};
  heading(report, "steps, ns per operation");
  Table table;
  table.add(row(report, "", [](const PhaseResult& p) { return name_of(p.direction); }));
  for (uint32_t i = 0; i < xio::telemetry::step_count; ++i)
    table.add(row(report, names[i], [&](const PhaseResult& p) { return fixed(step_ns(p, i), 1); }));
  table.add(row(report, "total", [](const PhaseResult& p) {
    double sum = 0;
    for (uint32_t i = 0; i < xio::telemetry::step_count; ++i) sum += step_ns(p, i);
    return fixed(sum, 1);
  }));
  table.print();
  std::puts("  CQ poll includes polls that found nothing. Each reading of the clock is part of the step that it ends.");
}

void print_histograms(const NvmeReport& report) {
  for (const PhaseResult& phase : report.phases) {
    heading(report, std::string(name_of(phase.direction)) + " latency");
    print_histogram(phase.latency);
  }
}

void print_errors(const NvmeReport& report) {
  for (const PhaseResult& phase : report.phases)
    for (const StatusCount& entry : phase.statuses)
      std::printf("%s error: %s, %s times, first at LBA %llu\n", name_of(phase.direction),
                  status_text(entry.status).c_str(), grouped(entry.count).c_str(),
                  static_cast<unsigned long long>(entry.first));
}

void print_smart(const NvmeReport& report) {
  const CrossCheck& check = report.smart;
  if (!check.wanted) return;
  std::printf("\ncounted by the drive%s: %s reads and %s writes; commands of this run: %s and %s\n",
              check.alone ? "" : " for all that use it", grouped(check.counted.reads).c_str(),
              grouped(check.counted.writes).c_str(), grouped(check.completed.reads).c_str(),
              grouped(check.completed.writes).c_str());
}

void print_verification(const NvmeReport& report) {
  const Verification& v = report.verification;
  if (!v.wanted) return;
  constexpr size_t most_lines = 32;
  std::printf("\nverified %llu of %llu blocks: %s\n", static_cast<unsigned long long>(v.verified),
              static_cast<unsigned long long>(v.expected), v.scope.c_str());
  for (size_t i = 0; i < std::min(v.faults.size(), most_lines); ++i)
    std::printf("  %s\n", describe(v.faults[i]).c_str());
  if (v.faults.size() > most_lines || !v.complete)
    std::printf("  and more: %s comparisons failed\n", grouped(v.wrong).c_str());
}

}  // namespace

double step_ns(const PhaseResult& phase, uint32_t step) {
  using xio::telemetry::Step;
  const double ns = phase.step_ns(static_cast<Step>(step));
  // The completion queue's doorbell is rung during polling.
  return static_cast<Step>(step) == Step::cq_poll ? ns - phase.step_ns(Step::cq_doorbell) : ns;
}

std::string status_text(xio::Status status) {
  std::string text = xio::name(status.code);
  if (status.vendor != 0)
    text += std::string(" (NVMe ") + xio::host::to_hex(status.vendor & 0x7ff, 3) + ", " +
            xio::nvme::status_name(status.vendor) + ")";
  return text;
}

void print_tables(const NvmeReport& report) {
  if (report.options->json == "-") return;  // standard output is used for JSON
  print_setup(report);
  if (!report.phases.empty()) print_figures(report);
  print_drives(report);
  if (report.options->substep_timing) print_steps(report);
  if (report.options->histogram) print_histograms(report);
  print_errors(report);
  print_verification(report);
  print_smart(report);
  if (report.interrupted) std::puts("\ninterrupted: these are partial results");
  if (!report.trouble.empty()) std::printf("\nended early: %s\n", report.trouble.c_str());
  std::fflush(stdout);
}

}  // namespace tester
