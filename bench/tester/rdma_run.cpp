// SPDX-License-Identifier: MIT
#include "tester/rdma_run.hpp"

#include <algorithm>

#include <xio/host/error.hpp>
#include <xio/host/statistics.hpp>
#include <xio/host/text.hpp>

#include "tester/errors.hpp"
#include "tester/interrupt.hpp"
#include "tester/json_report.hpp"

namespace tester {

namespace {

/// What went wrong beyond the single operations.
std::string trouble_of(const RdmaOptions& options, const RdmaResult& result) {
  if (!result.seen.violations.empty())
    return "the NIC found " + std::to_string(result.seen.violations.size()) +
           " violations, the first of them: " + result.seen.violations.front();
  if (result.gave_up)
    return "operations did not end within " + std::to_string(options.deadline_ms) + " ms (--deadline)";
  return result.failed != 0 ? "a queue pair is in error" : "";
}

}  // namespace

uint64_t RdmaReport::wrong() const {
  uint64_t sum = 0;
  for (const RdmaResult& result : results) sum += result.wrong_count;
  return sum;
}

int RdmaReport::exit_status() const {
  if (!trouble.empty() || wrong() != 0) return exit_failed;
  return interrupted ? exit_interrupted : exit_ok;
}

int run_rdma(const RdmaOptions& options) {
  check(options);
  check_json_file(options.json);
  const RdmaProvider provider = find_rdma_provider(options.provider);
  std::vector<RdmaPlan> plans;
  for (const uint64_t bytes : transfer_sizes(options)) plans.push_back(make_plan(options, provider, bytes));
  const Interrupt interrupt;
  RdmaReport report;
  report.options = &options;
  try {
    for (const RdmaPlan& plan : plans) {
      report.results.push_back(measure(options, provider, plan, &plan == &plans.back()));
      report.trouble = trouble_of(options, report.results.back());
      if (!report.trouble.empty() || Interrupt::requested()) break;
    }
  } catch (const xio::host::Error& failure) {
    report.trouble = failure.what();
  }
  report.interrupted = Interrupt::requested();
  print_tables(report);
  write_json(report);
  return report.exit_status();
}

Spread spread(const RdmaResult& result, double RdmaRun::* figure) {
  Spread all;
  xio::host::Moments moments;
  for (const RdmaRun& run : result.runs) {
    const double value = run.*figure;
    all.least = moments.count() == 0 ? value : std::min(all.least, value);
    all.most = std::max(all.most, value);
    moments.add(value);
  }
  all.mean = moments.mean();
  all.deviation = std::sqrt(moments.variance());
  return all;
}

std::string rdma_status_text(xio::Status status) {
  std::string text = xio::name(status.code);
  if (status.vendor != 0) text += " (device status " + xio::host::to_hex(status.vendor) + ")";
  return text;
}

const char* name_of(RdmaVerb verb) {
  switch (verb) {
    case RdmaVerb::read: return "read";
    case RdmaVerb::send: return "send";
    case RdmaVerb::fetch_add: return "fetch-add";
    case RdmaVerb::write: break;
  }
  return "write";
}

}  // namespace tester
