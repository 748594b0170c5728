// SPDX-License-Identifier: MIT

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>
#include <xio/host/clock.hpp>
#include <xio/host/topology/topology.hpp>
#include <xio/host/wait.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/clock/check.hpp"
#include "tester/clock/run.hpp"
#include "tester/launch/choice.hpp"
#include "tester/launch/memory.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

constexpr uint32_t intervals = 5;
/// Allowed relative difference of two rates of a clock, beyond the measurement uncertainty: NTP slews by this much.
constexpr double steady = 500e-6;
/// Allowed deviation from the nominal rate: deadlines tolerate 1 %.
constexpr double far_off = 0.01;

/// Handovers between threads needed for a significant result.
constexpr uint64_t enough_handovers = 1000;

struct RateReport {
  std::vector<xio::host::ClockRate> rates;
  double hz = 0;
  double spread = 0;       ///< relative difference of the slowest and the fastest rate
  double uncertainty = 0;  ///< largest uncertainty of a rate
  bool constant() const { return spread <= steady + 2 * uncertainty; }
  double nominal = static_cast<double>(xio::arch::clock_hz);
  double off_nominal() const { return hz / nominal - 1; }
};

RateReport measure_rates(ClockReader& reader, uint64_t nominal_hz, uint32_t interval_ms) {
  RateReport report;
  report.nominal = static_cast<double>(nominal_hz);
  double least = 0, most = 0, sum = 0;
  for (uint32_t i = 0; i < intervals; ++i) {
    report.rates.push_back(
        xio::host::measure_clock_rate([&] { return reader.now(); }, std::chrono::milliseconds(interval_ms)));
    const xio::host::ClockRate& one = report.rates.back();
    least = i == 0 ? one.hz : std::min(least, one.hz);
    most = i == 0 ? one.hz : std::max(most, one.hz);
    sum += one.hz;
    report.uncertainty = std::max(report.uncertainty, one.uncertainty);
  }
  report.hz = sum / intervals;
  report.spread = (most - least) / report.hz;
  return report;
}

/// Whose clocks were read, and why not a GPU's.
std::string heading_of(const ChosenExecutor& chosen) {
  if (chosen.gpu) return "the clocks of " + chosen.gpu->description();
  const std::string why = chosen.why_not_gpu.empty() ? "" : chosen.why_not_gpu + ": ";
  return why + "the clocks of this machine's processors, through the kernel that a GPU runs";
}

std::string parts_per_million(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ppm", part * 1e6);
  return text;
}

void print_report(const ClockRun& run, const ClockOrder& order, const RateReport& rate, bool fenced) {
  std::printf(
      "rate        %.0f Hz, uncertain by %s; %u intervals differ by %s; kernels count on %llu Hz unless the handle "
      "says otherwise\n",
      rate.hz, parts_per_million(rate.uncertainty).c_str(), intervals, parts_per_million(rate.spread).c_str(),
      static_cast<unsigned long long>(rate.nominal));
  std::printf("reading     %.1f ns, fenced %.1f ns\n", run.plain_ns, run.fenced_ns);
  if (run.offset)
    std::printf("turns       the clocks of %s differ by %.0f to %.0f ns\n",
                run.one_clock ? "the first and the last thread" : "the host and the GPU", run.offset->least,
                run.offset->most);
  std::printf("order       %llu %s readings of %u threads, %llu times from one to another: %s\n",
              static_cast<unsigned long long>(order.readings), fenced ? "fenced" : "plain", run.threads,
              static_cast<unsigned long long>(order.handovers),
              order.backward == 0 ? "none went back" : (std::to_string(order.backward) + " went back").c_str());
  if (order.backward != 0)
    std::printf(
        "            by at most %llu ticks; the first: thread %u read %llu as number %llu, thread %u read %llu as "
        "number %llu\n",
        static_cast<unsigned long long>(order.worst), order.earlier.thread,
        static_cast<unsigned long long>(order.earlier.tick), static_cast<unsigned long long>(order.earlier.sequence),
        order.later.thread, static_cast<unsigned long long>(order.later.tick),
        static_cast<unsigned long long>(order.later.sequence));
}

std::vector<std::string> complaints_of(const ClockRun& run, const ClockOrder& order, const RateReport& rate) {
  std::vector<std::string> all;
  if (order.backward != 0)
    all.push_back("the clock runs backward between threads" +
                  std::string(run.fenced ? "" : ": plain readings may be made before the word is read"));
  // One clock read at two places: an offset of 0 must be within the bounds.
  if (run.one_clock && run.offset && (run.offset->least > 0 || run.offset->most < 0))
    all.emplace_back("the clocks of two processors differ");
  if (order.gaps != 0) all.emplace_back("readings are missing in the order");
  if (run.threads > 1 && order.handovers == 0)
    all.emplace_back("no two threads took turns: nothing was compared; give more --readings");
  if (!rate.constant()) all.emplace_back("the clock does not run at a constant rate");
  if (std::abs(rate.off_nominal()) > far_off)
    all.emplace_back("the clock's rate is not what kernels count on: handles must carry the measured one (clock_hz)");
  return all;
}

}  // namespace

CLI::App* add_clock_command(CLI::App& app, ClockOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "clock-test", "whether the clock that kernels read runs forward from thread to thread, and how fast");
  add_examples(command,
               {{"one thread for each processor", "xio-tester clock-test"},
                {"two threads, a quick check", "xio-tester clock-test --threads 2 --readings 10000 --interval 10"}});
  add_number(*command, "--readings", options.readings, 1, 10000000, "readings of each thread (default 100000)");
  add_number(*command, "--threads", options.threads, 1, 1024,
             "threads, each on a processor of its own as far as there are enough (default: one for each processor)");
  add_choice<bool>(*command, "--barrier", options.fenced, {{"full", true}, {"none", false}},
                   "fence between loading the order and reading the clock (default full)");
  add_number(*command, "--interval", options.interval_ms, 1, 100000,
             "milliseconds of each of 5 measurements of the rate (default 100)");
  add_executor(*command, options.executor, options.gpu, "Execution");
  add_json(*command, options.json);
  return command;
}

int run_clock_test(const ClockOptions& options) {
  check_json_file(options.json);
  const ChosenExecutor chosen = choose_executor(options.executor, options.gpu);
  const std::string heading = heading_of(chosen);
  const std::unique_ptr<ClockReader> reader = chosen.gpu ? gpu_clock_reader(chosen.gpu) : host_clock_reader();
  const uint64_t nominal_hz = ExecutorMemory(chosen.gpu).clock_hz();
  const ClockRun run = reader->run(options);
  ClockOrder order = check_order(run.readings);
  // On a busy machine, threads rarely run at the same time.
  const xio::host::Timeout end(std::chrono::milliseconds(3000));
  while (run.threads > 1 && order.backward == 0 && order.handovers < enough_handovers && !end.passed())
    order.add(check_order(reader->read_order(options, run.threads)));
  const RateReport rate = measure_rates(*reader, nominal_hz, options.interval_ms);
  const std::vector<std::string> complaints = complaints_of(run, order, rate);
  const int status = complaints.empty() ? exit_ok : exit_failed;
  nlohmann::ordered_json json = json_header("clock-test");
  json["heading"] = heading;
  json["executor"] = chosen.gpu ? "gpu" : "host";
  json["rate"] = {{"hz", rate.hz},
                  {"uncertainty", rate.uncertainty},
                  {"spread", rate.spread},
                  {"nominal_hz", nominal_hz},
                  {"constant", rate.constant()}};
  json["reading_ns"] = {{"plain", run.plain_ns}, {"fenced", run.fenced_ns}};
  json["order"] = {{"fenced", run.fenced},         {"threads", run.threads}, {"readings", order.readings},
                   {"handovers", order.handovers}, {"ties", order.ties},     {"backward", order.backward},
                   {"worst_ticks", order.worst},   {"gaps", order.gaps}};
  if (run.offset) json["turns"] = {{"least_ns", run.offset->least}, {"most_ns", run.offset->most}};
  json["complaints"] = complaints;
  json["exit_status"] = status;
  if (options.json != "-") {
    std::printf("%s\n", heading.c_str());
    print_report(run, order, rate, options.fenced);
    for (const std::string& one : complaints) std::printf("%s\n", one.c_str());
  }
  write_json_file(options.json, json);
  return status;
}

}  // namespace tester
