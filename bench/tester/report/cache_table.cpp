// SPDX-License-Identifier: MIT
#include "tester/report/tables.hpp"

#include <xio/host/error.hpp>

#include "tester/cache/run.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/table.hpp"
#include "tester/report/figures.hpp"

namespace tester {

namespace {

constexpr uint64_t element_bytes = 8;

ReportRow cache_row(const ReportOptions& report, const Targets& targets,
                    const std::shared_ptr<xio::host::GpuRuntime>& gpu, const char* what, uint64_t range,
                    uint32_t lanes) {
  ReportRow row;
  row.shape.operation = what;
  row.shape.random = true;
  row.shape.bytes = element_bytes;
  row.shape.depth = lanes;
  TesterCacheOptions options;
  options.range_bytes = range;
  options.deadline_ms = report.deadline_ms;
  options.wave_size = lanes;
  CacheResult result;
  try {
    result = measure_gets(options, targets, gpu, report.row_seconds());
  } catch (const CannotRun& reason) {
    row.remark = one_line(reason.what());
    return row;
  } catch (const std::exception& failure) {
    row.remark = one_line(failure.what());
    row.failed = true;
    return row;
  }
  row.failed = result.failed_any();
  row.remark =
      row.failed ? "operations failed" : fixed(result.per_operation(result.cache.misses), 3) + " pages per get";
  if (result.completed == 0) return row;
  Figures f;
  f.operations = result.completed;
  f.seconds = result.seconds;
  f.iops = result.rate();
  f.mb_per_s = result.megabytes_per_second();
  set_latency(f, result.latency);
  set_usage(f, result.usage);
  if (result.counted) f.doorbells = result.per_operation(result.sq_rings + result.cq_rings);
  row.figures = f;
  row.iops_of_runs = {f.iops};
  return row;
}

}  // namespace

ReportTable run_cache_table(const ReportOptions& report, const Targets& targets,
                            const std::shared_ptr<xio::host::GpuRuntime>& gpu, uint64_t bytes) {
  ReportTable table{
      cache_table_id,
      "Page cache of 1 MiB: gets of 8 bytes by the lanes of a wave",
      {"operation", "depth", "min", "mean", "p50", "p99", "iops", "mb_per_s", "cpu_us", "doorbells", "remark"},
      {},
      heading_of(addresses_of(targets))};
  const uint64_t cached = TesterCacheOptions().cache_bytes;
  const uint64_t whole = bytes / element_bytes * element_bytes;
  const uint32_t wave = gpu ? gpu->wave_size() : 64;
  for (const uint32_t lanes : {1u, wave}) {
    if (!Interrupt::requested())
      table.rows.push_back(cache_row(report, targets, gpu, "hits", std::min(cached / 4, whole), lanes));
    if (!Interrupt::requested()) table.rows.push_back(cache_row(report, targets, gpu, "misses", whole, lanes));
  }
  return table;
}

}  // namespace tester
