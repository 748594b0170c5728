// SPDX-License-Identifier: MIT
/// @file
/// @brief xio-vendors: compares the cost of a post and a poll for each kind of queue; see docs/xio-vendors.md.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <xio/version.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/installed.hpp"
#include "tester/cli/output.hpp"
#include "vendors/peers.hpp"
#include "vendors/report.hpp"

namespace {

struct Options {
  uint32_t repetitions = 300;
  std::string json;
  std::string counts = tester::data_path("counts", XIO_VENDORS_COUNTS);
};

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "xio-vendors: %s\n", tester::one_line(message).c_str());
  return status;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "a CPU whose name is not known";
}

vendors::Report measure(const Options& options) {
  vendors::Report report;
  report.cpu = cpu_name();
  report.repetitions = options.repetitions;
  const auto counted = vendors::count_all();
  const auto timed = vendors::time_all(options.repetitions);
  for (size_t i = 0; i < counted.size(); ++i)
    report.columns.push_back({counted[i], timed[i], vendors::read_target_counts(options.counts, counted[i].name)});
  report.peers = vendors::read_peers(options.counts);
  return report;
}

int run(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"What a post and a poll cost: NVMe and five RDMA vendors side by side, on emulated devices.",
               "xio-vendors"};
  app.set_version_flag("--version", "xio-vendors " + std::to_string(XIO_VERSION_MAJOR) + "." +
                                        std::to_string(XIO_VERSION_MINOR) + "." + std::to_string(XIO_VERSION_PATCH));
  app.add_option("--repetitions", options.repetitions, "turns of 64 calls that times are the median of")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--json", options.json,
                 "also write the figures to this file; - for standard output in place of the table");
  app.add_option("--gpu-counts", options.counts,
                 "folder of the budget tests' counts (default: that of the build or installation)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(std::string(error.what()) + "; xio-vendors --help lists what is accepted", tester::exit_bad_input);
  }
  const bool to_file = !options.json.empty() && options.json != "-";
  const std::string why = to_file ? tester::why_not_writable(options.json) : "";
  if (!why.empty())
    return complain("--json " + options.json + ": " + why + "; give a file that can be written, or -",
                    tester::exit_bad_input);
  const vendors::Report report = measure(options);
  const std::string json = vendors::to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (options.json == "-") {
    std::cout << json << std::endl;
    return tester::exit_ok;
  }
  std::cout << vendors::markdown(report) << std::flush;
  if (to_file) tester::write_file("--json", options.json, json + '\n');
  return tester::exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
  return tester::with_checked_output("xio-vendors", [&] {
    try {
      return run(argc, argv);
    } catch (const std::exception& error) {
      return complain(error.what(), tester::exit_failed);
    }
  });
}
