// SPDX-License-Identifier: MIT
#include "tester/report/tables.hpp"

#include <algorithm>

#include <xio/host/error.hpp>

#include "tester/cli/interrupt.hpp"
#include "tester/launch/choice.hpp"
#include "tester/launch/memory.hpp"
#include "tester/nvme/endpoint.hpp"
#include "tester/report/figures.hpp"

namespace tester {

namespace {

constexpr uint64_t first_trips = 1000;  // to estimate how many fit in a row's time

ReportRow endpoint_row(const ReportOptions& report, const ExecutorMemory& memory, Announcement mode, uint32_t batch) {
  ReportRow row;
  row.shape.operation = mode == Announcement::polling ? "polling" : "doorbell";
  row.shape.bytes = sizeof(Message);
  row.shape.depth = batch;
  row.shape.batch = batch;
  EndpointOptions options;
  options.mode = mode;
  options.batch_size = batch;
  options.deadline_ms = report.deadline_ms;
  options.iterations = first_trips;
  EndpointOutcome outcome;
  try {
    const double trips = measure(options, memory).rate() * report.row_seconds();
    options.iterations = std::max(first_trips, static_cast<uint64_t>(trips));
    outcome = measure(options, memory);
  } catch (const xio::host::Error& failure) {
    row.remark = one_line(failure.what());
    row.failed = true;
    return row;
  }
  row.failed = outcome.exit_status() == exit_failed;
  if (outcome.late) row.remark = "an answer did not come within " + std::to_string(report.deadline_ms) + " ms";
  if (outcome.wrong != 0) row.remark = "answers were wrong";
  if (outcome.trips == 0) return row;
  Figures f;
  f.operations = outcome.trips;
  f.seconds = outcome.seconds;
  f.iops = outcome.rate();
  f.mb_per_s = outcome.rate() * sizeof(Message) / 1e6;
  set_latency(f, outcome.latency);
  set_usage(f, outcome.usage);
  if (!memory.gpu()) f.doorbells = outcome.doorbells();
  row.figures = f;
  row.iops_of_runs = {f.iops};
  return row;
}

}  // namespace

ReportTable run_endpoint_table(const ReportOptions& report) {
  ReportTable table{
      endpoint_table_id,
      "Software endpoint: round trips of 64-byte messages, which IOPS counts",
      {"operation", "batch", "min", "mean", "std", "max", "p50", "p99", "iops", "cpu_us", "doorbells", "remark"},
      {},
      "software endpoint, not a device"};
  const ExecutorMemory memory(choose_executor(report.executor, report.gpu).gpu);
  for (const Announcement mode : {Announcement::polling, Announcement::doorbell})
    for (const uint32_t batch : {1u, 16u})
      if (!Interrupt::requested()) table.rows.push_back(endpoint_row(report, memory, mode, batch));
  return table;
}

}  // namespace tester
