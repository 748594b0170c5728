// SPDX-License-Identifier: MIT
#include "tester/report/columns.hpp"

#include <stdexcept>

#include "tester/cli/table.hpp"
#include "tester/measure/spread.hpp"

namespace tester {

namespace {

/// A figure with `Digits` decimals.
template <double Figures::* Member, int Digits>
std::string figure(const ReportRow& row) {
  return row.figures ? fixed((*row.figures).*Member, Digits) : "";
}

/// A figure that not every row has, with `Digits` decimals.
template <std::optional<double> Figures::* Member, int Digits>
std::string later_figure(const ReportRow& row) {
  if (!row.figures) return "";
  const std::optional<double>& value = (*row.figures).*Member;
  return value ? fixed(*value, Digits) : "";
}

template <size_t Step>
std::string step(const ReportRow& row) {
  if (!row.figures || !row.figures->steps) return "";
  if constexpr (Step < std::tuple_size_v<std::array<double, 5>>) {
    return fixed((*row.figures->steps)[Step], 1);
  } else {
    double sum = 0;
    for (const double one : *row.figures->steps) sum += one;
    return fixed(sum, 1);
  }
}

std::string submitter(const ReportRow& row) { return row.shape.submitter; }
std::string operation(const ReportRow& row) { return row.shape.operation; }
std::string pattern(const ReportRow& row) { return row.shape.random ? "random" : "sequential"; }
std::string bytes(const ReportRow& row) { return std::to_string(row.shape.bytes); }
std::string queues(const ReportRow& row) { return std::to_string(row.shape.queues); }
std::string depth(const ReportRow& row) { return std::to_string(row.shape.depth); }
std::string batch(const ReportRow& row) { return row.shape.batch == 0 ? "any" : std::to_string(row.shape.batch); }
std::string mode(const ReportRow& row) { return std::to_string(row.shape.memory_mode); }
std::string operations(const ReportRow& row) { return row.figures ? std::to_string(row.figures->operations) : ""; }
std::string cpu_us(const ReportRow& row) { return row.figures ? fixed(row.figures->cpu_us(), 2) : ""; }
std::string placement(const ReportRow& row) { return row.shape.placement; }
std::string device_us(const ReportRow& row) { return row.shape.device_us ? fixed(*row.shape.device_us, 0) : ""; }
/// A latency without the device's own.
std::string added(const ReportRow& row, const std::optional<double>& latency) {
  return row.shape.device_us && latency ? fixed(*latency - *row.shape.device_us, 2) : "";
}
std::string added_p50(const ReportRow& row) { return row.figures ? added(row, row.figures->p50) : ""; }
std::string added_p99(const ReportRow& row) { return row.figures ? added(row, row.figures->p99) : ""; }
/// Population standard deviation over the runs of a row; empty for a single run.
std::string spread_of_runs(const ReportRow& row, double factor, int digits) {
  if (row.iops_of_runs.size() < 2) return "";
  return fixed(spread_of(row.iops_of_runs).deviation * factor, digits);
}
std::string iops_spread(const ReportRow& row) { return spread_of_runs(row, 1, 0); }
std::string mb_spread(const ReportRow& row) {
  return spread_of_runs(row, static_cast<double>(row.shape.bytes) / 1e6, 1);
}
std::string runs(const ReportRow& row) { return std::to_string(row.iops_of_runs.size()); }
std::string remark(const ReportRow& row) { return row.remark; }

}  // namespace

const std::vector<Column>& all_columns() {
  static const std::vector<Column> columns = {
      {"submitter", "submitter", submitter},
      {"operation", "operation", operation},
      {"pattern", "pattern", pattern},
      {"bytes", "bytes", bytes},
      {"queues", "queues", queues},
      {"depth", "depth", depth},
      {"batch", "batch", batch},
      {"mode", "memory mode", mode},
      {"placement", "queues in", placement},
      {"runs", "runs", runs},
      {"operations", "operations", operations},
      {"seconds", "s", figure<&Figures::seconds, 3>},
      {"iops", "IOPS", figure<&Figures::iops, 0>},
      {"iops_std", "IOPS std", iops_spread},
      {"mb_per_s", "MB/s", figure<&Figures::mb_per_s, 1>},
      {"mb_std", "MB/s std", mb_spread},
      {"min", "min us", figure<&Figures::min, 2>},
      {"mean", "mean us", figure<&Figures::mean, 2>},
      {"std", "std us", figure<&Figures::std, 2>},
      {"max", "max us", figure<&Figures::max, 2>},
      {"device_us", "device us", device_us},
      {"p50", "p50 us", figure<&Figures::p50, 2>},
      {"p90", "p90 us", later_figure<&Figures::p90, 2>},
      {"p99", "p99 us", later_figure<&Figures::p99, 2>},
      {"p99.9", "p99.9 us", later_figure<&Figures::p999, 2>},
      {"p99.99", "p99.99 us", later_figure<&Figures::p9999, 2>},
      {"added_p50", "added p50 us", added_p50},
      {"added_p99", "added p99 us", added_p99},
      {"user", "user %", figure<&Figures::cpu_user, 1>},
      {"system", "system %", figure<&Figures::cpu_system, 1>},
      {"cpu_us", "CPU us per operation", cpu_us},
      {"doorbells", "doorbells per operation", later_figure<&Figures::doorbells, 4>},
      {"releases", "releases per operation", later_figure<&Figures::releases, 4>},
      {"build", "build", step<0>},
      {"enqueue", "enqueue", step<1>},
      {"sq_doorbell", "SQ doorbell", step<2>},
      {"cq_poll", "CQ poll", step<3>},
      {"cq_doorbell", "CQ doorbell", step<4>},
      {"total", "total", step<5>},
      {"remark", "remark", remark}};
  return columns;
}

const Column& column(const std::string& id) {
  for (const Column& one : all_columns())
    if (one.id == id) return one;
  throw std::logic_error("no column " + id);
}

}  // namespace tester
